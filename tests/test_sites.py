"""Call sites as facts: form, key, flavour, how the choice is given, guards, slots, and places that ``ast`` confirms."""

from __future__ import annotations

import ast
import importlib.util
import re
import warnings
from pathlib import Path

import pytest

from gelu_lint.engine import summarise
from gelu_lint.model import FileSummary, Site, Span, Use
from gelu_lint.registry import all_rules
from gelu_lint.source import Source, decode

HEAD = (
    "import functools\nfrom functools import partial\nimport torch\nimport torch.nn.functional as F\n"
    "from torch import nn\nimport numpy as np\nimport math\n"
)


def summary(code: str, head: str = HEAD) -> FileSummary:
    found = summarise(decode("m.py", (head + code).encode()))
    assert found.faults == ()
    return found


def sites(code: str, head: str = HEAD) -> tuple[Site, ...]:
    return summary(code, head).sites


def site(code: str, head: str = HEAD) -> Site:
    (found,) = sites(code, head)
    return found


def use(code: str) -> Use:
    (found,) = summary(code).uses
    return found


# --- Form, key and consumer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "form", "key", "consumer"),
    [
        ("nn.GELU()", "call", "", ""),
        ("x = nn.GELU()", "call", "x", ""),
        ("f(act=nn.GELU())", "call", "act", "f"),
        ("self.act = nn.GELU()", "call", "act", ""),
        ("T = {'gelu': F.gelu(x)}", "call", "gelu", ""),
        ("partial(nn.GELU)", "partial", "", ""),
        ("functools.partial(F.gelu)", "partial", "", ""),
        ("f(act=partial(F.gelu))", "partial", "act", "f"),
        ("class A(nn.GELU):\n    def __init__(self):\n        super().__init__()", "super", "", ""),
        ("class A(nn.GELU):\n    def __init__(self):\n        super(A, self).__init__()", "super", "", ""),
        ("def f(act=nn.GELU): ...", "default", "act", ""),
        ("def f(*, act=nn.GELU): ...", "default", "act", ""),
        ("lambda act=nn.GELU: 1", "default", "act", ""),
        ("f(nn.GELU)", "argument", "", "f"),
        ("f(act=nn.GELU)", "argument", "act", "f"),
        ("a.b.f(act=(nn.GELU))", "argument", "act", "f"),
        ("f(act=nn.GELU if x else nn.ReLU)", "argument", "act", "f"),
        ("f(act=x or nn.GELU)", "argument", "act", "f"),
        ("class A(B, act=nn.GELU): ...", None, "", ""),
        ("self.act = F.gelu", "attribute", "act", ""),
        ("self.act: object = F.gelu", "attribute", "act", ""),
        ("class A:\n    act = F.gelu", "attribute", "act", ""),
        ("class A:\n    act: object = F.gelu", "attribute", "act", ""),
        ("setattr(self, 'act', F.gelu)", "attribute", "act", ""),
        ("act = F.gelu", "variable", "act", ""),
        ("def f():\n    act = F.gelu", "variable", "act", ""),
        ("class A:\n    def f(self):\n        act = F.gelu", "variable", "act", ""),
        ("(act := F.gelu)", None, "", ""),
        ("T = {'gelu': F.gelu}", "table", "gelu", ""),
        ("T = {K.GELU: F.gelu}", "table", "GELU", ""),
        ("T = dict(gelu=F.gelu)", "table", "gelu", ""),
        ("T['gelu'] = F.gelu", "table", "gelu", ""),
        ("T[name] = F.gelu", "table", "", ""),
        ("acts = [F.gelu, F.relu]", "element", "", ""),
        ("acts = (nn.GELU, nn.ReLU)", "element", "", ""),
        ("acts = {nn.GELU}", "element", "", ""),
        ("f([nn.GELU])", "element", "", ""),
        ("for act in (nn.GELU, nn.ReLU): ...", "element", "", ""),
        ("def f():\n    return F.gelu", "return", "", ""),
        ("def f():\n    yield F.gelu", "return", "", ""),
        ("f = lambda: F.gelu", "return", "f", ""),
    ],
)
def test_form_key_and_consumer(code: str, form: str | None, key: str, consumer: str) -> None:
    found = sites(code + "\n")
    if form is None:
        assert [s for s in found if s.spelling == "reference"] == []
        return
    assert [(s.form, s.key, s.consumer) for s in found] == [(form, key, consumer)]
    assert found[0].spelling == ("call" if form in ("call", "partial", "super") else "reference")


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(m, nn.GELU)",
        "isinstance(m, (nn.GELU, nn.ReLU))",
        "issubclass(m, nn.GELU)",
        "isinstance(m, ((nn.GELU,), nn.ReLU))",
        "assert_is(m, nn.GELU)",
        "self.assertIs(m, nn.GELU)",
        "inspect.signature(F.gelu)",
        "type(m) is nn.GELU",
        "nn.GELU == type(m)",
        "m in (nn.GELU, nn.ReLU)",
        "type(m) not in [nn.GELU]",
        "def f(m: nn.GELU) -> nn.GELU: ...",
        "m: nn.GELU",
        "m: list[nn.GELU] = []",
        "@nn.GELU\ndef f(): ...",
        "class A(nn.GELU): ...",
        "f(*nn.GELU)",
        "nn.GELU",
        "nn.GELU.forward",
        "nn.GELU.__init__",
        "del nn.GELU",
        "T = {nn.GELU: 1}",
        "T[nn.GELU]",
        "F.gelu = mine",
        "assert nn.GELU",
        "'nn.GELU()'",
        "# nn.GELU()\npass",
        "x.gelu()",
        "mine.GELU()",
        "nn.GELUx()",
        "nn.functional.gelu.x()",
    ],
)
def test_no_use(code: str) -> None:
    assert sites(code + "\n") == ()


def test_a_subclass_that_computes_by_itself_calls_no_gelu_in_its_init() -> None:
    init = "    def __init__(self):\n        super().__init__()\n"
    for body in ("def forward(self, x): ...", "forward = mine", "if X:\n        def forward(self, x): ..."):
        assert sites(f"class A(nn.GELU):\n{init}    {body}\n") == ()
    assert sites(f"class A(nn.GELU, B):\n{init}") == ()
    assert site(f"class A(nn.GELU):\n{init}").callee == "torch.nn.GELU"


def test_names_that_the_file_patches_are_no_sites() -> None:
    assert sites("F.gelu = mine\ny = F.gelu(x)\n") == ()
    assert sites("nn.GELU.forward = mine\ny = nn.GELU()\n") == ()


def test_aliases_lead_to_the_same_site() -> None:
    for code in (
        "G = nn.GELU\nact = G()\n",
        "def f():\n    return G()\nG = nn.GELU\n",
        "A = nn.GELU\nB = A\nC = B\nact = C()\n",
        "class G(nn.GELU):\n    pass\nact = G()\n",
        "from torch.nn import GELU as G\nact = G()\n",
        "G = getattr(nn, 'GELU')\nact = G()\n",
        "G = nn.GELU if x else torch.nn.modules.activation.GELU\nact = G()\n",
    ):
        (call,) = [s for s in sites(code) if s.form == "call"]
        assert (call.callee, call.flavour) == ("torch.nn.GELU", "erf")


def test_very_long_alias_chains_end() -> None:
    chain = "".join(f"a{n + 1} = a{n}\n" for n in range(1500))
    assert summary(f"def f():\n    return a1500()\na0 = nn.GELU\n{chain}").faults == ()


# --- The choice ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "given", "value", "flavour"),
    [
        ("nn.GELU()", "absent", None, "erf"),
        ("F.gelu(x)", "absent", None, "erf"),
        ("F.gelu(input=x)", "absent", None, "erf"),
        ("F.gelu(*x)", "absent", None, "erf"),
        ("partial(F.gelu)", "absent", None, "erf"),
        ("nn.GELU('tanh')", "literal", "tanh", "tanh"),
        ("nn.GELU(approximate='tanh')", "literal", "tanh", "tanh"),
        ("nn.GELU(approximate='none')", "literal", "none", "erf"),
        ("nn.GELU(approximate='ta' 'nh')", "literal", "tanh", "tanh"),
        ("nn.GELU(approximate=('tanh'))", "literal", "tanh", "tanh"),
        ("nn.GELU(approximate='Tanh')", "literal", "Tanh", "unknown"),
        ("nn.GELU(approximate=True)", "literal", True, "unknown"),
        ("nn.GELU(approximate=None)", "literal", None, "unknown"),
        ("partial(nn.GELU, 'tanh')", "literal", "tanh", "tanh"),
        ("partial(nn.GELU, approximate='tanh')", "literal", "tanh", "tanh"),
        ("F.gelu(x, **o, approximate='tanh')", "literal", "tanh", "tanh"),
        ("F.gelu(x, approximate='tanh', **o)", "literal", "tanh", "tanh"),
        ("nn.GELU(approximate=mode)", "dynamic", None, "unknown"),
        ("nn.GELU(f'tanh')", "dynamic", None, "unknown"),
        ("nn.GELU(b'tanh')", "dynamic", None, "unknown"),
        ("nn.GELU('tanh' if x else 'none')", "dynamic", None, "unknown"),
        ("F.gelu(x, **o)", "unsure", None, "unknown"),
        ("nn.GELU(*o)", "unsure", None, "unknown"),
        ("partial(nn.GELU, **o)", "unsure", None, "unknown"),
        ("F.gelu(x, 'tanh')", "misplaced", "tanh", "unknown"),
        ("F.gelu(x, mode)", "misplaced", None, "unknown"),
        ("nn.GELU(inplace=True)", "absent", None, "unknown"),
    ],
)
def test_choice(code: str, given: str, value: object, flavour: str) -> None:
    found = site(f"y = {code}\n")
    assert (found.given, found.value, found.flavour) == (given, value, flavour)
    assert found.explicit == (given not in ("absent", "unsure"))


@pytest.mark.parametrize(
    ("code", "given", "value"),
    [
        ("M = 'tanh'\nnn.GELU(M)", "constant", "tanh"),
        ("M = 'tanh'\ndef f():\n    nn.GELU(approximate=M)", "constant", "tanh"),
        ("M = 'tanh'\nN = M\nnn.GELU(N)", "constant", "tanh"),
        ("M = True\nnn.GELU(M)", "constant", True),
        ("M, N = 'none', 'tanh'\nnn.GELU(N)", "constant", "tanh"),
        ("def f():\n    M = 'tanh'\n    nn.GELU(M)", "constant", "tanh"),
        ("M = 'tanh'\ndef f(M):\n    nn.GELU(M)", "dynamic", None),
        ("M = 'tanh'\nif x:\n    M = 'none'\nnn.GELU(M)", "dynamic", None),
        ("M = 'tanh'\ndef f():\n    nn.GELU(M)\nM = 'none'", "dynamic", None),
        ("M = f()\nnn.GELU(M)", "dynamic", None),
        ("for M in ('none', 'tanh'):\n    nn.GELU(M)", "dynamic", None),
        ("nn.GELU(c.M)", "dynamic", None),
    ],
)
def test_constants_through_names(code: str, given: str, value: object) -> None:
    found = site(code + "\n")
    assert (found.given, found.value) == (given, value)


# --- Guards -------------------------------------------------------------------------------------------------------

BAD = "nn.GELU(approximate=True)"


@pytest.mark.parametrize(
    ("code", "guard"),
    [
        (f"{BAD}", ""),
        (f"try:\n    {BAD}\nexcept TypeError: ...", "try"),
        (f"try:\n    {BAD}\nexcept (A, m.AttributeError): ...", "try"),
        (f"try:\n    {BAD}\nexcept: ...", "try"),
        (f"try:\n    {BAD}\nexcept Exception: ...", "try"),
        (f"try:\n    x\nexcept ImportError:\n    {BAD}", "try"),
        (f"try:\n    x\nexcept KeyError:\n    {BAD}", ""),
        (f"try:\n    x\nfinally:\n    {BAD}", ""),
        (f"try:\n    x\nexcept TypeError: ...\nfinally:\n    {BAD}", ""),
        (f"if hasattr(nn, 'GELU'):\n    {BAD}", "hasattr"),
        (f"if x:\n    pass\nelif hasattr(nn, 'GELU'):\n    {BAD}", "hasattr"),
        (f"if hasattr(nn, 'GELU'):\n    pass\nelse:\n    {BAD}", "hasattr"),
        (f"y = {BAD} if hasattr(nn, 'GELU') else None", "hasattr"),
        (f"hasattr(nn, 'GELU') and {BAD}", "hasattr"),
        (f"if torch.__version__ >= '1.12':\n    {BAD}", "version"),
        (f"if version.parse(v) >= x:\n    {BAD}", "version"),
        (f"if TORCH_VERSION > x:\n    {BAD}", "version"),
        (f"if x:\n    {BAD}", ""),
        (f"with pytest.raises(TypeError):\n    {BAD}", "raises"),
        (f"with self.assertRaises(TypeError), x:\n    {BAD}", "raises"),
        (f"with suppress(TypeError):\n    {BAD}", "raises"),
        (f"with open(x):\n    {BAD}", ""),
        (f"self.assertRaises(TypeError, lambda: {BAD})", "raises"),
        (f"def f():\n    if not hasattr(nn, 'GELU'):\n        return None\n    {BAD}", "hasattr"),
        (f"def f():\n    if version < x:\n        raise E\n    {BAD}", "version"),
        (f"def f():\n    if hasattr(nn, 'GELU'):\n        pass\n    {BAD}", ""),
        (f"def f():\n    {BAD}\n    if not hasattr(nn, 'GELU'):\n        return None", ""),
        (f"def f():\n    if not hasattr(nn, 'GELU'): return\n    {BAD}", "hasattr"),
    ],
)
def test_guard(code: str, guard: str) -> None:
    assert site(code + "\n").guard == guard


# --- Slots and places ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("F.gelu(x)", "F.gelu(x, k=1)"),
        ("F.gelu(x,)", "F.gelu(x, k=1,)"),
        ("nn.GELU()", "nn.GELU(k=1)"),
        ("nn.GELU( # why\n)", "nn.GELU(k=1 # why\n)"),
        ("F.gelu(\n  x,\n)", "F.gelu(\n  x,\n  k=1,\n)"),
        ("F.gelu(\n  x\n)", "F.gelu(\n  x,\n  k=1\n)"),
        ("F.gelu(\n  x # in\n)", "F.gelu(\n  x, k=1 # in\n)"),
        ("F.gelu(\n  x, # in\n)", "F.gelu(\n  x, # in\n  k=1,\n)"),
        ("partial(F.gelu)", "partial(F.gelu, k=1)"),
        ("F.gelu(i for i in x)", None),
    ],
)
def test_slot(call: str, written: str | None) -> None:
    code = HEAD + f"y = {call}\n"
    found = site(f"y = {call}\n")
    if written is None:
        assert found.slot is None
        return
    span, before, after = found.slot
    at = decode("m.py", code.encode()).offset(span.row, span.column)
    assert span[:2] == span[2:]
    assert f"{code[:at]}{before}k=1{after}{code[at:]}" == HEAD + f"y = {written}\n"


def test_symbol_statement_and_text() -> None:
    code = "class A:\n    def f(self):\n        return g(\n            nn . GELU (\n            ),\n        )\n"
    found = site(code, "from torch import nn\n")
    assert found.symbol == "A.f"
    assert found.statement == (4, 7)
    assert found.written == "nn . GELU"
    assert found.span == Span(5, 12, 6, 13)
    assert found.callee_span == Span(5, 12, 5, 21)


def test_columns_count_code_points() -> None:
    for newline in ("\n", "\r\n"):
        code = f"from torch import nn{newline}é = '😀', nn.GELU(approximate='é😀'){newline}"
        found = summarise(decode("m.py", code.encode("utf-8"))).sites[0]
        assert found.span == Span(2, 9, 2, 34)
        assert found.arguments[0].span == Span(2, 17, 2, 33)
        assert found.arguments[0].value_span == Span(2, 29, 2, 33)


def test_uses() -> None:
    assert use("y = np.erf(gelu)\n")[:2] == ("absent", "numpy.erf")
    assert use("y = nn.Gelu()\n").form == "call"
    assert use("y = nn.Gelu\n").form == "reference"
    assert use("from torch.nn import Gelu\n").form == "sole"
    assert use("from torch.nn import Gelu, Linear\n").form == "import"
    assert use("gelu = torch.sqrt(2 / math.pi)\n").kind == "number"
    assert use("nn.init.kaiming_normal_(w, nonlinearity='gelu')\n").kind == "refused"
    assert summary("gelu = torch.sqrt(x / math.pi)\n").uses == ()
    assert summary("nn.Gelu = mine\n").uses == ()


def sources() -> list[Source]:
    """Real text: those of torch's own files that use a GELU, and the examples of all rules that parse."""
    root = Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    paths = sorted(path for name in ("nn", "testing") for path in (root / name).rglob("*.py"))
    data = [path.read_bytes() for path in paths if path.stat().st_size < 400_000]
    data = [text for text in data if re.search(rb"nn\.GELU|F\.gelu", text)]
    examples = [
        example.code.encode()
        for rule in all_rules()
        if rule.code != "GEL900"
        for example in rule.examples
        if example.name.endswith(".py")
    ]
    return [decode("m.py", text) for text in (*data, *examples)]


def test_places_are_those_of_ast_in_real_files() -> None:
    seen = 0
    for source in sources():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
        rows = source.text.split("\n")

        def place(node: ast.expr, rows: list[str] = rows) -> Span:
            start = len(rows[node.lineno - 1].encode()[: node.col_offset].decode())
            end = len(rows[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
            return Span(node.lineno, start, node.end_lineno, end)

        calls = {place(n): n for n in ast.walk(tree) if isinstance(n, ast.Call)}
        names = {place(n) for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute, ast.BinOp))}
        statements = [(s.lineno, s.end_lineno) for s in ast.walk(tree) if isinstance(s, ast.stmt)]
        statements += [(d.lineno, d.end_lineno) for s in ast.walk(tree) for d in getattr(s, "decorator_list", ())]
        for found in summarise(source).sites:
            seen += 1
            first, last = found.statement
            assert any(row <= first <= last <= end for row, end in statements)
            if found.spelling == "string":
                assert found.value == "gelu" and found.callee_span in names
                continue
            assert found.callee_span in names or (found.spelling == "formula" and found.callee_span in calls)
            if found.spelling in ("reference", "formula"):
                assert found.span == found.callee_span
                continue
            call = calls[found.span]
            skip = 1 if found.form == "partial" else 0
            values = sorted(place(a) for a in [*call.args[skip:], *(k.value for k in call.keywords)])
            assert sorted(a.value_span for a in found.arguments) == values
            assert sorted(a.keyword for a in found.arguments if a.keyword) == sorted(
                k.arg for k in call.keywords if k.arg
            )
    assert seen > 30


def test_screened_reading_finds_the_sites_that_whole_reading_finds() -> None:
    for source in sources():
        if len(source.text) < 70_000:
            assert summarise(source).sites == summarise(source, complete=True).sites
