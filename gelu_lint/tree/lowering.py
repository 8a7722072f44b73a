"""From LibCST expressions to formulas over named atoms, ready to be evaluated: no pattern per spelling.

Names are followed through assignments, helper functions and attributes; casts fall away; functions of every framework
are told by their last name. What cannot be computed (a call, a parameter) is an atom. Where branches bind a name in
several ways, each way is one reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from gelu_lint.named import NamedTuple
from gelu_lint.numerics.ir import OPS, Expr, call, const
from gelu_lint.tree.bindings import Binding, Bound
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.spellings import (
    ASIDE,
    CASTS,
    COPIES,
    DECORATORS,
    FUNCTIONS,
    MODULES,
    NORMAL,
    NUMBERS,
    OPERANDS,
    OPERATORS,
    TENSORS_ONLY,
    WRAPPERS,
)
from gelu_lint.tree.terms import ATOM, atoms
from gelu_lint.tree.walk import Block, Moment

_DEPTH = 60
_STEPS = 1_500
_WHOLE = 150_000  # steps that one file may take
_READINGS = 8
_CALLS = 6  # helpers of helpers that are followed
#: The package of methods and of objects that are functions: some framework, not NumPy.
METHODS = "*"
_BLANK = cst.Module([])


class Reading(NamedTuple):
    """One way to read an expression.

    atoms     the node of each atom, by its name in ``expr``
    nodes     ids of the nodes that it is made of
    arms      what the branches must have chosen: (branch, arm) pairs
    packages  packages whose functions it calls, ``math`` aside
    casts     what the unknown is cast to or moved by on the way, as written; "like x" for the dtype of x
    local     local names that it was followed through: the bindings
    literals  the numbers in the bodies of functions that it is made of
    helpers   names of the functions of this file that it was followed into
    mutates   the unknown itself is changed on the way
    open      a number that callers or subclasses can change is part of it
    """

    expr: Expr
    atoms: dict[str, cst.BaseExpression]
    nodes: frozenset[int]
    arms: frozenset[tuple[int, str]]
    packages: frozenset[str]
    casts: tuple[str, ...]
    local: tuple[Binding, ...]
    literals: tuple[cst.BaseExpression, ...]
    helpers: tuple[str, ...]
    mutates: bool
    open: bool


class _Closed(NamedTuple):
    """What a parameter stands for while the body of its function is read."""

    expr: Expr


class Lowering:
    """Lowers the expressions of one module."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._texts: dict[int, tuple[str, list[cst.Name]]] = {}
        self._whole = _WHOLE
        self._begin({}, frozenset(), None)

    def _begin(self, arms: dict[int, str], kept: frozenset[str], defaults: float | None) -> None:
        self._left, self._kept, self._defaults = _STEPS, kept, defaults
        self._arms, self._other = dict(arms), list[dict[int, str]]()
        self._atoms: dict[str, cst.BaseExpression] = {}
        self._nodes: set[int] = set()
        self._packages: set[str] = set()
        self._casts: list[str] = []
        self._local: list[Binding] = []
        self._literals: list[cst.BaseExpression] = []
        self._helpers: list[str] = []
        self._mutates = self._open = False
        self._given: dict[tuple[int, str], _Closed] = {}
        self._inside: list[int] = []
        self._compound = False

    def readings(
        self,
        node: cst.BaseExpression,
        moment: Moment,
        kept: frozenset[str] = frozenset(),
        defaults: float | None = None,
        compound: bool = False,
    ) -> Iterator[Reading]:
        """The formulas that ``node`` may be at ``moment``, at most eight.

        Names in ``kept`` stay atoms whatever they are bound to. A parameter with a number for its default is an atom,
        too, unless ``defaults`` is given: then it is its default times that. A name for a product of several unknowns
        is one unknown, unless ``compound`` asks for its factors.
        """
        waiting: list[dict[int, str]] = [{block.node: block.arm for block in moment.blocks if block.kind == "if"}]
        for _ in range(_READINGS):
            if not waiting or self._whole < 0:
                return
            self._begin(waiting.pop(), kept, defaults)
            self._compound = compound
            expr = self._lower(node, moment, 0)
            waiting += self._other
            self._whole -= _STEPS - self._left
            used = atoms(expr)
            held = {name: found for name, found in self._atoms.items() if name in used}
            yield Reading(
                expr, held, frozenset(self._nodes), frozenset(self._arms.items()), frozenset(self._packages),
                tuple(self._casts), tuple(self._local), tuple(self._literals), tuple(self._helpers),
                self._mutates, self._open,
            )  # fmt: skip

    def atom(self, node: cst.BaseExpression, moment: Moment) -> str:
        """The name of ``node`` as an atom at ``moment``."""
        if isinstance(node, cst.Name):
            return f"{ATOM}{node.value}@{self._names.version(node, moment)}"
        text, names = self._text(node)
        return f"{ATOM}{text}@{[self._names.version(name, moment) for name in names]}"

    def _text(self, node: cst.BaseExpression) -> tuple[str, list[cst.Name]]:
        """The source of an expression, and the names in it, remembered by node."""
        known = self._texts.get(id(node))
        if known is None:
            names: list[cst.Name] = []
            waiting: list[cst.CSTNode] = [node]
            while waiting and len(names) < 20:
                item = waiting.pop()
                if isinstance(item, cst.Name):
                    names.append(item)
                elif isinstance(item, cst.Attribute):
                    waiting.append(item.value)
                else:
                    waiting.extend(children(item))
            text, at = "", node
            while isinstance(at, cst.Attribute):
                text, at = f".{at.attr.value}{text}", at.value
            if isinstance(at, cst.Name):
                text = at.value + text
            else:
                bare = node if isinstance(node, cst.Tuple) else node.with_changes(lpar=(), rpar=())
                text = _BLANK.code_for_node(bare)
            known = self._texts[id(node)] = (text, names)
        return known

    def _atom(self, node: cst.BaseExpression, moment: Moment) -> Expr:
        name = self.atom(node, moment)
        self._atoms.setdefault(name, node)
        return Expr(name)

    def _lower(self, node: cst.BaseExpression, moment: Moment, depth: int) -> Expr:
        self._left -= 1
        self._nodes.add(id(node))
        if depth > _DEPTH or self._left < 0:
            return self._atom(node, moment)
        if isinstance(node, (cst.Integer, cst.Float)):
            if moment.scope.kind == "function":
                self._literals.append(node)
            return self._number(node, moment)
        if isinstance(node, cst.Name):
            return self._name(node, moment, depth)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.FloorDivide):
            left, right = (self._lower(part, moment, depth + 1) for part in (node.left, node.right))
            return call("floor", call("div", left, right))
        if isinstance(node, cst.BinaryOperation) and type(node.operator) in OPERATORS:
            left, right = (self._lower(part, moment, depth + 1) for part in (node.left, node.right))
            return call(OPERATORS[type(node.operator)], left, right)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.Plus)):
            inner = self._lower(node.expression, moment, depth + 1)
            return call("neg", inner) if isinstance(node.operator, cst.Minus) else inner
        if isinstance(node, cst.NamedExpr):
            return self._lower(node.value, moment, depth + 1)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            target = node.comparisons[0]
            if isinstance(target.operator, (cst.GreaterThan, cst.GreaterThanEqual)):
                left, right = (self._lower(part, moment, depth + 1) for part in (node.left, target.comparator))
                return call("step", call("sub", left, right))
        if isinstance(node, cst.IfExp):
            return self._lower(self._arm(node), moment, depth + 1)
        if isinstance(node, cst.Call):
            return self._call(node, moment, depth)
        if isinstance(node, cst.Attribute):
            return self._attribute(node, moment, depth)
        if isinstance(node, (cst.List, cst.Tuple)) and len(node.elements) == 1:
            known, value = literal(node.elements[0].value)
            if known and isinstance(value, float):
                return const(value)  # Tensor([0.044715])
        return self._atom(node, moment)

    def _number(self, node: cst.BaseExpression, moment: Moment) -> Expr:
        known, value = literal(node)
        try:
            return const(float(value)) if known and value is not None else self._atom(node, moment)
        except (OverflowError, ValueError):
            return self._atom(node, moment)

    def _attribute(self, node: cst.Attribute, moment: Moment, depth: int) -> Expr:
        if node.attr.value in NUMBERS:
            names = self._names.resolve(node, moment)
            if names and all(name.count(".") >= 1 for name in names):
                return const(NUMBERS[node.attr.value])
        found = self._names.attribute(node, moment)
        value = self._lower(found[0], found[1], depth + 1) if found is not None else None
        if found is not None and found[1].scope.kind == "class" and self._names.has_subclass(found[1].scope):
            self._open = True
        here = found is not None and found[1].scope is moment.scope and found[1].order < moment.order
        if value is not None and (not atoms(value) or (here and len(atoms(value)) == 1)):
            return value  # a constant, or what this function has just put there
        return self._atom(node, moment)

    # Branches

    def _arm(self, node: cst.IfExp) -> cst.BaseExpression:
        if id(node) not in self._arms:
            self._other.append({**self._arms, id(node): "orelse"})
            self._arms[id(node)] = "body"
        return node.body if self._arms[id(node)] == "body" else node.orelse

    def _chosen(self, blocks: Sequence[tuple[Block, ...]], around: tuple[Block, ...]) -> int | None:
        """Which of several bindings (or returns) counts, where each holds that lies in no arm beyond ``around``.

        The others become readings of their own. None where a loop or a "try" decides.
        """
        options: list[tuple[int, dict[int, str]]] = []
        passed: dict[int, str] = {}
        for index, arms in enumerate(blocks):
            beyond = [block for block in arms if block not in around]
            if any(block.kind in ("loop", "try") for block in beyond):
                return None
            beyond = [block for block in beyond if block.kind == "if"]
            if any(self._arms.get(block.node, block.arm) != block.arm for block in beyond):
                continue
            open_ = {block.node: block.arm for block in beyond if block.node not in self._arms}
            options.append((index, {**passed, **open_}))
            if not open_:
                break
            passed = {**dict.fromkeys(open_, ""), **passed}
        if not options:
            return None
        (first, needed), *rest = options
        self._other += [{**self._arms, **arms} for _, arms in rest]
        self._arms.update(needed)
        return first

    # Names

    def _name(self, node: cst.Name, moment: Moment, depth: int) -> Expr:
        if node.value in self._kept:
            return self._atom(node, moment)
        if node.value in NUMBERS and self._names.resolve(node, moment) & {f"math.{node.value}", f"numpy.{node.value}"}:
            return const(NUMBERS[node.value])
        binding = self._binding(node, moment)
        if binding is None:
            return self._atom(node, moment)
        if binding.kind == "parameter":
            return self._parameter(node, binding, moment)
        value: Expr | None = None
        if binding.kind == "step":
            value = self._step(binding, depth)
        elif isinstance(binding.node, (cst.BaseExpression, cst.NamedExpr)):
            value = self._lower(binding.node, binding.moment, depth + 1)
        # A sum such as "bias + y" that is given a name is one thing to the formula that uses the name, as is what a
        # call gives.
        several = value is not None and len(atoms(value)) > 1 and not (self._compound and value.op in ("mul", "div"))
        made = value is not None and value.op.startswith(ATOM) and not isinstance(self._atoms.get(value.op), cst.Name)
        if value is None or several or made:
            return self._atom(node, moment)
        if binding.moment.scope.kind == "function":
            self._local.append(binding)
        return value

    def _binding(self, node: cst.Name, moment: Moment) -> Binding | None:
        found = self._names.reaching(node, moment)
        if not found:
            return None
        if len(found) == 1:
            chosen: int | None = 0
            if any(block.kind in ("loop", "try") and block not in moment.blocks for block in found[0].moment.blocks):
                return None
        else:
            arms = [binding.moment.blocks for binding in found]
            sure = [all(block in moment.blocks or block.kind == "with" for block in blocks) for blocks in arms]
            if sum(sure) > 1:
                return None  # which one holds depends on when this runs
            chosen = self._chosen(arms, moment.blocks)
        return found[chosen] if chosen is not None else None

    def _parameter(self, node: cst.Name, binding: Binding, moment: Moment) -> Expr:
        given = self._given.get((id(binding.moment.scope), node.value))
        if given is not None:
            return given.expr
        if self._defaults is not None and isinstance(binding.node, cst.Param) and binding.node.default is not None:
            scope = binding.moment.scope
            if scope.parent is not None:
                outside = Moment(scope.parent, scope.entry_order, scope.entry)
                value = self._lower(binding.node.default, outside, 1)
                if not atoms(value):
                    self._open = True
                    return call("mul", value, const(self._defaults))
        return self._atom(node, moment)

    def _step(self, binding: Binding, depth: int) -> Expr | None:
        node = binding.node
        if isinstance(node, cst.AugAssign) and type(node.operator) in OPERATORS:
            self._nodes.add(id(node))
            parts = [self._lower(part, binding.moment, depth + 1) for part in (node.target, node.value)]
            self._mutates = self._mutates or parts[0].op.startswith(ATOM)
            return call(OPERATORS[type(node.operator)], *parts)
        return self._lower(node, binding.moment, depth + 1) if isinstance(node, cst.Call) else None

    # Calls

    def _call(self, node: cst.Call, moment: Moment, depth: int) -> Expr:
        plain = [arg.value for arg in node.args if not arg.star and arg.keyword is None]
        others = [arg for arg in node.args if arg.star or arg.keyword is not None]
        if others and all(isinstance(arg.keyword, cst.Name) and arg.keyword.value in OPERANDS for arg in others):
            plain, others = [*plain, *(arg.value for arg in others)], []
        names = self._names.resolve(node.func, moment)
        lasts = {name.rpartition(".")[2] for name in names}
        last = lasts.pop() if len(lasts) == 1 else last_name(node.func)
        if isinstance(node.func, cst.Call) and last_name(node.func.func) in WRAPPERS and len(node.func.args) == 1:
            return self._call(node.with_changes(func=node.func.args[0].value), moment, depth)
        if not names and isinstance(node.func, cst.Attribute):
            kept = self._names.attribute(node.func, moment)  # self.erf = torch.erf
            names = self._names.resolve(*kept) if kept is not None else names
            last = next(iter({name.rpartition(".")[2] for name in names}), last) if names else last
        own = isinstance(node.func, cst.Name) and not names and last in ("pow", "abs")
        if own and isinstance(node.func, cst.Name) and not self._names.reaching(node.func, moment):
            names = frozenset({f"math.{last}"})
        method = isinstance(node.func, cst.Attribute) and not names
        special = self._special(node, last, plain, moment, depth)
        if special is not None:
            return special
        operands = plain
        if method and isinstance(node.func, cst.Attribute):
            held = self._module_of(node.func, moment)
            if not held and node.func.attr.value not in FUNCTIONS and last not in CASTS | COPIES:
                inlined = self._helper(node, moment, depth)
                return inlined if inlined is not None else self._atom(node, moment)
            operands = plain if held else [node.func.value, *plain]
            last = held or last
        elif not names:
            held = self._module_of(node.func, moment)
            if not held:
                inlined = self._helper(node, moment, depth)
                return inlined if inlined is not None else self._atom(node, moment)
            last = held
        if last in CASTS | COPIES and operands:
            return self._cast(node, last, operands[0], moment, depth)
        op = FUNCTIONS.get(last)
        aside = all(isinstance(arg.keyword, cst.Name) and arg.keyword.value in ASIDE for arg in others)
        if op is None or len(operands) != OPS[op].arity or not aside:
            return self._atom(node, moment)
        self._packages.update({name.split(".")[0] for name in names} - {"math"})
        parts = [self._lower(operand, moment, depth + 1) for operand in operands]
        self._mutates = self._mutates or (last.endswith("_") and parts[0].op.startswith(ATOM))
        if not names and op in TENSORS_ONLY and atoms(parts[0]):
            self._packages.add(METHODS)  # arrays of NumPy have no such methods
        return call(op, *parts)

    def _cast(self, node: cst.Call, last: str, operand: cst.BaseExpression, moment: Moment, depth: int) -> Expr:
        value = self._lower(operand, moment, depth + 1)
        if atoms(value) and last not in ("clone", "contiguous"):
            like = [arg.value for arg in node.args if last == "type_as" or _is_dtype(arg.value)]
            text = _BLANK.code_for_node(node)[-80:]
            if like:
                held = like[0].value if isinstance(like[0], cst.Attribute) else like[0]
                self._casts.append(f"like {self._text(held)[0]}")
            else:
                self._casts.append(last if last not in ("to", "astype", "type", "cast") else text)
        return value

    def _special(
        self, node: cst.Call, last: str, plain: list[cst.BaseExpression], moment: Moment, depth: int
    ) -> Expr | None:
        """Calls that are not one operation of their operands."""
        known = self._names.resolve(node.func, moment)
        if len(plain) == 1 and ((last in ("silu", "swish", "silu_") and known) or self._is_silu(node.func, moment)):
            inner = self._lower(plain[0], moment, depth + 1)
            self._packages.update({name.split(".")[0] for name in known} or {METHODS})
            return call("mul", inner, call("sigmoid", inner))
        if last == "ones_like":
            return const(1.0)
        if last == "zeros_like":
            return const(0.0)
        if last == "full_like" and len(plain) > 1:
            return self._lower(plain[1], moment, depth + 1)
        if last == "fma" and len(plain) == 3:
            a, b, c = (self._lower(part, moment, depth + 1) for part in plain)
            return call("add", call("mul", a, b), c)
        if last in ("sinh", "cosh") and len(plain) == 1:
            u = self._lower(plain[0], moment, depth + 1)
            op = "sub" if last == "sinh" else "add"
            return call("div", call(op, call("exp", u), call("exp", call("neg", u))), const(2.0))
        if last in ("cdf", "sf") and known and all(name.rpartition(".")[0].endswith("norm") for name in known):
            return self._norm(node, last, moment, depth)
        if (last == "addcmul" and len(plain) == 3) or (
            last in ("add", "sub", "addcmul") and any(_keyword(arg) in ("alpha", "value") for arg in node.args)
        ):
            return self._weighted(node, last, plain, moment, depth)
        if last == "where" and len(plain) == 3:
            return self._where(plain, moment, depth)
        if last in ("clamp", "clip", "clip_by_value", "hardtanh"):
            return self._clamp(node, plain, moment, depth)
        if last == "cdf" and isinstance(node.func, cst.Attribute) and len(plain) == 1:
            made = self._normal(node.func.value, moment, depth)
            return call("ndtr", _standard(self._lower(plain[0], moment, depth + 1), *made)) if made else None
        return None

    def _where(self, plain: list[cst.BaseExpression], moment: Moment, depth: int) -> Expr | None:
        test = plain[0]
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return None
        target = test.comparisons[0]
        less = isinstance(target.operator, (cst.LessThan, cst.LessThanEqual))
        if not less and not isinstance(target.operator, (cst.GreaterThan, cst.GreaterThanEqual)):
            return None
        left, right, a, b = (
            self._lower(part, moment, depth + 1) for part in (test.left, target.comparator, plain[1], plain[2])
        )
        gap = call("sub", right, left) if less else call("sub", left, right)
        return call("where_positive", gap, a, b)

    def _clamp(self, node: cst.Call, plain: list[cst.BaseExpression], moment: Moment, depth: int) -> Expr | None:
        names = self._names.resolve(node.func, moment)
        operands = list(plain)
        if isinstance(node.func, cst.Attribute) and not names:
            operands = [node.func.value, *plain]
        if not operands:
            return None
        value = self._lower(operands[0], moment, depth + 1)
        ends: dict[str, cst.BaseExpression] = dict(zip(("min", "max"), operands[1:3], strict=False))
        for arg in node.args:
            if isinstance(arg.keyword, cst.Name):
                ends[arg.keyword.value.replace("a_", "").replace("_val", "")] = arg.value
        for op, at in (("max", "min"), ("min", "max")):
            if at in ends and last_name(ends[at]) != "None":
                value = call(op, value, self._lower(ends[at], moment, depth + 1))
        return value

    def _weighted(
        self, node: cst.Call, last: str, plain: list[cst.BaseExpression], moment: Moment, depth: int
    ) -> Expr | None:
        """``torch.add(a, b, alpha=k)`` and ``torch.addcmul(a, b, c, value=k)``, as functions and as methods."""
        operands = [self._lower(part, moment, depth + 1) for part in plain]
        if isinstance(node.func, cst.Attribute) and not self._names.resolve(node.func, moment):
            operands.insert(0, self._lower(node.func.value, moment, depth + 1))
        factor = const(1.0)
        for arg in node.args:
            if _keyword(arg) in ("alpha", "value"):
                factor = self._lower(arg.value, moment, depth + 1)
        if last == "addcmul" and len(operands) == 3:
            return call("add", operands[0], call("mul", factor, call("mul", *operands[1:])))
        if last != "addcmul" and len(operands) == 2:
            return call(last, operands[0], call("mul", factor, operands[1]))
        return None

    def _norm(self, node: cst.Call, last: str, moment: Moment, depth: int) -> Expr | None:
        """``norm.cdf(x, loc, scale)`` and its complement ``norm.sf``."""
        given = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        made = {_keyword(arg): arg.value for arg in node.args if arg.keyword is not None}
        if not given or not made.keys() <= {"loc", "scale"} or len(given) > 3:
            return None
        values = dict(zip(("loc", "scale"), given[1:], strict=False)) | made
        loc, scale = self._moments(values, moment, depth)
        self._packages.update(name.split(".")[0] for name in self._names.resolve(node.func, moment))
        z = _standard(self._lower(given[0], moment, depth + 1), loc, scale)
        return call("ndtr", call("neg", z) if last == "sf" else z)

    def _moments(self, values: dict[str, cst.BaseExpression], moment: Moment, depth: int) -> tuple[Expr, Expr]:
        """Mean and standard deviation of a normal distribution; what is not given is 0 and 1."""
        loc, scale = (
            self._lower(values[key], moment, depth + 1) if key in values else const(usual)
            for key, usual in (("loc", 0.0), ("scale", 1.0))
        )
        return loc, scale

    def _normal(self, node: cst.BaseExpression, moment: Moment, depth: int) -> tuple[Expr, Expr] | None:
        """The mean and standard deviation of an object that is a normal distribution, if they are numbers."""
        made = self._stands_for(node, moment)
        if made is None or last_name(made[0].func) not in NORMAL:
            return None
        values = dict(zip(("loc", "scale"), (arg.value for arg in made[0].args if arg.keyword is None), strict=False))
        for arg in made[0].args:
            name = _keyword(arg)
            values[{"mu": "loc", "mean": "loc", "sigma": "scale", "sd": "scale"}.get(name, name)] = arg.value
        loc, scale = self._moments(values, made[1], depth)
        return (loc, scale) if not atoms(loc) | atoms(scale) else None

    def _is_silu(self, func: cst.BaseExpression, moment: Moment) -> bool:
        """Whether an object is ``nn.SiLU()``."""
        made = self._stands_for(func, moment)
        return made is not None and last_name(made[0].func) in ("SiLU", "Silu", "Swish")

    def _stands_for(self, node: cst.BaseExpression, moment: Moment) -> tuple[cst.Call, Moment] | None:
        """The call that made the object that ``node`` is."""
        for _ in range(3):
            if isinstance(node, cst.Call):
                return node, moment
            if isinstance(node, cst.Name):
                binding = self._names.single(node, moment)
                if binding is None or not isinstance(binding.node, cst.BaseExpression):
                    return None
                node, moment = binding.node, binding.moment
            elif isinstance(node, cst.Attribute):
                found = self._names.attribute(node, moment)
                if found is None:
                    return None
                node, moment = found
            else:
                return None
        return None

    def _module_of(self, func: cst.BaseExpression, moment: Moment) -> str:
        """The function that an object such as ``nn.Sigmoid()`` is, under the name that ``FUNCTIONS`` has for it."""
        made = self._stands_for(func, moment)
        op = MODULES.get(last_name(made[0].func), "") if made is not None else ""
        if op:
            self._packages.add(METHODS)
        return op

    def _helper(self, node: cst.Call, moment: Moment, depth: int) -> Expr | None:
        """What a function of this file gives for these arguments; None where it cannot be followed."""
        function, skip = self._function(node.func, moment)
        if function is None or id(function) in self._inside or len(self._inside) >= _CALLS:
            return None
        params = [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params][skip:]
        given: dict[str, Expr] = {}
        for index, arg in enumerate(node.args):
            if arg.star:
                return None
            name = arg.keyword.value if isinstance(arg.keyword, cst.Name) else ""
            if not name and index < len(params):
                name = params[index].name.value
            if name:
                given[name] = self._lower(arg.value, moment, depth + 1)
        scope = self._names.scopes.get(id(function))
        if scope is None:
            return None
        if isinstance(function, cst.Lambda):
            body, inside = function.body, Moment(scope, 1 << 60, ())
        else:
            returns = self._names.returns.get(id(function), [])
            chosen = self._chosen([at.blocks for _, at in returns], ())
            if chosen is None:
                return None
            body, inside = returns[chosen]
        before = dict(self._given)
        for param in params:
            if param.name.value in given:
                self._given[id(scope), param.name.value] = _Closed(given[param.name.value])
            elif param.default is not None:
                outside = Moment(scope.parent or scope, scope.entry_order, scope.entry)
                self._given[id(scope), param.name.value] = _Closed(self._lower(param.default, outside, depth + 1))
        self._inside.append(id(function))
        self._helpers.append(last_name(node.func))
        value = self._lower(body, inside, depth + 1)
        self._inside.pop()
        self._given = before
        return value

    def behind(self, node: cst.Name, moment: Moment, reading: Reading) -> tuple[cst.CSTNode, Moment] | None:
        """What a name is bound to that ``reading`` was followed through."""
        for binding in self._names.reaching(node, moment):
            if binding in reading.local:
                return (binding.node, binding.moment) if binding.node is not None else None
        return None

    def helper(self, node: cst.Call, moment: Moment) -> Bound | None:
        """What a function of this file that is called gives, where it gives one thing."""
        function, _ = self._function(node.func, moment)
        if isinstance(function, cst.Lambda):
            scope = self._names.scopes.get(id(function))
            return (function.body, Moment(scope, 1 << 60, ())) if scope is not None else None
        returns = self._names.returns.get(id(function), []) if function is not None else []
        return returns[0] if len(returns) == 1 else None

    def _function(self, func: cst.BaseExpression, moment: Moment) -> tuple[cst.FunctionDef | cst.Lambda | None, int]:
        """The function of this file that ``func`` names, and how many parameters a call does not give."""
        found: cst.CSTNode | None = None
        skip = 0
        if isinstance(func, cst.Name):
            bindings = self._names.reaching(func, moment)
            found = bindings[0].node if len(bindings) == 1 else None
        elif isinstance(func, cst.Lambda):
            found = func
        elif isinstance(func, cst.Attribute) and last_name(func.value) in ("self", "cls"):
            found = self._names.method(func.attr.value, moment)
            if isinstance(found, cst.FunctionDef):
                skip = 0 if any(last_name(d.decorator) == "staticmethod" for d in found.decorators) else 1
        if isinstance(found, cst.FunctionDef):
            kinds = [d.decorator.func if isinstance(d.decorator, cst.Call) else d.decorator for d in found.decorators]
            if any(last_name(kind) not in DECORATORS for kind in kinds) or found.asynchronous is not None:
                return None, 0
            return found, skip
        return (found, 0) if isinstance(found, cst.Lambda) else (None, 0)


def _is_dtype(node: cst.BaseExpression) -> bool:
    """Whether an expression is the dtype of something: ``x.dtype``."""
    return isinstance(node, cst.Attribute) and node.attr.value == "dtype"


def _keyword(arg: cst.Arg) -> str:
    """The keyword of an argument, "" without one."""
    return arg.keyword.value if isinstance(arg.keyword, cst.Name) else ""


def _standard(x: Expr, loc: Expr, scale: Expr) -> Expr:
    """What the standard normal distribution takes in the place of ``x``."""
    return x if (loc, scale) == (const(0.0), const(1.0)) else call("div", call("sub", x, loc), scale)
