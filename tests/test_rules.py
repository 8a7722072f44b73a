"""Every rule keeps the promises of its own file: positions, fixes, deltas, silence, suppression, evidence, docs."""

from __future__ import annotations

import base64
import io
import re
import tempfile
import tokenize
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtr

from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import apply, fix
from gelu_lint.kinds import kind_of, matters
from gelu_lint.links import Modules, arrivals, settled
from gelu_lint.model import Arrival, Finding, Project, Requirement, Settings
from gelu_lint.options import FLAVOURS_OF_POLICY
from gelu_lint.projects import reach_of
from gelu_lint.registry import all_rules, enabled
from gelu_lint.requirements import requirements
from gelu_lint.rule import Example, Rule
from gelu_lint.source import Source
from gelu_lint.source import decode as decode_bytes
from gelu_lint.takers import settings_in, with_takers
from gelu_lint.training import with_training

RULES = all_rules()
CODES = enabled(("GEL",), (), ())
BAD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.examples) if e.at]
GOOD = [pytest.param(r, e, id=f"{r.code}-{i}") for r in RULES for i, e in enumerate(r.examples) if not e.at]
FIXED = [p for p in BAD if p.values[1].fixed is not None]
PYTHON = [p for p in BAD if p.values[1].name.endswith(".py")]
TEXT = [p for p in BAD if not p.values[1].name.endswith(".onnx")]

#: Independent references of the flavours, in float64.
REFERENCE = {
    "erf": lambda x: x * ndtr(x),
    "tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "quick": lambda x: x * expit(1.702 * x),
}


_ANCHORS = ("README.md", "README.rst", "pyproject.toml")


def project(example: Example, code: str) -> Project:
    """The project that an example's options and dependencies describe (a small reading of its own), and its files."""
    declared = []
    for text in example.dependencies:
        name, sign, version = re.fullmatch(r"(\w+)(>=|<)([\d.]+)", text).groups()
        bound = tuple(int(part) for part in version.split("."))
        declared.append((name, bound, None, True) if sign == ">=" else (name, None, bound, True))
    policy = FLAVOURS_OF_POLICY.get(dict(example.options).get("approximate", ""), "")
    names = sorted((example.name, *dict(example.beside)), key=lambda name: not name.startswith("README"))
    anchors = [(name.removesuffix(".md").removesuffix(".rst"), name) for name in names if name in _ANCHORS]
    return Project(policy, tuple(declared), tuple(anchors), required(example, code))


def required(example: Example, code: str) -> tuple[Requirement, ...]:
    """Where the files of an example say which torch it takes."""
    files = {example.name: code, **dict(example.beside)}
    with tempfile.TemporaryDirectory() as root:
        for name in files:
            if kind_of(name) == "declarations":
                Path(root, name).write_bytes(files[name].encode())
        return requirements(root, "torch")


def data_of(name: str, text: str) -> bytes:
    """The bytes of a file of an example: what is no text stands there in base64."""
    return base64.b64decode(text) if name.endswith(".onnx") else text.encode()


def decode(name: str, text: str) -> Source:
    return decode_bytes(name, data_of(name, text))


def found_settings(path: str, text: str, name: str) -> Settings | None:
    source = decode(path, text)
    found = settings_in(source.text, source.rows, name)
    return found._replace(path=path) if found is not None else None


def beside(code: str, example: Example) -> tuple[tuple[Arrival, ...], list[Finding] | None]:
    """What the other files of an example have to do with the one that holds ``code``."""
    if not example.beside:
        return (), None
    files = {example.name: code, **dict(example.beside)}
    modules = Modules(files)
    summaries = {name: with_training(summarise(decode(name, text)), text) for name, text in files.items()}
    summaries = {
        name: with_takers(summary, source.text, source.rows)
        for name, summary in summaries.items()
        if (source := decode(name, files[name]))
    }
    summaries = {
        name: settled(
            name, summary, modules, lambda home, wanted: found_settings(home, files[home], wanted), lambda _: ()
        )
        for name, summary in summaries.items()
    }
    contexts = [(name, c._replace(path=name)) for name, summary in summaries.items() for c in summary.contexts]
    led = arrivals(contexts, modules, lambda name: reach_of(name, files[name].encode()))
    # What asks for more than most projects have is asked of its own examples alone.
    rules = [rule for rule in RULES if rule.across is not None and (not rule.opt_in or example in rule.examples)]
    seen = [summaries[name] for name in sorted(summaries)]
    said = [finding for rule in rules for finding in rule.across(seen, project(example, code))]
    return led.get(example.name, ()), [finding for finding in said if finding.path == example.name]


def lint(code: str, example: Example, codes: tuple[str, ...] = CODES) -> list[Finding]:
    led, said = beside(code, example)
    summary = summarise(decode(example.name, code), arrivals=led)
    return judge(summary, project(example, code), codes, across=said)


def places(findings: list[Finding], code: str) -> tuple[str, ...]:
    return tuple(f"{f.span.row}:{f.span.column + 1}" for f in findings if f.code == code)


def mend(code: str, rule: Rule, example: Example) -> str:
    codes = CODES if rule.late else (rule.code,)  # unused suppressions are judged by what else ran
    source = decode(example.name, code)
    return fix(source, project(example, code), codes, 0.0, rule.code < "GEL900", *beside(code, example)).text


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_reports_exactly_there(rule: Rule, example: Example) -> None:
    found = lint(example.code, example)
    assert places(found, rule.code) == example.at
    implied = {"GEL001"} if rule.code == "GEL031" else set()  # about implicit GELUs, each of which GEL001 reports
    assert {f.code for f in found} - implied == {rule.code}, "an example shows one mistake"


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_is_silent_under_all_rules(rule: Rule, example: Example) -> None:
    assert lint(example.code, example) == []


@pytest.mark.parametrize(("rule", "example"), [p for p in BAD if kind_of(p.values[1].name) != "declarations"])
def test_bad_passes_the_screen(rule: Rule, example: Example) -> None:
    assert matters(example.name, data_of(example.name, example.code))


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_fixed_is_given_exactly_where_a_fix_exists(rule: Rule, example: Example) -> None:
    fixes = [f.fix for f in lint(example.code, example) if f.code == rule.code]
    assert all((f is not None) == (example.fixed is not None) for f in fixes)
    for found in fixes:
        if found is not None:
            assert found.reach == example.reach
            assert (found.delta is None) == (example.delta is None)
            if found.delta is not None:
                assert found.delta == pytest.approx(example.delta, rel=2e-3)


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_fix_writes_what_the_example_shows(rule: Rule, example: Example) -> None:
    assert mend(example.code, rule, example) == example.fixed
    assert example.fixed != example.code


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_fixed_text_parses_is_clean_and_stable(rule: Rule, example: Example) -> None:
    if example.name.endswith(".py"):
        compile(example.fixed, example.name, "exec")
    assert places(lint(example.fixed, example), rule.code) == ()
    assert mend(example.fixed, rule, example) == example.fixed


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_a_fix_makes_no_new_finding(rule: Rule, example: Example) -> None:
    before = {f.code for f in lint(example.code, example)}
    if rule.code == "GEL021":
        before.add("GEL020")  # which is about built-ins, and asks for another flavour than the formula had
    assert {f.code for f in lint(example.fixed, example)} <= before - {rule.code}


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_edits_of_one_finding_are_complete(rule: Rule, example: Example) -> None:
    """What JSON hands to an editor, imports included, gives the fixed text when applied alone."""
    source = decode(example.name, example.code)
    findings = lint(example.code, example)
    if len(findings) == 1:
        wanted = findings[0].fix
        assert apply(source, (*wanted.imports, *wanted.edits)) == example.fixed


@pytest.mark.parametrize(("rule", "example"), [p for p in FIXED if p in PYTHON])
def test_fix_keeps_comments(rule: Rule, example: Example) -> None:
    def comments(code: str) -> list[str]:
        tokens = tokenize.generate_tokens(io.StringIO(code).readline)
        return [t.string for t in tokens if t.type == tokenize.COMMENT and "GEL" not in t.string]

    code = "".join(f"{line}  # kept {n}\n" if line else "\n" for n, line in enumerate(example.code.splitlines()))
    if "GEL" in example.code or "noqa" in example.code:
        code = example.code
    kept = comments(mend(code, rule, example))
    assert [c for c in comments(code) if c not in kept] == []


#: Rules about formulas: their examples are run.
TYPED = tuple(f"GEL0{number}" for number in (*range(10, 20), *range(21, 24)))
#: These say what a layer computes, not what its activation is: tests/test_layers.py runs them.
LAYERS = ("GEL030", "GEL034")
BY_FLAVOUR = [p for p in FIXED if p.values[0].code not in (*TYPED, *LAYERS) and p in PYTHON]
BY_RUNNING = [p for p in FIXED if p.values[0].code in TYPED and "import t" in p.values[1].code]


@pytest.mark.parametrize(("rule", "example"), BY_FLAVOUR)
def test_delta_is_what_the_values_change_by(rule: Rule, example: Example) -> None:
    """Recomputed from the flavours before and after with SciPy; code that raises before changes nothing."""
    x = np.linspace(-12, 12, 240_001)
    before = summarise(decode(example.name, example.code)).sites
    after = summarise(decode(example.name, example.fixed)).sites
    changes = [
        np.abs(REFERENCE[new.flavour](x) - REFERENCE[old.flavour](x)).max()
        for old, new in zip(before, after, strict=False)
        if old.flavour in REFERENCE and new.flavour in REFERENCE
    ]
    assert max(changes, default=0.0) == pytest.approx(example.delta, abs=1e-6)


def functions(code: str) -> dict[str, object]:
    """The activations that a file of an example defines, as functions of one tensor."""
    space: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "example.py", "exec"), space)
    found: dict[str, object] = {}
    for name, item in list(space.items()):
        if isinstance(item, type) and getattr(item, "__module__", "") == "example":
            held = item()
            found[name] = getattr(held, "gelu", None) or held.forward
        elif callable(item) and getattr(item, "__code__", None) is not None and item.__code__.co_argcount == 1:
            found[name] = item
    return found


@pytest.mark.parametrize(("rule", "example"), BY_RUNNING)
def test_delta_is_what_running_both_gives(rule: Rule, example: Example) -> None:
    """Both versions are run in float64 on [-12, 12]; where no bound is stated the change is seen to grow."""
    torch = pytest.importorskip("torch")
    if "tensorflow" in example.code:
        pytest.importorskip("tensorflow")
    low = -4 if rule.code == "GEL023" else -12  # where the tail is lost, that is the change
    x = torch.linspace(low, 12, 240_001, dtype=torch.float64)
    old, new = functions(example.code), functions(example.fixed)
    names = [name for name in old if "step" not in name and "build" not in name]
    assert names and old.keys() == new.keys()
    gap = max((new[name](x) - old[name](x)).abs().max().item() for name in names)
    if example.delta is None:
        assert gap > 1
    elif example.delta <= 1e-6:
        assert gap <= 1e-6
    else:
        assert 0.9 * example.delta <= gap <= example.delta * (1 + 1e-3)


@pytest.mark.parametrize(("rule", "example"), [p for p in PYTHON if p.values[0].code < "GEL900"])
@pytest.mark.parametrize("comment", ["  # noqa: {}", "  # noqa", "  # gelu-lint: ignore[{}] on purpose"])
def test_suppression_works_on_its_line(rule: Rule, example: Example, comment: str) -> None:
    lines = example.code.splitlines()
    for finding in lint(example.code, example, (rule.code,)):
        row = finding.noqa_row if "noqa" in comment else finding.statement[1]
        if finding.noqa_row == finding.span.row:
            lines[row - 1] += comment.format(rule.code)
    left = lint("\n".join(lines) + "\n", example, (rule.code, "GEL901", "GEL902"))
    assert left == []


@pytest.mark.parametrize(("rule", "example"), TEXT)
def test_crlf_and_bom_change_nothing(rule: Rule, example: Example) -> None:
    data = b"\xef\xbb\xbf" + example.code.replace("\n", "\r\n").encode()
    source = decode_bytes(example.name, data)
    led, said = beside(source.text, example)
    known = project(example, example.code)
    assert places(judge(summarise(source, arrivals=led), known, CODES, across=said), rule.code) == example.at
    if example.fixed is not None:
        codes = CODES if rule.late else (rule.code,)
        result = fix(source, known, codes, 0.0, rule.code < "GEL900", led, said)
        assert source.encode(result.text) == b"\xef\xbb\xbf" + example.fixed.replace("\n", "\r\n").encode()


@pytest.mark.parametrize(("rule", "example"), PYTHON)
def test_tabs_change_columns_only(rule: Rule, example: Example) -> None:
    code = example.code.replace("    ", "\t")
    rows = [place.split(":")[0] for place in places(lint(code, example), rule.code)]
    assert rows == [place.split(":")[0] for place in example.at]
    if example.fixed is not None:
        assert mend(code, rule, example) == example.fixed.replace("    ", "\t")


def first_statement(example: Example) -> int:
    """The index of the first row that is no import."""
    lines = example.code.splitlines()
    return next(i for i, line in enumerate(lines) if line and not line.startswith(("import", "from")))


def below_imports(example: Example) -> bool:
    return all(int(place.split(":")[0]) > first_statement(example) for place in example.at)


@pytest.mark.parametrize(
    ("rule", "example"), [p for p in PYTHON if p.values[0].code != "GEL900" and below_imports(p.values[1])]
)
@pytest.mark.parametrize("head", ["class Holder:", "if FLAG:", "def outer():", "for _ in range(3):"])
def test_holds_inside_a_block(rule: Rule, example: Example, head: str) -> None:
    """Imports stay where they are; the rest is indented under ``head``."""
    if example.beside and head.startswith(("class", "def")):
        pytest.skip("other files import what it defines")
    if rule.code == "GEL301" and head.startswith("for"):
        pytest.skip("it reports the outermost loop that trains, which is then this one")
    lines, first = example.code.splitlines(), first_statement(example)
    body = [f"    {line}" if line else "" for line in lines[first:]]
    moved = [f"{int(row) + 1}:{int(column) + 4}" for row, column in (place.split(":") for place in example.at)]
    code = "\n".join([*lines[:first], head, *body]) + "\n"
    assert places(lint(code, example), rule.code) == tuple(moved)


@pytest.mark.parametrize("rule", [r for r in RULES if not r.late], ids=lambda r: r.code)
def test_evidence(rule: Rule) -> None:
    """Every rule has one, but those about suppressions: there the harm is in no framework."""
    assert rule.evidence.__module__ == rule.check.__module__, "it is the rule's own"
    rule.evidence()


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_rule_file_is_complete(rule: Rule) -> None:
    sections = re.findall(r"^## (.+)$", rule.doc, re.M)
    assert sections == ["What it does", "Why is this bad", "Fix safety"]
    assert re.fullmatch(r"GEL\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", rule.name)
    codes = [e.name + e.code + str(e.options) + str(e.dependencies) + str(e.beside) for e in rule.examples]
    assert len(codes) == len(set(codes)), "duplicate example"
    assert sum(bool(e.at) for e in rule.examples) >= 2, "two bad examples at least"
    assert sum(not e.at for e in rule.examples) >= 2, "two good examples at least"
    module = __import__(rule.check.__module__, fromlist=["RULE"])
    assert module.__name__.rpartition(".")[2] == f"{rule.code}_{rule.name}".lower().replace("-", "_")


def test_codes_and_names_are_unique() -> None:
    assert len({r.code for r in RULES}) == len(RULES) == len({r.name for r in RULES})
