"""What a function or class does with a name, against one pattern for each name."""

from __future__ import annotations

import random
import re

import pytest

from gelu_lint.lines import code
from gelu_lint.sites.blocks import Block, Line

NAMES = ("approximate", "act", "approx", "_act", "x")
LINES = (
    *("self.A = A", "self._A = A", "self.A: str = B", "self.B = A; y = A", "self.A = self.B = A", "self.A, y = A, 1"),
    *("A = 'tanh'", 'A: str = "none"', "self.A = 'tanh'  # A", "self._A = -1.5", "A = A or 'none'", "A, B = 1, 2"),
    *("x.A = B", "y = x.A.B", "y = x . A", "y = f(self.\n  A)", "f(A=B)", "f(A = A)", "A == B", "self.A == A", "del A"),
    *("y = self.A(x)", "y = self.A . forward(x)", "y = self.A.forward (x)", "A(x)", "x.A(x)", "notself.A(x)", "A.B(x)"),
    *("getattr(self, 'A')", "'A'", "'''A'''", "f'{self.A}'", "f'{A}'", "# A", "(A := 'tanh')", "A += 'x'", "xA = Ax"),
    *("def A(self): return self.B", "def __repr__(self):", "def run(self, A=1):", "__slots__ = ('A',)", "éA = Aé(x)"),
)


def lines(seed: int) -> list[tuple[int, str]]:
    """The lines of a block, with how far each is indented."""
    rng = random.Random(seed)
    found = []
    for _ in range(rng.randint(1, 6)):
        indent = rng.choice((4, 4, 4, 8))
        text = re.sub("[AB]", lambda _: rng.choice(NAMES), rng.choice(LINES))
        if rng.random() < 0.2:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice((" ", ".", "=", "(", "\n", "_", "'", "#", "self.", "\\\n")) + text[at:]
        found.append((indent, " " * indent + text + rng.choice(("\n", "\n", "\r\n"))))
    return found


@pytest.mark.parametrize("start", range(0, 1500, 250))
def test_names_are_told_as_by_patterns(start: int) -> None:
    for seed in range(start, start + 250):
        rows = lines(seed)
        texts = [text for _, text in rows]
        block = Block(Line(1, 0, "def f():\n"), (1, 9), texts, [indent for indent, _ in rows], range(2, 2 + len(rows)))
        plain = [code(text) for text in texts]
        base = min(indent for indent, _ in rows)
        for name in NAMES:
            free, value = rf"(?<![\w.]){name}\b", r"\s*(?::[^=]+)?=(?!=)"
            loading = re.compile(rf"{free}(?!\s*=(?!=))")
            starts = [re.match(rf"\s*{name}{value}", text) for text in plain]
            loads = [bool(loading.search(t, s.end() if s else 0)) for t, s in zip(plain, starts, strict=True)]
            assert [line.text for line in block.loads(name)] == [
                t for t, held in zip(texts, loads, strict=True) if held
            ]
            assert block.calls(name) == any(re.search(rf"{free}\s*\(", text) for text in plain)
            called = r"\s*(?:\.forward\s*)?\("
            assert block.runs(name) == any(re.search(free + called, text) for text in plain)
            assert block.runs(f".{name}") == any(re.search(rf"(?<!\w)self\.{name}{called}", text) for text in plain)
            stores = [
                re.match(rf"\s*self\.(\w+){value}[^;]*$", t) for t, held in zip(plain, loads, strict=True) if held
            ]
            assert block.stores(name) == ([held[1] for held in stores if held] if all(stores) else [])
            if not any(loads):
                literal = r"""(?:"[^"\\\n]*"|'[^'\\\n]*'|-?\d[\w.]*)\s*(?:#.*)?$"""
                sets = re.compile(rf"\s*((?:self\._?)?(?:{name}|approx\w*)){value}\s*{literal}")
                found = [sets.match(text) for indent, text in rows if indent == base]
                assert block.overwrites(name, "approx")[0] == next((held[1] for held in found if held), "")
