"""Chooses the lines of a text that can matter: those with a needle, and what these rest on."""

from __future__ import annotations

import re
from functools import cache

from gelu_lint import half
from gelu_lint.claims import backward, chooses, claim, claim_of_text, says_width
from gelu_lint.cut import ASKS, FULL, HEADER, LIGHT, NEAR, OPAQUE, SEED, TRANSPARENT, Cut, Piece, lines_left, marker
from gelu_lint.imports import prefixes
from gelu_lint.lines import ALONE, WORD, code, loads, members, targets
from gelu_lint.patterns import lazy
from gelu_lint.scan import Logical, Scan
from gelu_lint.screen import Spots, place
from gelu_lint.selecting.draws import Draws
from gelu_lint.selecting.gates import Gates
from gelu_lint.selecting.keeping import ONE_ROW, SHORT, identifier, in_rows, is_def, needle_in
from gelu_lint.selecting.layers import Layers
from gelu_lint.selecting.settings import Settings
from gelu_lint.statements import Statements

#: What a GELU may be made of, too, in a file that shows one by a needle.
_BY_ERF = lazy(r"\bndtr\(|\bnorm\.cdf\(")
_NUMBERS = (".0447", "0.4471", "1.702", "erf(", "erfc(")
#: Methods that are given what a class is made with.
_GIVEN = frozenset(("__init__", "__new__", "setup"))
_FIELD = lazy(r"\s*(\w+)\s*:")
#: A GELU of somebody else that is replaced.
_REPLACED = lazy(r"(?<!\bself)\.(?:gelu_?|GELU)(?:\.\w+)?\s*=(?!=)")
_NAME = lazy(r"[\w.\- ]{1,60}")  # a string that may be the name of an activation
_OPERATES = lazy(r"[\w)\]]\s*(?:\*(?!\*)|/)|\b(?:mul|multiply|mul_|mul_rn|store|lambda)\b")
#: What gives a name to a GELU: ``… as G``, ``G = nn.GELU``, ``G = getattr(nn, "GELU")``, ``class G(nn.GELU)``.
_AS = lazy(r"\bas\s+(\w+)")
_ASSIGNED = lazy(r"(?<![\w.])(\w+)[\s\\)\]]*=(?!=)")
_TOP, _FROM = lazy(r"(?:from|import)\s+(\w+)"), lazy(r"from\s+(\w[\w.]*)\s+import\b")
#: Rows from which on an import of names from a library is worth a look at these.
_MANY_NAMES = 3
#: Packages whose import tells which framework a file is for, whatever is imported.
_FRAMEWORKS = frozenset(
    (
        *("torch", "tensorflow", "keras", "tf_keras", "keras_hub", "keras_nlp", "jax", "flax", "trax", "mlx", "paddle"),
        *("mindspore", "oneflow", "openvino", "tinygrad", "functools", "math", "scipy", "triton", "pallas", "numba"),
        *("taichi", "warp"),
    )
)
#: Calls that keep a GELU that they are given under a name, or decide what becomes of one.
_KEEPS = lazy(
    r"\bTransformer(?:EncoderLayer\b|\()|(?<=nn\.)Transformer(?=\s*[,)])|\bset_fastpath_enabled\(|\bsave\((?!\s*[\w.]+\.state_dict\(\))|"
    r"\bjit\.(?:script|trace)\(|\b(?:weights_only|safe_mode)\s*=\s*\(*\s*(?:False\b|(?:#.*)?$)|"
    r"\bsafe_globals\b|\benable_unsafe_deserialization\b"
)
#: What lets a file load objects: of such a line nothing else counts.
_TRUSTS = ("weights_only", "safe_mode", "safe_globals", "enable_unsafe")
#: What a file with these may do, or with torch and one of those: see screen.place.
_JIT_WORD = b"j", (b"",), (b"it",)
_KEPT = (b"Transformer", (b"",), (b"EncoderLayer", b"(", b")", b",")), (b"save", (b"torch.", b"torch import "), (b"",))
#: What makes a decoder of torch, or copies its layers, where a file makes any.
_DECODER = "TransformerDecoderLayer"
_DECODES = lazy(r"\bTransformerDecoder(?:Layer)?\b|\bdeepcopy\(|\b_get_clones\(")
#: Each row in which _KEEPS or _DECODES finds something has one of these.
_KEEPING = ("Transformer", "set_fastpath", "save(", "jit.", "weights_only", "safe_", "enable_unsafe")
_DECODING = ("TransformerDecoder", "deepcopy(", "_get_clones(")
#: The argument by which an export to ONNX says what the graph may hold.
_EXPORTS = "opset_version"
_JIT = lazy(r"\bjit\.script\b|\bjit\.trace\((?!\))|\bjit import\b")
#: Expressions that a GELU is handed on by, under the name that they are bound to.
_HANDS = lazy(r"\s*(?:(?:functools\.)?partial\(|lambda\b|(?:torch\.)?(?:jit\.)?(?:script|trace)\(|dict\(|\{)")
#: One dtype or another, whatever decides.
_DTYPES = lazy(r"[\s(]*[\w.\"]+\s+if\b.+\belse\s+(?:[\w.]*\bfloat(?:16|32)|[\w.]*\bhalf)[\s)]*(?:\"\"\s*)?", re.DOTALL)
_MADE = lazy(r"(?!dict|list|set|tuple)[\w.]+\([\w\s=\"']*\)")
_OPTION = lazy(r"\w*(?:act|proj)\w*\s*=\s*[\"']$")
_NEAR_BY = 80  # characters before a string that an option stands in
#: A test that may be for part of a name.
_BY_PART = lazy(r"startswith|\bin\b|\[\s*0?\s*:|\b(?:find|match|search|split|partition|fnmatch\w*)\(")
_OF_SELF = lazy(r"approximate\s*=\s*self\.(\w+)")
#: What a function holds that compares up to a tolerance, and what a test holds that takes a gradient.
_CLOSE = lazy(
    r"(?<=[A-Za-z_])(?:[cC]lose|[aA]lmost)|(?<![\w.])(?:close|almost)\w*\(|approx\(|assert_near"
    r"|assert(?=[\s\S]*\b(?:abs|absolute)\()|\b(?:abs|absolute)\((?=[\s\S]*assert)"
)
#: One of these stands in each statement that _compared keeps something of.
_TESTED_WORDS = ("assert", "lose(", "def test", "approx(", "lmost")
#: What finds something with _CLOSE has one of these.
_COMPARES = ("lose", "lmost", "approx(", "assert_near", "abs(", "absolute(")
_SLOPES = lazy(r"backward|grad|vjp|jvp|derivative|jac|slope|bwd", re.IGNORECASE)
#: What puts names into the tables of transformers, or asks them for one: see sites/settings.py.
_STORES = lazy(r"\bACT2(?:FN|CLS)(?:\.(?:update|setdefault|__setitem__|register)\(|\s*\|=|\[[^]\n]*\]\s*=)")


class Selection(Draws, Gates, Settings, Layers):
    """Chooses the lines of one text."""

    def __init__(self, statements: Statements, small: int, led: bool) -> None:
        super().__init__(statements, small)
        self._led = led
        self._aliases: set[tuple[int, int, str]] = set()  # names whose uses were marked
        self._scripts = self._hands = False  # what the text has: see _HANDS
        self._select()

    def _select(self) -> None:
        latin = self._text.encode("latin-1", "replace")
        needles = Spots(latin)
        self._marks = [(at, "", False) for at in needles.marks()]
        halves = half.spots(latin, self._led)
        marked = frozenset(at for at, _, _ in self._marks)
        self.unmarked = not self._marks
        if self.unmarked:
            for at in halves:
                self._half(at)
            self._drain()
            if any(cut.kept for cut in self._cuts.values()):
                self._imports()
            return
        if "ndtr(" in self._text or "norm.cdf(" in self._text:
            self._marks += [(found.start(), "", True) for found in _BY_ERF.finditer(self._text)]
        self._scripts = place(latin, *_JIT_WORD) >= 0 and bool(in_rows(self._text, ("jit",), _JIT))
        by_torch = self._scripts or ("torch" in self._text and any(place(latin, *word) >= 0 for word in _KEPT))
        of_keras = "keras" in self._text
        if by_torch or of_keras:
            self._hands = self._scripts or of_keras
            keeps = by_torch or "safe_" in self._text or "unsafe_" in self._text
            kept = in_rows(self._text, _KEEPING, _KEEPS) if keeps else ()
            self._marks += [(at.start(), at[0], False) for at in kept if self._of_torch(at) and self._may_keep(at)]
        if _DECODER in self._text and "torch" in self._text:
            decoders = in_rows(self._text, _DECODING, _DECODES)
            decoders = [found for found in decoders if self._of_torch(found)]
            if any(found[0].startswith("Transformer") for found in decoders):
                self._marks += [(found.start(), found[0], False) for found in decoders]
        if _EXPORTS in self._text:
            self._marks += [(found.start(), _EXPORTS, False) for found in re.finditer(rf"\b{_EXPORTS}\b", self._text)]
        self._marks.reverse()
        self._drain()
        if self._scripts:
            self._scripted()
        self._drawn()
        self._compared()
        for at in halves:
            self._half(at)
        self._set(needles, marked)
        for found in in_rows(self._text, ("ACT2",), _STORES):
            self._half(found.start())
        self._drain()
        if self._cuts:
            self._imports()

    def _half(self, at: int) -> None:
        """Keep the line of an offset, which may make code run in half precision."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        text = cut.lines.text(i)
        if ALONE.fullmatch(text):
            return
        if "\n" not in self._quiet(cut, i, text, at - self._start(cut, i)):  # a string of several rows is no code
            self._keep(cut, i, NEAR)
            self._give(cut, i, text, False)

    def _set_later(self, cut: Cut, i: int, text: str) -> None:
        """Keep the lines that set keys of what a line saves."""
        lines, scope = cut.lines, cut.lines.scopes[i]
        for name in loads(text):
            for j in lines.mentions(name):
                if lines.scopes[j] == scope and re.match(rf"\s*{name}\s*\[[^\]\n]*\]\s*=(?!=)", lines.text(j)):
                    self._keep(cut, j, FULL)

    def _compared(self) -> None:
        """Keep all of the functions that compare a GELU up to a tolerance, and of tests that take its gradient."""
        for p, cut in [*self._cuts.items()]:
            start, end = self._parts[p].start, self._parts[p].end
            if not any(self._text.find(word, start, end) >= 0 for word in _TESTED_WORDS):
                continue
            lines = cut.lines
            around: set[int] = set()
            for i in [*cut.kept]:
                at = i if lines.defines(i) else lines.scopes[i]
                if at >= 0 and "gelu" in code(lines.text(i)).lower():
                    while at >= 0:
                        around.add(at)
                        at = lines.scopes[at]
            for i in sorted(around):
                rows = self._rows_of(cut, i) if is_def(cut, i) else ""
                close = any(word in rows for word in _COMPARES) and _CLOSE.search(rows)
                if close or (lines.defines(i).startswith("test") and _SLOPES.search(rows)):
                    self._whole(cut, i, FULL)
        self._drain()

    def _look(self, at: int, word: str = "", formula: bool = False) -> None:
        """Keep what matters because of the needle at an offset, or of ``word``, which stands for one."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        lines = cut.lines
        text = lines.text(i)
        inside = at - self._start(cut, i)
        quiet = self._quiet(cut, i, text, inside)
        if quiet and not quiet.startswith("#") and self._has_fields(cut, i, text):
            quiet = ""  # code may stand in fields of strings
        if quiet.startswith("#") or (quiet and word):
            return
        name = identifier(text, inside)
        formula = formula or (
            not quiet and any(number in name or number in text[inside : inside + 7] for number in _NUMBERS)
        )
        question = (i, quiet or name, inside if lines.defines(i) else 0, bool(word), formula)
        if question in cut.asked:
            return
        cut.asked.add(question)
        if quiet:
            said = quiet.strip("\"'")
            if ALONE.fullmatch(text):
                owner = lines.parents[i]
                if owner >= 0 and i == owner + 1 and claim_of_text(said):
                    self._whole(cut, owner)
                return
            if not _NAME.fullmatch(said) or not claim(said):
                return
        if word.startswith(_TRUSTS):
            self._keep(cut, i, HEADER)
            return
        if formula:
            self._formula_at(cut, i)
        elif lines.logical[i].word in ("import", "from"):
            self._keep(cut, i, HEADER)
        elif lines.logical[i].word == "@":
            self._keep(cut, i, LIGHT)
            for j in lines.group(i):
                if lines.defines(j):
                    self._whole(cut, j)
        elif lines.defines(i):
            self._definition(cut, i, text, inside)
        elif lines.logical[i].word in ("if", "elif", "case") and lines.is_header(i):
            self._whole(cut, i)
        else:
            light = bool(word) or (not quiet and not _OPERATES.search(code(text)) and _used(code(text), name))
            light = light or (bool(quiet) and _OPTION.search(text, max(0, inside - _NEAR_BY), inside) is not None)
            full = word == _EXPORTS or _KEEPS.match(word) or _DECODES.match(word) or (light and _REPLACED.search(text))
            self._keep(cut, i, FULL if full else LIGHT if light else SEED)
            if light and "__init__(" in text:  # what a base is given counts where its methods run
                for owner in lines.enclosing(i, classes=True):
                    self._definition_only(cut, owner, LIGHT)
            if word == "save(":
                self._set_later(cut, i, text)
            if word and self._scripts and (targets(text) or ((), ()))[1]:
                self._owner(cut, i)
        if quiet and _BY_PART.search(text):
            self._before(cut, i)
        if not quiet and cut.kept.get(i, HEADER) > HEADER:
            self._gates(cut, i, text)
        self._choices(cut, i)
        self._falls(cut, i, text)
        self._give(cut, i, text, formula)

    def _choices(self, cut: Cut, i: int) -> None:
        """Keep what the classes around a line are given: the header of ``__init__``, and fields that choose."""
        lines = cut.lines
        for owner in lines.enclosing(i, classes=True):
            if owner in cut.chosen:
                continue
            cut.chosen.add(owner)
            for j in lines.below(owner):
                if lines.scopes[j] != owner:
                    continue
                if lines.defines(j) in _GIVEN:
                    if self._is_given(cut, owner, lines.text(j)):
                        self._keep(cut, j, HEADER)
                elif lines.logical[j].word not in ("def", "class", "@"):
                    field = _FIELD.match(lines.text(j))
                    if field is not None and chooses(field[1]):
                        self._keep(cut, j, HEADER)

    def _is_given(self, cut: Cut, owner: int, header: str) -> bool:
        """Whether a header has a parameter that may choose a GELU: by its name, as a GELU that is wrapped, or as the
        settings of a block that has a width of its own."""
        kinds = {chooses(word) for word in WORD.findall(header)}
        if "flavour" in kinds or "activation" in kinds or "GELU" in header or "Gelu" in header:
            return True
        rows = self._rows_of(cut, owner)
        if "isinstance" in rows and "GELU" in rows:
            return True
        return "settings" in kinds and says_width(rows)

    def _formula_at(self, cut: Cut, i: int) -> None:
        """All of the function that a formula stands in; of a class with a backward, all of it."""
        lines = cut.lines
        function = next(
            (s for s in lines.enclosing(i, classes=False) if s >= 0 and lines.logical[s].word != "class"), -1
        )
        for owner in lines.enclosing(i, classes=True):
            if owner not in cut.backwards:
                cut.backwards[owner] = any(backward(lines.defines(j)) for j in lines.below(owner) if lines.defines(j))
                if cut.backwards[owner]:
                    self._whole(cut, owner)
        if lines.defines(i) and lines.logical[i].word != "class":
            function = i
        if function >= 0:
            self._whole(cut, function)
        else:
            self._keep(cut, i, FULL)

    def _definition(self, cut: Cut, i: int, text: str, at: int) -> None:
        """A function or class with a needle in its header: in its name, among its bases, or in a default."""
        lines, name = cut.lines, cut.lines.defines(i)
        is_class = lines.logical[i].word == "class"
        in_name = at < text.find(name) + len(name)
        if claim(name) or (is_class and any(backward(lines.defines(j)) for j in lines.below(i))):
            self._whole(cut, i)
        elif not is_class:
            if in_name and backward(name):
                self._whole(cut, i)
            light = in_name or _used(code(text), identifier(text, at))
            self._keep(cut, i, LIGHT if light else FULL)
            if name == "__init__" and lines.scopes[i] >= 0:
                self._makers(lines.defines(lines.scopes[i]), text)
        elif not in_name and len(lines.below(i)) <= SHORT:
            self._whole(cut, i)
        elif not in_name:
            self._definition_only(cut, i, FULL)
            for j in lines.below(i):
                if "super(" in lines.text(j):
                    self._keep(cut, j, LIGHT)
        else:
            self._keep(cut, i, LIGHT)

    def _give(self, cut: Cut, i: int, text: str, formula: bool) -> None:
        """Look at what uses the names that a line gives to what a needle names."""
        lines = cut.lines
        if (i, formula) in cut.given or (lines.defines(i) and lines.logical[i].word != "class"):
            return
        cut.given.add((i, formula))
        given = {*_AS.findall(text)} if "as" in text else set()
        scope = lines.scopes[i]
        if "=" in text:
            given |= _given(text, formula and scope < 0, self._hands, self._draws and scope < 0)
        if lines.defines(i):
            given.add(lines.defines(i))
        for name in sorted(given):
            key = (id(cut) if scope >= 0 else 0, scope, name)
            if key in self._aliases or needle_in(name):
                continue
            self._aliases.add(key)
            self._given.add(name)
            if scope < 0:
                self._marks += [(at, name, formula) for at in self._all(name)]
                continue
            below = lines.below(scope)
            for j in lines.mentions(name):
                if j in below and j not in cut.kept:
                    self._marks += [(at, name, formula) for at in self._places(cut, j, name)]
        held = targets(text) if formula else None
        if held is not None and held[1] and scope >= 0:
            for owner in lines.enclosing(i, classes=True):
                below = lines.below(owner)
                for j in sorted({j for name in held[1] for j in lines.mentions(name) if j in below}):
                    if not held[1].isdisjoint(members(lines.text(j))):
                        self._formula_at(cut, j)

    def _drain(self) -> None:
        while self._marks or self._queue:
            if self._marks:
                self._look(*self._marks.pop())
                continue
            cut, i, level = self._queue.pop()
            text = cut.lines.text(i)
            for name in sorted(loads(text) if level > LIGHT else self._needed(text)):
                self._follow(cut, i, name, level)
            held = sorted(members(text)) if level >= FULL else _OF_SELF.findall(text) if "approximate" in text else ()
            for name in held:
                self._follow_member(cut, i, name)

    def _imports(self) -> None:
        """Keep imports of whatever a fix may use, and those that bind any name."""
        known = _packages()
        for p, part in enumerate(self._parts):
            text = self._text[part.start : part.end]
            if part.kind == "import":
                found = _TOP.match(text)
                tells = (found is not None and found[1] in known) or not known.isdisjoint(WORD.findall(text))
                if "*" in text or (tells and (text.count("\n") < _MANY_NAMES or not _is_aside(text))):
                    self._keep(self._cut(p), 0, HEADER)
            elif part.kind == "compound" and text.startswith("if") and "raise" in text and ASKS.search(text):
                cut = self._cut(p)
                for i in range(len(cut.lines)):
                    self._keep(cut, i, HEADER)

    def pieces(self) -> list[Piece]:
        """The parts that something is left of."""
        found: list[Piece] = []
        for p in sorted({*self._cuts, *self._faint}):
            part, cut = self._parts[p], self._cuts.get(p)
            text = self._text[part.start : part.end]
            names = self._faint.get(p, set())
            if cut is not None and (cut.kept or cut.faint):
                found.append(Piece(text, cut.scanned, cut.shift, lines_left(cut)))
            elif names:
                line = Logical(1, 1, 0, "del", "")
                found.append(Piece(text, Scan((0,), (line,), (), (), (), True), part.row - 1, {0: marker(names)}))
        return found


def _given(text: str, formula: bool, hands: bool, made: bool) -> set[str]:
    """The names that a line gives to what a needle in it names; a ``formula`` may be given a name, too, and, if asked
    for, what ``hands`` a GELU on, or what is ``made`` by a short call."""
    bound = targets(text)
    if bound is not None and not bound[0]:
        return set()
    plain = code(text)
    value = plain[plain.find("=") + 1 :]
    if bound is None:
        return {*_ASSIGNED.findall(plain)} if ";" in plain or ONE_ROW.match(plain) else set()
    clear = OPAQUE.search(value) is None or TRANSPARENT.search(value) is not None or len(bound[0]) > 1
    clear = clear or formula or (hands and _HANDS.match(value) is not None) or _DTYPES.fullmatch(value) is not None
    return bound[0] if clear or (made and _MADE.fullmatch(value.strip())) else set()


def _used(plain: str, name: str) -> bool:
    """Whether a line but calls or hands on what ``name`` (with dots) ends in: it does not bind that name."""
    last = name.rpartition(".")[2]
    for found in re.finditer(rf"(?<![\w.])([\w.]*)\b{re.escape(last)}\b(\s*\()?", plain):
        owner = found[1]
        if not found[2] and (not owner or owner in ("self.", "cls.")):
            return False
    return True


def _is_aside(text: str) -> bool:
    """Whether an import is one of names from a library of models that have nothing to do with a GELU."""
    found = _FROM.match(text)
    if found is None or found[1].partition(".")[0] in _FRAMEWORKS:
        return False
    names = WORD.findall(text, found.end())
    return _packages().isdisjoint(names) and prefixes().isdisjoint(f"{found[1]}.{name}" for name in names)


@cache
def _packages() -> frozenset[str]:
    """Packages whose functions fixes may use, and whose import tells what a file is for."""
    from gelu_lint.facts.table import callables, others, tensor_only

    tops = {name.split(".")[0] for name in (*callables(), *others(), *tensor_only(), *tensor_only().values())}
    return frozenset((*tops, "functools", "math", "scipy", "triton", "pallas", "numba", "taichi", "warp")) - {""}
