"""An ONNX file of the project whose GELUs are not those of its code, or are no Gelu nodes.

## What it does
In a run over a whole project, reads its .onnx files (with the extra `[onnx]`; without it one note says so and nothing
else changes) and tells which functions their GELUs are: by the operator (`Gelu`, ONNX Runtime's `FastGelu`, `QuickGelu`
and kin), and where a GELU is decomposed by the values of the nodes around its Erf, Tanh, Sigmoid or Exp, whatever their
layout. Weights are not read. Where all GELUs of the code, tests and references left out, are of one flavour, it
reports a file whose GELUs are all of others; and, as info, one whose GELUs are of that flavour and decomposed. It is
silent where the code has several flavours or one that only the run decides, and where its settings name others.

## Why is this bad
What is deployed computes another function than what was trained and tested: the file is older than the code, was
exported from other settings, or an optimiser approximated it (with `optimization.enable_gelu_approximation` ONNX
Runtime itself does). The flavours are 4.7e-4 apart, quick GELU 2.0e-2, in each layer. A decomposed GELU computes the
same; which one it is only its constants tell, and whether it is fused again depends on the layout (see GEL401).

## Fix safety
There is no fix: export the model again, at opset 20 or above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.facts.activation_names import NAMES
from gelu_lint.model import FileSummary, Finding, Project, Site
from gelu_lint.numerics.flavours import FLAVOURS, between
from gelu_lint.roles import is_backward, is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report

_SPELLINGS = ("call", "reference", "formula", "string")
#: Forms that use no GELU, or but derive from one.
_NO_USE = ("import", "backward", "base")
#: Differences from here on are errors.
_FAR = 1e-3
_OPSET = 20


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    graphs = [file for file in files if any(site.spelling == "graph" for site in file.sites)]
    used = [(file, site) for file in files for site in file.sites if _is_used(file, site)] if graphs else []
    flavours = {site.flavour for _, site in used}
    flavours.update(NAMES[str(entry.value)] for file in files for entry in file.entries if str(entry.value) in NAMES)
    flavour = flavours.pop() if len(flavours) == 1 else ""
    if not used or flavour not in FLAVOURS:
        return
    code, first = used[0]
    for file in graphs:
        found = None if is_test(file.place) else _judged(file, flavour, f"{code.path}:{first.span.row}")
        if found is not None:
            yield found._replace(related=((code.path, first.span, f"{flavour} in the code"),))


def _is_used(file: FileSummary, site: Site) -> bool:
    """Whether a site is a GELU that the code of the project uses."""
    if site.spelling not in _SPELLINGS or site.form in _NO_USE or is_test(file.place, site.symbol):
        return False
    return not (is_reference(site.symbol, site.key) or is_mock(site.symbol) or is_backward(site.symbol))


def _judged(file: FileSummary, flavour: str, where: str) -> Finding | None:
    """What is to be said of a graph where the code is of one flavour."""
    gelus = [site for site in file.sites if site.spelling == "graph"]
    others = [site for site in gelus if site.flavour not in (flavour, "unknown")]
    if len(others) == len(gelus):
        first = others[0]
        gap = _gap(first, flavour)
        apart = f"up to {gap:.3g} apart" if gap is not None else "without a bound on their difference"
        message = (
            f"{_count(gelus)} of this graph {_is(gelus)} {_named(first)} ({_at(first)}), the code is {flavour} "
            f"({where}): {apart}"
        )
        severity = "warning" if gap is not None and gap < _FAR else "error"
        return report("GEL402", file, first, message, severity, error=gap, claimed=flavour)
    chains = [site for site in gelus if site.form == "chain"]
    if others or len(chains) < len(gelus):
        return None
    first = chains[0]
    opset = first.value if isinstance(first.value, int) else 0
    why = f"opset {opset} has no Gelu operator" if opset < _OPSET else f"no Gelu node, although opset {opset} has one"
    message = f"{_count(gelus)} of this graph {_is(gelus)} decomposed ({first.written}; {_at(first)}): {why}"
    return report("GEL402", file, first, message, "info", claimed=flavour)


def _gap(site: Site, flavour: str) -> float | None:
    """How far a GELU is from a flavour at most, None without bound."""
    if site.flavour in FLAVOURS:
        return between(site.flavour, flavour).size
    return site.formula.delta(flavour) if site.formula is not None else None


def _named(site: Site) -> str:
    known = site.formula
    return f"nearly {known.nearest} ({known.why})" if known is not None else site.flavour


def _count(gelus: Sequence[Site]) -> str:
    return f"{len(gelus)} GELUs" if len(gelus) > 1 else "the GELU"


def _is(gelus: Sequence[Site]) -> str:
    return "are" if len(gelus) > 1 else "is"


def _at(site: Site) -> str:
    return f"node {site.symbol}"


def evidence() -> None:
    """The graphs of the examples are run by onnx, and compared with what the code beside them computes in torch."""
    import base64
    from typing import Any

    import onnx
    import torch
    from onnx.reference import ReferenceEvaluator

    x = torch.linspace(-6, 6, 24001)

    def gap(graph: str, approximate: str) -> float:
        model: Any = onnx.load_model_from_string(base64.b64decode(graph))
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
        values: Any = ReferenceEvaluator(model).run(None, {"x": x.numpy()})
        wanted = torch.nn.functional.gelu(x, approximate=approximate)
        return float((torch.from_numpy(values[0]) - wanted).abs().max())

    assert abs(gap(_CHAIN, "tanh") - 4.73e-4) < 2e-6
    assert abs(gap(_NODE, "none") - 4.73e-4) < 2e-6
    assert abs(gap(_QUICK, "none") - 2.03e-2) < 1e-4
    assert gap(_CHAIN, "none") < 5e-6 and gap(_NODE, "tanh") < 5e-6  # float32


#: x·Φ(x) in five nodes at opset 17, Gelu(approximate="tanh"), and x·σ(1.702x), each from x to y.
_CHAIN = (
    "CAgSADqnAQoOCgF4CgFzEgFkIgNEaXYKCwoBZBIBZSIDRXJmCg4KAWUKATESAWEiA0FkZAoOCgF4CgFhEgFtIgNNdWwKGgoBbQoB"
    "aBIBeRoKL2FjdC9NdWxfMSIDTXVsEgNuZXQqCxABQgFzSgTzBLU/KgsQAUIBMUoEAACAPyoLEAFCAWhKBAAAAD9aDwoBeBIKCggI"
    "ARIECgIIBGIPCgF5EgoKCAgBEgQKAggEQgQKABAR"
)
_NODE = (
    "CAgSADpYCi8KAXgSAXkaCS9hY3QvR2VsdSIER2VsdSoWCgthcHByb3hpbWF0ZSIEdGFuaKABAxIDbmV0Wg8KAXgSCgoICAESBAoC"
    "CARiDwoBeRIKCggIARIECgIIBEIECgAQFA=="
)
_QUICK = (
    "CAgSADpxCg4KAXgKAWsSAXUiA011bAoPCgF1EgFzIgdTaWdtb2lkChoKAXgKAXMSAXkaCi9hY3QvTXVsXzEiA011bBIDbmV0KgsQ"
    "AUIBa0oEI9vZP1oPCgF4EgoKCAgBEgQKAggEYg8KAXkSCgoICAESBAoCCARCBAoAEBQ="
)

_CODE = "import torch.nn.functional as F\n\n\ndef act(x):\n    return F.gelu(x, approximate={!r})\n"
_ERF, _TANH = _CODE.format("none"), _CODE.format("tanh")

RULE = Rule(
    "GEL402",
    "graph-flavour",
    "ONNX file whose GELU is decomposed, or of another flavour than the code",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(_CHAIN, at="1:1", beside={"net.py": _TANH}, name="net.onnx"),
        bad(_NODE, at="1:1", beside={"net.py": _ERF}, name="net.onnx"),
        bad(_QUICK, at="1:1", beside={"net.py": _ERF}, name="net.onnx"),
        bad(_CHAIN, at="1:1", beside={"net.py": _ERF}, name="export/net.onnx"),
        good(_NODE, beside={"net.py": _TANH}, name="net.onnx"),
        good(_NODE, beside={"net.py": _TANH, "other.py": _ERF}, name="net.onnx"),
        good(_CHAIN, beside={"net.py": _ERF}, name="tests/net.onnx"),
    ),
    evidence=evidence,
    project=True,
    across=across,
)
