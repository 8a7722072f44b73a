"""Which rules run: prefixes, the longest wins, and opt-in rules only where somebody named them."""

from __future__ import annotations

import pytest

from gelu_lint import registry
from gelu_lint.registry import all_codes, all_rules, enabled, rule

REAL = tuple(r.code for r in all_rules())


@pytest.fixture
def with_an_opt_in_rule(monkeypatch: pytest.MonkeyPatch) -> str:
    shy = all_rules()[0]._replace(code="GEL299", name="shy", opt_in=True)
    rules = (*all_rules(), shy)
    monkeypatch.setattr(registry, "all_rules", lambda: rules)
    return shy.code


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "runs"),
    [
        ((), (), (), False),
        (("GEL",), (), (), True),
        (("GEL2",), (), (), True),
        ((), ("GEL299",), (), True),
        (("GEL0",), ("GEL2",), (), True),
        (("GEL",), (), ("GEL2",), False),
        (("GEL299",), (), ("GEL2",), True),
        ((), ("GEL2",), ("GEL2",), False),  # a tie: ignore wins
        (("GEL001",), (), (), False),
    ],
)
def test_an_opt_in_rule_runs_where_it_was_named(
    with_an_opt_in_rule: str, select: tuple[str, ...], extend: tuple[str, ...], ignore: tuple[str, ...], runs: bool
) -> None:
    assert (with_an_opt_in_rule in enabled(select, extend, ignore)) is runs


def test_everything_else_runs_unless_ignored() -> None:
    usual = tuple(rule.code for rule in all_rules() if not rule.opt_in)
    assert enabled((), (), ()) == usual
    assert set(REAL) - set(usual) == {"GEL004", "GEL023", "GEL033", "GEL201", "GEL301", "GEL501"}
    assert enabled((), (), ("GEL0",)) == tuple(code for code in usual if not code.startswith("GEL0"))
    assert enabled(("GEL001",), ("GEL9",), ("GEL90",)) == ("GEL001",)


def test_codes_are_known_without_the_rules() -> None:
    assert all_codes() == REAL


def test_rules_go_by_code_or_name() -> None:
    assert rule("gel001") is rule("implicit-approximate") is all_rules()[0]
    assert rule("GEL999") is None
