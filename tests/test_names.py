"""The name table: what an expression stands for at one place of a module, and never a wrong answer."""

from __future__ import annotations

import random
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.tree.literals import literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.parse import parse
from gelu_lint.tree.walk import Walk

GELU, FUNCTION = "torch.nn.GELU", "torch.nn.functional.gelu"


class Marks:
    """Asks about the first argument of every call of HERE."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self.walk, self.names = walk, names
        self.answers: list[frozenset[str]] = []
        self.constants: list[object] = []
        self.numbers: list[int] = []

    def visit_Call(self, node) -> None:
        if getattr(node.func, "value", "") == "HERE":
            asked = node.args[0].value
            self.answers.append(self.names.resolve(asked, self.walk.moment))
            self.numbers += [int(arg.value.value) for arg in node.args[1:]]
            constant = self.names.constant(asked, self.walk.moment)
            self.constants.append(literal(constant) if constant is not None else (False, None))


def marks(code: str) -> Marks:
    module = parse(textwrap.dedent(code))
    names = Names(module)
    walk = Walk(module, names.scopes)
    found = Marks(walk, names)
    walk.run((found,))
    return found


def answer(code: str) -> set[str]:
    """What HERE(…) asks for, the empty set if it is not known."""
    (found,) = marks(code).answers
    return set(found)


KNOWN = {
    "import": ("import torch\nHERE(torch.nn.GELU)", GELU),
    "import of a submodule": ("import torch.nn\nHERE(torch.nn.GELU)", GELU),
    "import as": ("import torch.nn as tnn\nHERE(tnn.GELU)", GELU),
    "import of several": ("import os, torch.nn.functional as F\nHERE(F.gelu)", FUNCTION),
    "from": ("from torch import nn\nHERE(nn.GELU)", GELU),
    "from as": ("from torch.nn import GELU as G\nHERE(G)", GELU),
    "from in brackets": ("from torch.nn import (\n    Linear,\n    GELU,\n)\nHERE(GELU)", GELU),
    "inside a function": ("def f():\n    from torch import nn\n    HERE(nn.GELU)", GELU),
    "at the top, used inside": ("from torch import nn\nclass A:\n    def f(self):\n        HERE(nn.GELU)", GELU),
    "imported below the function": ("def f():\n    HERE(nn.GELU)\nfrom torch import nn", GELU),
    "star": ("from torch.nn import *\nHERE(GELU)", GELU),
    "alias of a module": ("import torch\nnn = torch.nn\nF = nn.functional\nHERE(F.gelu)", FUNCTION),
    "tuples": ("import torch\nnn, F = torch.nn, torch.nn.functional\nHERE(F.gelu)", FUNCTION),
    "nested tuples": ("import torch\n(a, [b, c]) = 1, [2, torch.nn]\nHERE(c.GELU)", GELU),
    "chain of targets": ("import torch\na = b = torch.nn\nHERE(b.GELU)", GELU),
    "annotated": ("import torch\na: object = torch.nn\nHERE(a.GELU)", GELU),
    "getattr": ("import torch\nHERE(getattr(torch.nn, 'GELU'))", GELU),
    "import_module": ("import importlib\nHERE(importlib.import_module('torch.nn').GELU)", GELU),
    "import_module from": ("from importlib import import_module\nHERE(import_module('torch.nn').GELU)", GELU),
    "importorskip": ("import pytest\ntorch = pytest.importorskip('torch')\nHERE(torch.nn.GELU)", GELU),
    "__import__": ("HERE(__import__('torch.nn').nn.GELU)", GELU),
    "fallback None": ("try:\n    from torch import nn\nexcept ImportError:\n    nn = None\nHERE(nn.GELU)", GELU),
    "None first": ("nn = None\nif FLAG:\n    import torch.nn as nn\nHERE(nn.GELU)", GELU),
    "subclass": ("from torch import nn\nclass A(nn.GELU):\n    '''Doc.'''\n    size = 1\nHERE(A)", GELU),
    "subclass of a subclass": ("from torch import nn\nclass A(nn.GELU): pass\nclass B(A): ...\nHERE(B)", GELU),
    "rebound before": ("nn = fake\nfrom torch import nn\nHERE(nn.GELU)", GELU),
    "rebound after": ("from torch import nn\nHERE(nn.GELU)\nnn = fake", GELU),
    "rebound in the other arm": (
        "from torch import nn\nif FLAG:\n    nn = fake\nelse:\n    HERE(nn.GELU)", GELU),
    "rebound in an elif": (
        "from torch import nn\nif FLAG:\n    nn = fake\nelif MORE:\n    pass\nelse:\n    HERE(nn.GELU)", GELU),
    "rebound in another case": (
        "from torch import nn\nmatch FLAG:\n    case 1:\n        nn = fake\n    case 2:\n        HERE(nn.GELU)", GELU),
    "rebound in the loop, imported before the use": (
        "for _ in x:\n    from torch import nn\n    HERE(nn.GELU)\n    nn = fake", GELU),
    "method, class body binds it": (
        "from torch import nn\nclass A:\n    nn = fake\n    def f(self):\n        HERE(nn.GELU)", GELU),
    "comprehension in a class body": (
        "from torch import nn\nclass A:\n    nn = fake\n    x = [HERE(nn.GELU) for _ in y]", GELU),
    "local of another function": (
        "from torch import nn\ndef f(nn): pass\ndef g():\n    HERE(nn.GELU)", GELU),
    "comprehension variable ends with it": ("from torch import nn\n[nn for nn in x]\nHERE(nn.GELU)", GELU),
    "lambda parameter ends with it": ("from torch import nn\nlambda nn: nn\nHERE(nn.GELU)", GELU),
    "default of a shadowing parameter": ("from torch import nn\ndef f(nn=HERE(nn.GELU)): pass", GELU),
    "first iterable of a comprehension": ("from torch import nn\n[nn for nn in HERE(nn.GELU)]", GELU),
    "alias of itself": ("from torch import nn\nnn = nn\nHERE(nn.GELU)", GELU),
    "alias of its own part": ("import torch\ntorch = torch.nn\nHERE(torch.GELU)", GELU),
    "if expression of two equal arms": ("from torch import nn\nHERE(nn.GELU if FLAG else nn.GELU)", GELU),
    "global, only read": ("from torch import nn\ndef f():\n    global nn\n    HERE(nn.GELU)", GELU),
}  # fmt: skip

UNKNOWN = {
    "never bound": "HERE(nn.GELU)",
    "two stars": "from torch.nn import *\nfrom mine import *\nHERE(GELU)",
    "fallback function": (
        "try:\n    from torch.nn.functional import gelu\nexcept ImportError:\n    def gelu(x): ...\nHERE(gelu)"),
    "parameter": "from torch import nn\ndef f(nn):\n    HERE(nn.GELU)",
    "star parameter": "from torch import nn\ndef f(*nn):\n    HERE(nn.GELU)",
    "keyword-only parameter": "from torch import nn\ndef f(*, nn=None):\n    HERE(nn.GELU)",
    "positional-only parameter": "from torch import nn\ndef f(nn, /):\n    HERE(nn.GELU)",
    "parameter of an outer function": "from torch import nn\ndef f(nn):\n    def g():\n        HERE(nn.GELU)",
    "lambda parameter": "from torch import nn\nlambda nn: HERE(nn.GELU)",
    "local": "from torch import nn\ndef f():\n    nn = fake()\n    HERE(nn.GELU)",
    "local, bound below": "from torch import nn\ndef f():\n    HERE(nn.GELU)\n    nn = fake()",
    "loop variable": "from torch import nn\nfor nn in x:\n    HERE(nn.GELU)",
    "loop variable afterwards": "from torch import nn\nfor nn in x:\n    pass\nHERE(nn.GELU)",
    "comprehension variable": "from torch import nn\n[HERE(nn.GELU) for nn in x]",
    "inner comprehension variable": "from torch import nn\n[HERE(nn.GELU) for y in x for nn in y]",
    "with": "from torch import nn\nwith x as nn:\n    HERE(nn.GELU)",
    "except": "from torch import nn\ntry:\n    pass\nexcept E as nn:\n    HERE(nn.GELU)",
    "except group": "from torch import nn\ntry:\n    pass\nexcept* E as nn:\n    HERE(nn.GELU)",
    "walrus": "from torch import nn\nif (nn := fake):\n    HERE(nn.GELU)",
    "walrus in a comprehension": "from torch import nn\n[(nn := y) for y in x]\nHERE(nn.GELU)",
    "match capture": "from torch import nn\nmatch x:\n    case [nn]:\n        HERE(nn.GELU)",
    "match star": "from torch import nn\nmatch x:\n    case [*nn]:\n        HERE(nn.GELU)",
    "match rest": "from torch import nn\nmatch x:\n    case {**nn}:\n        HERE(nn.GELU)",
    "capture of a case whose guard fails": (
        "from torch import nn\nmatch x:\n    case nn if FLAG: pass\n    case _:\n        HERE(nn.GELU)"),
    "del": "from torch import nn\ndel nn\nHERE(nn.GELU)",
    "augmented": "from torch import nn\nnn += 1\nHERE(nn.GELU)",
    "starred target": "import torch\na, *nn = 1, torch.nn\nHERE(nn.GELU)",
    "function of the name": "from torch import nn\ndef nn(): ...\nHERE(nn.GELU)",
    "class attribute in its body": "from torch import nn\nclass A:\n    nn = fake\n    HERE(nn.GELU)",
    "class attribute bound in one arm": (
        "nn = fake\nclass A:\n    if FLAG:\n        from torch import nn\n    HERE(nn.GELU)"),
    "class attribute seen from a method": "class A:\n    from torch import nn\n    def f(self):\n        HERE(nn.GELU)",
    "rebound in straight line": "from torch import nn\nnn = fake\nHERE(nn.GELU)",
    "rebound in one arm": "from torch import nn\nif FLAG:\n    nn = fake\nHERE(nn.GELU)",
    "rebound later in the loop": "from torch import nn\nfor _ in x:\n    HERE(nn.GELU)\n    nn = fake",
    "rebound in the loop, used in its condition": "from torch import nn\nwhile HERE(nn.GELU):\n    nn = fake",
    "rebound in the other arm inside a loop": (
        "from torch import nn\nfor _ in x:\n    if FLAG:\n        nn = fake\n    else:\n        HERE(nn.GELU)"),
    "rebound in a with that may swallow": "nn = fake\nwith x:\n    from torch import nn\nHERE(nn.GELU)",
    "rebound in a try": "nn = fake\ntry:\n    from torch import nn\nexcept E:\n    pass\nHERE(nn.GELU)",
    "rebound twice in a try": (
        "try:\n    nn = fake\n    from torch import nn\nexcept E:\n    pass\nHERE(nn.GELU)"),
    "rebound after a break": (
        "for _ in x:\n    nn = fake\n    if FLAG: break\n    from torch import nn\nHERE(nn.GELU)"),
    "rebound in the else of a loop": (
        "nn = fake\nfor _ in x:\n    if FLAG: break\nelse:\n    from torch import nn\nHERE(nn.GELU)"),
    "rebound later, seen from a function": "from torch import nn\ndef f():\n    HERE(nn.GELU)\nnn = fake",
    "rebound from something later, seen from a function": (
        "nn = fake\ndef f():\n    HERE(nn.GELU)\nf()\nfrom torch import nn"),
    "rebound later, seen from a generator": "from torch import nn\ng = (HERE(nn.GELU) for _ in x)\nnn = fake",
    "global": "from torch import nn\ndef f():\n    global nn\n    nn = fake\nHERE(nn.GELU)",
    "global, bound again after": (
        "nn = fake\ndef f():\n    global nn\n    nn = fake\nfrom torch import nn\nf()\nHERE(nn.GELU)"),
    "global past a local": (
        "nn = fake\ndef f():\n    from torch import nn\n    def g():\n        global nn\n        HERE(nn.GELU)"),
    "nonlocal": (
        "def f():\n    from torch import nn\n    def g():\n        nonlocal nn\n        nn = fake\n    HERE(nn.GELU)"),
    "nonlocal, two functions out": (
        "def f():\n    from torch import nn\n    def g():\n        def h():\n            nonlocal nn\n"
        "            nn = fake\n        h()\n    g()\n    HERE(nn.GELU)"),
    "if expression with an unknown arm": "from torch import nn\nHERE(nn.GELU if FLAG else fake)",
    "getattr with a default": "from torch import nn\nHERE(getattr(nn, 'GELU', None))",
    "getattr of a variable name": "from torch import nn\nHERE(getattr(nn, name))",
    "getattr that is a method": "from torch import nn\nHERE(x.getattr(nn, 'GELU'))",
    "getattr that is ours": "from torch import nn\ndef getattr(a, b): ...\nHERE(getattr(nn, 'GELU'))",
    "import_module that is ours": "def import_module(x): ...\nHERE(import_module('torch.nn').GELU)",
    "import_module of a variable": "import importlib\nHERE(importlib.import_module(name).GELU)",
    "class with a decorator": "from torch import nn\n@wrap\nclass A(nn.GELU): ...\nHERE(A)",
    "class with a metaclass": "from torch import nn\nclass A(nn.GELU, metaclass=M): ...\nHERE(A)",
    "class with two bases": "from torch import nn\nclass A(Mixin, nn.GELU): ...\nHERE(A)",
    "class with a forward": "from torch import nn\nclass A(nn.GELU):\n    def forward(self, x): ...\nHERE(A)",
    "class with a conditional forward": (
        "from torch import nn\nclass A(nn.GELU):\n    if FLAG:\n        def forward(self, x): ...\nHERE(A)"),
    "class with an assigned forward": "from torch import nn\nclass A(nn.GELU):\n    forward = fake\nHERE(A)",
    "class with an __init__": "from torch import nn\nclass A(nn.GELU):\n    def __init__(self): ...\nHERE(A)",
    "called": "from torch import nn\nact = nn.GELU()\nHERE(act)",
    "subscript": "from torch import nn\nHERE(x[nn.GELU])",
    "cycle": "a = b\nb = a\nHERE(a)",
    "cycle in a loop": "from torch import nn\na = nn\nfor _ in x:\n    b = a\n    a = b.GELU\nHERE(a)",
}  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), KNOWN.values(), ids=KNOWN)
def test_known(code: str, expected: str) -> None:
    compile(code, "m", "exec")
    assert answer(code) == {expected}


@pytest.mark.parametrize("code", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown(code: str) -> None:
    if "except*" not in code or sys.version_info >= (3, 11):
        compile(code, "m", "exec")
    assert answer(code) == set()


def test_import_dunder_gives_the_top_package() -> None:
    assert answer("HERE(__import__('torch.nn').GELU)") == {"torch.GELU"}


def test_relative_imports_keep_their_dots() -> None:
    """So they never equal a public name."""
    assert answer("from .torch import nn\nHERE(nn.GELU)") == {".torch.nn.GELU"}
    assert answer("from . import torch\nHERE(torch.nn.GELU)") == {".torch.nn.GELU"}
    assert answer("from ..a import nn\nHERE(nn.GELU)") == {"..a.nn.GELU"}


def test_two_ways_to_one_callable_are_both_named() -> None:
    code = """
    try:
        from transformers.activations import gelu
    except ImportError:
        from torch.nn.functional import gelu
    HERE(gelu)
    """
    assert answer(code) == {"transformers.activations.gelu", FUNCTION}
    assert answer("from torch import nn\nHERE(nn.GELU if x else nn.SiLU)") == {GELU, "torch.nn.SiLU"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch.nn.functional as F\nF.gelu = mine", {FUNCTION}),
        ("import torch.nn.functional as F\ndef f():\n    F.gelu = mine", {FUNCTION}),
        ("import torch.nn.functional as F\nF.gelu, x = mine, 1", {FUNCTION}),
        ("import torch.nn.functional as F\nfor F.gelu in x: pass", {FUNCTION}),
        ("import torch.nn.functional as F\ndel F.gelu", {FUNCTION}),
        ("import torch\nsetattr(torch.nn, 'GELU', mine)", {GELU}),
        ("import torch\ndef test(monkeypatch):\n    monkeypatch.setattr(torch.nn, 'GELU', mine)", {GELU}),
        ("import torch\ntorch.nn.GELU.forward = mine", {GELU, GELU + ".forward"}),
        ("import torch\nself.gelu = torch.nn.GELU", set()),
        ("import torch\nsetattr(self, name, torch.nn.GELU)", set()),
    ],
)
def test_patched(code: str, expected: set[str]) -> None:
    assert Names(parse(code)).patched == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("A = 'tanh'\nHERE(A)", "tanh"),
        ("A = 'tanh'\ndef f():\n    HERE(A)", "tanh"),
        ("A = 'tanh'\nB = A\nHERE(B)", "tanh"),
        ("A, B = 1, 'tanh'\nHERE(B)", "tanh"),
        ("A = True\nHERE(A)", True),
        ("A = None\nHERE(A)", None),
        ("A = -1.5\nHERE(A)", -1.5),
        ("class C:\n    A = 'tanh'\n    HERE(A)", "tanh"),
    ],
)
def test_constant(code: str, expected: object) -> None:
    assert marks(code).constants == [(True, expected)]


@pytest.mark.parametrize(
    "code",
    [
        "A = 'tanh'\nA = 'none'\ndef f(A): HERE(A)",
        "A = 'tanh'\nif FLAG: A = 'none'\nHERE(A)",
        "A = 'tanh'\ndef f(): HERE(A)\nA = 'none'",
        "A = 'tanh'\nA += 'x'\nHERE(A)",
        "A = 'tanh'\ndef f():\n    global A\n    A = 'none'\nHERE(A)",
        "A = 'none'\nclass C:\n    if FLAG: A = 'tanh'\n    HERE(A)",
        "for A in 'tanh', 'none': HERE(A)",
        "A = f'tanh'\nHERE(A)",
        "A = b'tanh'\nHERE(A)",
        "A = B\nB = A\nHERE(A)",
    ],
)
def test_no_constant(code: str) -> None:
    assert marks(code).constants == [(False, None)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import functools\n", {"functools": "functools"}),
        ("from functools import partial\nx = partial\ndef f(): ...", {"partial": "functools.partial"}),
        ("import a.b\nimport a.c", {"a": "a"}),
        ("import logging\nlog = logging.x()\nimport functools", {"logging": "logging", "functools": "functools"}),
        ("import functools\nif X:\n    import functools", {"functools": "functools"}),
        ("if X:\n    import functools", {}),
        ("try:\n    import functools\nexcept ImportError: ...", {}),
        ("import functools\ndel functools", {}),
        ("import functools\ndef f(functools): ...", {}),
        ("import functools\ndef f():\n    global functools\n    functools = 1", {}),
        ("from functools import partial\nfrom mine import partial", {}),
        ("def f(): ...\nimport functools", {}),
        ("act = nn.GELU\nimport functools", {}),
        ("class A: ...\nimport functools", {}),
    ],
)
def test_at_hand(code: str, expected: dict[str, str]) -> None:
    """Names that a fix may use anywhere; all others are taken."""
    names = Names(parse(code))
    assert names.at_hand() == expected
    assert names.taken == names.bound() - set(expected)


def test_long_chains_and_many_rebindings_are_bounded() -> None:
    """Deep aliases are unknown rather than a deep recursion; nothing here is exponential, or it would not end."""
    chain = "".join(f"a{n + 1} = a{n}\n" for n in range(2000))
    assert answer(f"from torch.nn import GELU as a0\n{chain}HERE(a2000)") == set()
    assert answer(f"from torch.nn import GELU as a0\n{chain}HERE(a10)") == {GELU}
    forks = "".join(f"b{n + 1} = b{n} if X else b{n}\n" for n in range(2000))
    assert answer(f"from torch.nn import GELU as b0\n{forks}HERE(b2000)") == set()
    for number, known in ((90, {GELU}), (1000, set())):
        rebound = "".join(f"if X{n}:\n    G = nn.GELU\n" for n in range(number))
        many = marks(f"from torch import nn\n{rebound}" + "HERE(G)\n" * number).answers
        assert many == [frozenset(known)] * number
    looped = "".join(f"    G = nn.GELU\n    if X{n}: G = G\n" for n in range(250))
    assert answer(f"from torch import nn\nG = nn.GELU\nfor _ in x:\n{looped}\nHERE(G)") in ({GELU}, set())


# --- The independent truth: random programs are run, and no claim may be wrong. -----------------------------------


class Fake:
    """A module, class or function that knows its public name; its attributes are more of its kind."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Fake:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        made = Fake(f"{self.name}.{attribute}")
        setattr(self, attribute, made)
        return made


class Boom(Exception):
    pass


class Swallow:
    def __enter__(self) -> Fake:
        return Fake("?")

    def __exit__(self, *error: object) -> bool:
        return error[0] is Boom


class Program:
    """Random statements over three names. ``text`` runs with ``coin``, ``boom``, ``swallow`` and ``HERE`` given."""

    NAMES = ("a", "b", "c")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.asked = self.functions = 0
        self.left = 30
        top = ["import one as a", "import two.x as b", "c = b.f"]
        self.text = "\n".join(top + self.block(0, False, "module")) + "\n"

    def name(self) -> str:
        return self.random.choice(self.NAMES)

    def value(self) -> str:
        name = self.name
        choices = (name(), name(), f"{name()}.f", f"{name()}.x", "None", "other()", f"{name()} if coin() else {name()}",
                   f"getattr({name()}, 'f')", "importlib.import_module('two.x')", "__import__('two.x')")  # fmt: skip
        return self.random.choice(choices)

    def ask(self) -> str:
        self.asked += 1
        return f"HERE({self.random.choice((self.name(), self.name() + '.f'))}, {self.asked - 1})"

    def block(self, depth: int, loop: bool, scope: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 5 if depth else 8)):
            self.left -= 1
            if self.left < 0:
                break
            lines += self.statement(depth, loop, scope)
        return lines or ["pass"]

    def inner(self, head: str, depth: int, loop: bool, scope: str) -> list[str]:
        return [head, *("    " + line for line in self.block(depth + 1, loop, scope))]

    def statement(self, depth: int, loop: bool, scope: str) -> list[str]:
        pick, name = self.random.choice, self.name
        simple = [
            lambda: [self.ask()],
            lambda: [self.ask()],
            lambda: [f"{name()} = {self.value()}"],
            lambda: [f"{name()} = {self.value()}"],
            lambda: [f"{name()}, {name()} = {self.value()}, {self.value()}"],
            lambda: [pick(("import one as {}", "import two.x as {}", "from one import f as {}")).format(name())],
            lambda: [f"coin() and ({name()} := {self.value()})"],
            lambda: [f"[{self.ask()} for {name()} in (other(), None)]"],
            lambda: [f"(lambda {name()}: {self.ask()})(other())"],
            lambda: [f"del {name()}"] if pick((0, 0, 1)) else ["boom()"],
            lambda: [f"later = ({self.ask()} for _ in 'xy')"] if scope != "class" else ["pass"],
            lambda: ["for _ in later: pass"],
            lambda: ["if coin(): " + pick(("break", "continue"))] if loop else ["boom()"],
            lambda: ["if coin(): return"] if scope == "function" else ["boom()"],
            lambda: [f"f{self.random.randrange(self.functions)}()"] if self.functions else [self.ask()],
            lambda: [f"[({name()} := other()) for _ in 'x']"] if scope != "class" else [self.ask()],
        ]
        compound = [
            lambda: [*self.inner("if coin():", depth, loop, scope), *self.inner("else:", depth, loop, scope)],
            lambda: self.inner("if coin():", depth, loop, scope),
            lambda: (
                self.inner(f"for {pick(('_', name()))} in (other(), None):", depth, True, scope)
                + (self.inner("else:", depth, loop, scope) if pick((0, 1)) else [])
            ),
            lambda: self.inner(f"while {pick(('', self.ask() + ' or '))}coin():", depth, True, scope),
            lambda: [
                *self.inner("try:", depth, loop, scope),
                *self.inner(f"except Boom{pick(('', ' as ' + name()))}:", depth, loop, scope),
                *(self.inner("else:", depth, loop, scope) if pick((0, 1)) else []),
                *(self.inner("finally:", depth, False, "module") if pick((0, 1)) else []),
            ],
            lambda: self.inner(f"with swallow(){pick(('', ' as ' + name()))}:", depth, loop, scope),
            lambda: [
                "match coin():",
                *("    " + s for s in self.inner(f"case {name()} if coin():", depth, loop, scope)),
                *("    " + s for s in self.inner("case 1:", depth, loop, scope)),
                *("    " + s for s in self.inner("case _:", depth, loop, scope)),
            ],
            lambda: self.inner("class Inner:", depth, False, "class"),
            lambda: self.function(depth, scope),
            lambda: self.function(depth, scope),
        ]
        return pick(compound if depth < 3 and pick((0, 0, 1)) else simple)()

    def function(self, depth: int, scope: str) -> list[str]:
        number = self.functions
        parameter = self.random.choice(("", "", f"{self.name()}=None"))
        declared = self.random.choice(("", "", "global", "nonlocal" if scope == "function" else "global"))
        free = [name for name in self.NAMES if name not in parameter]
        lines = self.inner(f"def f{number}({parameter}):", depth, False, "function")
        if declared:
            lines.insert(1, f"    {declared} {self.random.choice(free)}")
        self.functions += 1
        return [*lines, f"f{number}()"]


def run(program: str, coins: random.Random) -> list[tuple[int, object]]:
    """Run it up to its end or first error; what HERE saw."""
    seen: list[tuple[int, object]] = []
    flips = 60

    def coin() -> bool:
        nonlocal flips
        flips -= 1
        return flips > 0 and coins.random() < 0.5

    def boom() -> None:
        if coin():
            raise Boom

    def here(value: object, mark: int) -> None:
        seen.append((mark, value))

    given = {
        "coin": coin, "boom": boom, "swallow": Swallow, "Boom": Boom, "HERE": here, "other": lambda: Fake("?"),
        "later": (), "importlib": __import__("importlib"),
    }  # fmt: skip
    try:
        exec(compile("import importlib\n" + program, "program", "exec"), given)
    except (Boom, NameError, AttributeError, TypeError, RecursionError):
        pass
    return seen


def check_program(seed: int) -> int:
    """Every claim about a random program holds in three runs; the number of claims that were put to the test."""
    program = Program(seed).text
    try:
        compile(program, "program", "exec")
    except SyntaxError:  # a name both local and nonlocal, and the like
        return 0
    fakes = {name: Fake(name) for name in ("one", "two")}
    found = marks("import importlib\n" + program)
    claims = dict(zip(found.numbers, found.answers, strict=True))
    tested = 0
    saved = {name: sys.modules.pop(name, None) for name in ("one", "two", "two.x")}
    try:
        sys.modules.update({**fakes, "two.x": fakes["two"].x})
        for flips in range(3):
            for mark, value in run(program, random.Random(flips)):
                if claims[mark] and value is not None:
                    assert getattr(value, "name", value) in claims[mark], f"{mark} in\n{program}"
                    tested += 1
    finally:
        for name, module in saved.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
    return tested


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_no_claim_is_wrong_in_programs_that_really_run(seed: int) -> None:
    check_program(seed)


def test_random_programs_put_claims_to_the_test() -> None:
    """The test above would be empty if nothing were ever claimed."""
    assert sum(check_program(seed) for seed in range(60)) > 60
