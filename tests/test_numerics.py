"""Formulas as numbers: the IR and its evaluator against numpy and scipy, and what `identify` makes of formulas."""

import math
import random
from itertools import product

import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import formula

from gelu_lint.numerics.evaluate import GRID, depends, evaluate, fold, values
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.numerics.identify import identify
from gelu_lint.numerics.ir import OPS, Expr, X, call, const, depth, size, too_big
from gelu_lint.numerics.match import Identity

# The IR and its evaluator

NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.float_power,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "reciprocal": lambda x: 1 / np.float64(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "ndtr": sp.ndtr,
    "log_ndtr": sp.log_ndtr,
    "tanh": np.tanh,
    "sigmoid": sp.expit,
    "logsigmoid": sp.log_expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
    "sign": np.sign,
    "floor": np.floor,
    "step": lambda x: np.float64(x > 0),
    "max": np.maximum,
    "min": np.minimum,
    "where_positive": lambda x, a, b: np.where(x > 0, a, b),
}
ODD = (
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.0,
    -3.0,
    36.0,
    -37.5,
    710.0,
    1e200,
    -1e308,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
)
FLOATS = st.floats() | st.floats(-20, 20)


def trees(leaves: int) -> st.SearchStrategy[Expr]:
    by_arity = {n: sorted(name for name, op in OPS.items() if op.arity == n) for n in (1, 2, 3)}

    def grow(below: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(*(st.builds(call, st.sampled_from(names), *[below] * n) for n, names in by_arity.items()))

    return st.recursive(st.just(X) | st.builds(const, FLOATS), grow, max_leaves=leaves)


def by_numpy(expr: Expr, x: float) -> float:
    if expr.op == "x":
        return np.float64(x)
    if expr.op == "const":
        return np.float64(expr.value)
    return NUMPY[expr.op](*(by_numpy(arg, x) for arg in expr.args))


def alike(a: float, b: float, relative: float = 1e-9) -> bool:
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=relative, abs_tol=1e-300)


@pytest.mark.parametrize("name", OPS)
def test_every_operation_is_total_and_agrees_with_numpy(name: str) -> None:
    with np.errstate(all="ignore"):
        for args in product(ODD, repeat=OPS[name].arity):
            value = OPS[name].function(*args)
            assert type(value) is float
            if name == "pow" and args[0] == -math.inf:
                continue  # numpy, unlike IEEE 754, says nan for (-inf) ** 0.5
            if name == "ndtr" and args[0] < -37:
                continue  # scipy flushes to 0
            assert alike(value, float(NUMPY[name](*args))), args


@settings(max_examples=300, deadline=None)
@given(trees(20), FLOATS)
def test_evaluation_agrees_with_one_step_at_a_time(expr: Expr, x: float) -> None:
    def plain(node: Expr) -> float:
        if node.op == "x":
            return x
        return node.value if node.op == "const" else OPS[node.op].function(*map(plain, node.args))

    got = evaluate(expr, x)
    assert type(got) is float
    assert alike(got, plain(expr), 0)
    assert alike(evaluate(fold(expr), x), got, 0)
    assert depends(expr) or alike(fold(expr).value, got, 0)


TAME = ("add", "sub", "mul", "neg", "abs", "erf", "erfc", "ndtr", "tanh", "sigmoid", "softplus", "relu", "max", "min")


@settings(max_examples=200, deadline=None)
@given(trees(12), st.floats(-6, 6))
def test_evaluation_agrees_with_scipy(expr: Expr, x: float) -> None:
    todo = [expr]
    for node in todo:
        todo.extend(node.args)
    # Where steps are bounded and continuous, last bits stay last bits.
    if all(n.op in (*TAME, "x") or (n.op == "const" and abs(n.value) < 20) for n in todo):
        with np.errstate(all="ignore"):
            assert evaluate(expr, x) == pytest.approx(float(by_numpy(expr, x)), rel=1e-9, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(trees(30))
def test_identify_is_total(expr: Expr) -> None:
    assert isinstance(identify(expr), Identity)


def test_call_checks_its_arguments() -> None:
    with pytest.raises(KeyError):
        call("gelu", X)
    with pytest.raises(ValueError, match="add takes 2 arguments, not 1"):
        call("add", X)


def test_huge_numbers_and_trees_are_harmless() -> None:
    assert evaluate(formula("10**10**10"), 0.0) == math.inf
    assert const(10**400) == const(math.inf)
    shared = deep = X
    for _ in range(100):
        shared = call("add", shared, shared)
    for _ in range(5_000):
        deep = call("neg", deep)
    assert size(shared) == 2**101 - 1 and depth(shared) == 101 and evaluate(shared, 1.0) == 2.0**100
    assert size(deep) == depth(deep) == 5_001 and evaluate(fold(deep), 1.0) == 1.0
    for big in (shared, deep):
        assert too_big(big) and identify(big).flavour == "unknown" and len(values(big)) == len(GRID)


# Flavours, however they are written

U = "sqrt(2/pi)*(x+0.044715*x**3)"
SPELLINGS = {
    "erf": (
        "0.5*x*(1+erf(x/sqrt(2)))",
        "x*0.5*(1.0+erf(x*0.7071))",
        "x*0.5*(1.0+erf(x/1.41421))",
        "x*(erf(x*rsqrt(2))+1)/2",
        "x*ndtr(x)",
        "x*exp(log_ndtr(x))",
        "0.5*x*erfc(-x/sqrt(2))",
        "x*(1-0.5*erfc(x*2**-0.5))",
        "0.5*x+0.5*x*erf(x/sqrt(2))",
        "max(x*ndtr(x),-10)",
        "where_positive(x,x*(1-ndtr(-x)),x*ndtr(x))",
    ),
    "tanh": (
        f"0.5*x*(1+tanh({U}))",
        "0.5*x*(1+tanh(0.79788*x*(1+0.0447*x*x)))",
        "0.5*x*(1+tanh(x*0.7978845608*(1.0+0.044715*square(x))))",
        "0.5*x*(1+tanh(0.7978845608*x+0.0356774081*x*x*x))",
        "x*sigmoid(1.5957691216*(x+0.044715*x**3))",
        "x*sigmoid(x*(1.5957691216+0.0713548162726*x*x))",
        f"x/(1+exp(-2*{U}))",
        f"x*(1-1/(1+exp(2*{U})))",
        f"0.5*x*(1+(exp(2*{U})-1)/(exp(2*{U})+1))",
        f"0.5*x*(1+(exp({U})-exp(-({U})))/(exp({U})+exp(-({U}))))",
        f"0.5*x*(1+(exp(80*{U}/40)-1)/(exp(80*{U}/40)+1))",
        f"0.5*x*(2*sigmoid(2*({U})))",
    ),
    "quick": ("x*sigmoid(1.702*x)", "x/(1+exp(-1.702*x))", "x*sigmoid(1.7*x)", "0.5*x*(1+tanh(0.851*x))"),
    "silu": ("x*sigmoid(x)", "x/(1+exp(-x))", "0.5*x*(1+tanh(x/2))", "x*exp(logsigmoid(x))"),
    "relu": ("max(x,0)", "relu(x)", "where_positive(x,x,0)", "x*step(x)", "0.5*(x+abs(x))"),
}


@pytest.mark.parametrize(("flavour", "text"), [(f, text) for f, texts in SPELLINGS.items() for text in texts])
def test_spellings(flavour: str, text: str) -> None:
    found = identify(formula(text))
    assert found.flavour == flavour, found
    assert found.why == found.nearest == ""


def test_where_exp_overflows_only_finite_values_count() -> None:
    tanh = "(exp(60*x)-1)/(exp(60*x)+1)"  # nan from x = 11.8
    expr = formula(f"0.5*x*(1+tanh({U})+0*{tanh})")
    assert math.isnan(evaluate(expr, 12.0)) and identify(expr).flavour == "tanh"


def rewrite(expr: Expr, rng: random.Random) -> Expr:
    """The same function, written otherwise in some places."""
    args = tuple(rewrite(arg, rng) for arg in expr.args)
    here = expr._replace(args=args)
    if rng.random() < 0.4:
        return here
    a, *rest = (*args, X)
    b = rest[0] if len(args) == 2 else X
    two, half = const(2), const(0.5)
    one = const(1)
    options: dict[str, list[Expr]] = {
        "add": [call("add", b, a), call("sub", a, call("neg", b))],
        "sub": [call("add", a, call("neg", b)), call("neg", call("sub", b, a))],
        "mul": [call("mul", b, a)],
        "div": [call("mul", a, call("reciprocal", b)), call("mul", call("div", one, b), a)],
        "erf": [
            call("sub", call("mul", two, call("ndtr", call("mul", call("sqrt", two), a))), one),
            call("sub", one, call("erfc", a)),
            call("neg", call("erf", call("neg", a))),
        ],
        "tanh": [
            call("sub", call("mul", call("sigmoid", call("mul", two, a)), two), one),
            call("neg", call("tanh", call("neg", a))),
        ],
        "sigmoid": [
            call("mul", half, call("add", one, call("tanh", call("mul", half, a)))),
            call("reciprocal", call("add", one, call("exp", call("neg", a)))),
            call("sub", one, call("sigmoid", call("neg", a))),
        ],
        "ndtr": [
            call("mul", call("add", call("erf", call("div", a, call("sqrt", two))), one), half),
            call("sub", one, call("ndtr", call("neg", a))),
        ],
    }
    choices = options.get(expr.op, [here])
    if expr.op == "mul" and a.op in ("add", "sub"):
        choices.append(call(a.op, call("mul", a.args[0], b), call("mul", a.args[1], b)))
    if expr.op == "mul" and b.op == "mul":
        choices.append(call("mul", call("mul", a, b.args[0]), b.args[1]))
    if expr.op == "pow" and b == const(3):
        choices = [call("mul", call("mul", a, a), a), call("mul", a, call("square", a))]
    return rng.choice(choices)


BASES = {
    "erf": ("0.5*x*(1+erf(x/sqrt(2)))", "x*ndtr(x)"),
    "tanh": (f"0.5*x*(1+tanh({U}))", f"x*sigmoid(2*{U})"),
    "quick": ("x*sigmoid(1.702*x)",),
    "silu": ("x*sigmoid(x)",),
}


def rewritten(seed: int) -> tuple[str, Expr]:
    rng = random.Random(seed)
    flavour = rng.choice(sorted(BASES))
    expr = formula(rng.choice(BASES[flavour]))
    for _ in range(rng.randrange(1, 4)):
        wider = rewrite(expr, rng)
        if size(wider) > 250:
            break
        expr = wider
    return flavour, expr


@pytest.mark.parametrize("seed", range(20))
def test_rewriting_keeps_the_flavour(seed: int) -> None:
    for part in range(15):
        flavour, expr = rewritten(seed * 1000 + part)
        assert identify(expr).flavour == flavour, expr


def replaced(expr: Expr, at: int, value: float) -> Expr:
    """The expression with its constant number `at` (in reading order) replaced."""
    count = -1

    def walk(node: Expr) -> Expr:
        nonlocal count
        if node.op == "const":
            count += 1
            return const(value) if count == at else node
        return node._replace(args=tuple(map(walk, node.args)))

    return walk(expr)


def literals(expr: Expr) -> list[float]:
    return [expr.value] if expr.op == "const" else [value for arg in expr.args for value in literals(arg)]


@pytest.mark.parametrize("seed", range(15))
def test_a_mutated_constant_never_gives_a_wrong_flavour(seed: int) -> None:
    for part in range(12):
        _, expr = rewritten(seed * 1000 + part)
        constants = literals(expr)
        if not constants:
            continue
        rng = random.Random(seed)
        at = rng.randrange(len(constants))
        mutated = replaced(expr, at, constants[at] * (1 + rng.choice((-1, 1)) * 10 ** rng.uniform(-2, 0.477)))
        found = identify(mutated)
        if found.flavour in FLAVOURS:
            reference = FLAVOURS[found.flavour].value
            close = all(
                abs(evaluate(mutated, x) - reference(x))
                <= (4e-3 if found.flavour == "quick" else 1e-5) * max(1, abs(x))
                for x in GRID
            )
            assert close, (mutated, found)
        else:
            assert found.flavour in ("near", "unknown", "sigmoid_k", "gelu_t"), (mutated, found)
            assert found.flavour != "near" or found.nearest in ("erf", "tanh", "quick")


# Near misses, and what is none

TANH = "0.5*x*(1+tanh({}))"
NEAR = (
    (TANH.format("sqrt(2/pi)*(x+0.44715*x**3)"), "tanh", "0.44715 for 0.044715", 0.044715),
    (TANH.format("sqrt(2/pi)*(x+0.047715*x**3)"), "tanh", "0.047715 for 0.044715", 0.044715),
    (TANH.format("sqrt(2/pi)*(x+0.004715*x**3)"), "tanh", "0.004715 for 0.044715", 0.044715),
    (TANH.format("sqrt(2/pi)*(x+0.044751*x**3)"), "tanh", "0.044751 for 0.044715", 0.044715),
    (TANH.format("sqrt(2)/pi*(x+0.044715*x**3)"), "tanh", "0.450158 for √(2/π)", math.sqrt(2 / math.pi)),
    (TANH.format("0.4502*(x+0.044715*x**3)"), "tanh", "0.4502 for √(2/π)", math.sqrt(2 / math.pi)),
    (TANH.format("sqrt(2/3)*(x+0.044715*x**3)"), "tanh", "3 for π", math.pi),
    (TANH.format("sqrt(2/3.14)*(x+0.044715*x**3)"), "tanh", "3.14 for π (cut too short)", math.pi),
    (TANH.format("0.797884*x*(1+0.035677*x*x)"), "tanh", "0.035677 for 0.044715", 0.044715),
    (TANH.format("0.797884*x+0.35677*x*x*x"), "tanh", "0.35677 for 0.0356774", 0.0356774081),
    (TANH.format("sqrt(2/pi)*x+0.044715*x**3"), "tanh", "factor √(2/π) missing", None),
    (TANH.format("sqrt(2/pi)*x*(x+0.044715*x**3)"), "tanh", "factor x too many", None),
    (TANH.format("sqrt(2/pi)*(x+(0.044715*x)**3)"), "tanh", "a factor inside the power", None),
    (TANH.format("x*0.044715*(1+0.7978845608*x*x)"), "tanh", "√(2/π) and 0.044715 swapped", None),
    ("0.5*x*1+tanh(sqrt(2/pi)*(x+0.044715*x**3))*0", "", "", None),
    ("0.5*x*1+erf(x/sqrt(2))", "erf", "parentheses missing around a sum", None),
    ("0.5*x*(1+erf(x)/sqrt(2))", "erf", "a factor outside erf", None),
    ("0.5*x*(1+erf(x/sqrt(2*pi)))", "erf", "× π too many", None),
    ("0.5*x*(1+erf(sqrt(x/2)))", "", "", None),
    ("where_positive(x-6,6,x*ndtr(x))", "", "", None),
    ("where_positive(x-7,0,x*ndtr(x))", "", "", None),
    ("x*ndtr(x)*step(8-x)", "", "", None),
    ("x*ndtr(x)*step(x+0.5)", "", "", None),
    ("x*erf(x/sqrt(2))", "erf", "0.5·(1 + …) around erf missing", None),
    ("0.5*x*x*(1+erf(x/sqrt(2)))", "erf", "factor x too many", None),
    ("x*x*sigmoid(1.702*x)", "quick", "factor x too many", None),
    ("0.5*x*(1+ndtr(x))", "erf", "Φ(x) for erf(x/√2)", None),
    ("1.702*x*sigmoid(x)", "quick", "factor 1.702 outside sigmoid", None),
    ("x*sigmoid(1.702*x*x)", "quick", "x**2 for x", None),
    ("x*sigmoid(1.702+x)", "quick", "1.702 + … for 1.702 × …", None),
    ("floor(1/2)*x*(1+erf(x/sqrt(2)))", "erf", "// for /", None),
    (TANH.format("sqrt(2/pi)*(x+0.044715*x**2)"), "tanh", "x**2 for x**3", 3.0),
    (TANH.format("sqrt(2/pi)*(x+0.044715*x*x)"), "tanh", "x**2 for x**3", None),
    (TANH.format("sqrt(2/pi)*(x+0.044715*square(x))"), "tanh", "x**2 for x**3", None),
    (TANH.format("sqrt(2/pi)*(x+0.044715*x)"), "tanh", "x for x**3", None),
    (TANH.format("sqrt(2/pi)*x*(1+0.044715*x**3)"), "tanh", "x**3 for x**2", 2.0),
    (TANH.format("sqrt(2/pi)*(1+0.044715*x*x)"), "tanh", "factor x missing", None),
    (TANH.format("sqrt(2/pi)*(x+x**3)"), "tanh", "factor 0.044715 missing", None),
    (TANH.format("sqrt(2/pi)*x"), "tanh", "cubic term 0.044715x³ missing", None),
    (TANH.format("x+0.044715*x**3"), "tanh", "factor √(2/π) missing", None),
    (TANH.format("sqrt(2/pi)*(x-0.044715*x**3)"), "tanh", "… − … for … + …", None),
    (TANH.format(f"2*{U}"), "tanh", "× 2 too many", None),
    (TANH.format("x/sqrt(2)"), "erf", "tanh for erf", None),
    (f"x*(1+tanh({U}))", "tanh", "factor 0.5 missing", None),
    (f"0.5*x*tanh({U})", "tanh", "`1 +` missing", None),
    (f"0.5*x*(1-tanh({U}))", "tanh", "1 − … for 1 + …", None),
    (f"0.5*x*(1+erf({U}))", "tanh", "erf for tanh", None),
    (f"x*sigmoid({U})", "tanh", "factor 2 missing", None),
    ("x*(1+erf(x/sqrt(2)))", "erf", "factor 0.5 missing", None),
    ("0.05*x*(1+erf(x/sqrt(2)))", "erf", "0.05 for 0.5", 0.5),
    ("2*0.5*x*(1+erf(x/sqrt(2)))", "erf", "× 2 too many", None),
    ("0.5*x*ndtr(x)", "erf", "× 0.5 too many", None),
    ("0.5*x*(1+erf(x/2))", "erf", "2 for √2", math.sqrt(2)),
    ("0.5*x*(1+erf(x/1.414))", "erf", "1.414 for √2 (cut too short)", math.sqrt(2)),
    ("0.5*x*(1+erf(x*sqrt(2)))", "erf", "× 1.41421 for ÷ 1.41421", None),
    ("0.5*x*(1+erf(x))", "erf", "factor 1/√2 missing", None),
    ("0.5*x*(1-erf(x/sqrt(2)))", "erf", "1 − … for 1 + …", None),
    ("0.5*x*erf(x/sqrt(2))", "erf", "`1 +` missing", None),
    ("0.5*x*erfc(x/sqrt(2))", "erf", "a sign is flipped", None),
    ("x*ndtr(1.702*x)", "quick", "Φ for σ", None),
    ("x/(1+exp(1.702*x))", "quick", "a sign is flipped", None),
)


@pytest.mark.parametrize(("text", "nearest", "why", "right"), NEAR, ids=[text for text, *_ in NEAR])
def test_near_misses(text: str, nearest: str, why: str, right: float | None) -> None:
    expr = formula(text)
    found = identify(expr)
    if not nearest:
        assert found.flavour == "unknown"
        return
    assert (found.flavour, found.nearest, found.why) == ("near", nearest, why)
    assert found.right == (None if right is None else pytest.approx(right, rel=1e-6))
    assert found.error >= 1e-5 and abs(found.at) <= 6
    assert abs(evaluate(expr, found.at) - FLAVOURS[nearest].value(found.at)) == pytest.approx(found.error)


@pytest.mark.parametrize(
    ("text", "flavour", "parameter", "nearest"),
    [
        ("x*sigmoid(1.72*x)", "sigmoid_k", 1.72, "quick"),
        ("x*sigmoid(1.07*x)", "sigmoid_k", 1.07, "quick"),
        ("x*sigmoid(1.4*x)", "sigmoid_k", 1.4, "quick"),
        ("x/(1+exp(-2.5*x))", "sigmoid_k", 2.5, "quick"),
        ("x*sigmoid(1.705*x)", "quick", 1.705, ""),
        ("x*ndtr(x/1.3)", "gelu_t", 1.3, "erf"),
        ("x*ndtr(x/2)", "gelu_t", 2.0, "erf"),
        ("0.5*x*(1+erf(x/(1.3*sqrt(2))))", "gelu_t", 1.3, "erf"),
        ("min(max(x*ndtr(x),-10),10)", "clipped", 10.0, "erf"),
        (f"min({TANH.format(U)},6)", "clipped", 6.0, "tanh"),
        ("square(x*ndtr(x))", "squared", None, "erf"),
        (f"({TANH.format(U)})**2", "squared", None, "tanh"),
        ("ndtr(x)", "gate", None, "erf"),
        ("0.5*(1+erf(x/sqrt(2)))", "gate", None, "erf"),
        (f"0.5*(1+tanh({U}))", "gate", None, "tanh"),
        ("sigmoid(x)", "gate", None, "silu"),
        ("sigmoid(1.702*x)", "gate", 1.702, "quick"),
        ("sigmoid(3*x)", "gate", 3.0, ""),
    ],
)
def test_families(text: str, flavour: str, parameter: float | None, nearest: str) -> None:
    found = identify(formula(text))
    assert (found.flavour, found.nearest) == (flavour, nearest)
    assert found.parameter == (None if parameter is None else pytest.approx(parameter, rel=1e-6))


OTHERS = (
    "x",
    "0.5*x",
    "3",
    "tanh(x)",
    "erf(x)",
    "exp(x)",
    "softplus(x)",
    "logsigmoid(x)",
    "x*tanh(softplus(x))",
    "x*tanh(log(1+exp(x)))",
    "x*erf(log1p(exp(x)))",
    "x*min(max(x+3,0),6)/6",
    "min(max(0.2*x+0.5,0),1)",
    "min(relu(x),6)",
    "where_positive(x,x,exp(x)-1)",
    "where_positive(x,x,0.01*x)",
    "1.0507*where_positive(x,x,1.6733*expm1(x))",
    "x/(1+abs(x))",
    "x*erf(x)",
    "x*tanh(x)",
    "x*exp(x)",
    "square(relu(x))",
    "x*ndtr(x)*sigmoid(x)",
    "x+x*ndtr(x)",
    "x-x*ndtr(x)",
    "-(x*ndtr(x))",
    "x*ndtr(x)+1",
    "1.7015*x*ndtr(x)",
    "1.7015043*(0.5*x*(1+erf(x/sqrt(2))))",
    "sqrt(2)*x*ndtr(x)",
    "0.1*x*sigmoid(1.702*x)",
    "exp(-0.5*x*x)/sqrt(2*pi)",
    "ndtr(x)+x*exp(-0.5*x*x)/sqrt(2*pi)",
    "x*ndtr(x)+exp(-0.5*x*x)/sqrt(2*pi)",
    "sigmoid(x)*(1+x*(1-sigmoid(x)))",
    "sigmoid(x)*(1-sigmoid(x))",
    "1-tanh(x)**2",
    "2*x*sigmoid(x)",
    "(x-1)*sigmoid(1.702*(x-1))",
)


@pytest.mark.parametrize("text", OTHERS)
def test_other_functions_are_unknown(text: str) -> None:
    assert identify(formula(text)) == Identity("unknown", math.inf)


def test_the_error_of_a_truncated_constant_is_told() -> None:
    found = identify(formula("0.5*x*(1+tanh(sqrt(2/pi)*(x+0.0447*x**3)))"))
    assert found.flavour == "tanh" and 8e-6 < found.error < 1e-5
    assert identify(formula("x*ndtr(x)")) == Identity("erf")


def test_the_search_is_bounded() -> None:
    wide = formula("+".join(f"tanh({i}*x+0.{i})*sigmoid(x/{i}.7)" for i in range(1, 9)))
    deep = formula("erf(1.5*" * 40 + "x" + ")" * 40)
    for expr in (wide, deep):
        assert identify(expr).flavour == "unknown"
