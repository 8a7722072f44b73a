"""The project takes a torch older than the `approximate=` that its code hands to GELU.

## What it does
In a run over a whole project, reports the requirement that lets in a torch older than 1.12 where PyTorch's `F.gelu` or
`nn.GELU` is given `approximate`: in pyproject.toml (PEP 621, extras, poetry, dependency groups), requirements files,
setup.cfg, setup.py or a conda environment, whichever source decides, or at the option `min-torch`. The first such
GELU is a related location. Uses in tests, examples and docs do not count, nor those under `try`, `hasattr` or a
version check, nor other frameworks' arguments of that name. Without a lower bound nothing is said.

## Why is this bad
`approximate` came with torch 1.12: the documented signatures of 1.11 are `gelu(input)` and `GELU()`. With a torch that
the requirement accepts, the call raises TypeError, when the model is built or at its first forward.

## Fix safety
The fix raises the one clause that sets the lowest version to 1.12 (`>=1.8`, `^1.8` and `~=1.8` alike) and keeps every
other byte. It changes what the project promises, so `fix` applies it only with `--unsafe-fixes`. Exact pins, ranges
that end below 1.12 and `min-torch` get none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gelu_lint.facts.table import callables
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project, Requirement, Site
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good

#: The first torch with the argument, and the last one without it: no release lies between.
_SINCE, _LAST = (1, 12), (1, 11)
_CLAUSE = lazy(r"(?P<sign>[<>=~^]+)(?P<gap>\s*)")
#: Folders of code that is not what the project's users install.
_ASIDE = lazy(r"(?:^|/)(?:examples?|docs?|tutorials?|benchmarks?)/")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    low = [place for place in project.torch if _is_low(place)]
    uses = ((file, site) for file in files if not _is_aside(file.place) for site in file.sites if _needs(site))
    found = next(uses, None) if low else None
    if found is None:
        return
    file, site = found
    for place in low:
        oldest = ".".join(map(str, place.floor or ()))
        message = (
            f"torch {oldest} is accepted, but approximate= of {site.written} ({file.path}:{site.span.row}) came with "
            "1.12: there the call raises TypeError"
        )
        data = (("floor", oldest), ("framework", "torch"))
        rows = (place.span.row, place.span.row)
        finding = Finding("GEL403", place.path, place.span, message, "warning", _fix(place), data, statement=rows)
        yield finding._replace(related=((file.path, site.span, "needs torch 1.12"),))


def _is_low(place: Requirement) -> bool:
    """Whether a requirement lets in a release without the argument."""
    if place.floor is None or place.floor > _LAST:
        return False
    return not (place.bound.startswith(">") and not place.bound.startswith(">=") and place.floor == _LAST)


def _is_aside(path: str) -> bool:
    return is_test(path) or _ASIDE.search(path.replace("\\", "/")) is not None


def _needs(site: Site) -> bool:
    """Whether a site hands the argument to PyTorch, whatever version there is."""
    row = callables().get(site.callee)
    if row is None or site.framework != "torch" or row.keyword != "approximate" or row.since != _SINCE:
        return False
    return site.given in ("literal", "constant", "dynamic") and not site.guard and not is_test("", site.symbol)


def _fix(place: Requirement) -> Fix | None:
    """The clause with 1.12 in it, where that leaves a version to take."""
    ends = place.ceiling is not None and (place.ceiling < _SINCE or (place.open and place.ceiling == _SINCE))
    clause = _CLAUSE.match(place.bound)
    if clause is None or ends:
        return None
    sign = ">=" if clause["sign"] == ">" else clause["sign"]
    return Fix(f"write {sign}1.12", (Edit(place.bound_span, f"{sign}{clause['gap']}1.12"),), reach="interface")


def evidence() -> None:
    """torch has the argument; a function of the signature that 1.11 documents refuses it, as one of 1.12 does not."""
    import torch
    import torch.nn.functional as F

    def gelu(tensor: torch.Tensor) -> torch.Tensor:  # one argument, as in the documentation of torch 1.11
        return F.gelu(tensor)

    def refuses(function: Callable[..., torch.Tensor]) -> bool:
        try:
            function(x, approximate="tanh")
        except TypeError:
            return True
        return False

    x = torch.ones(2)
    assert torch.equal(gelu(x), F.gelu(x, approximate="none"))
    assert refuses(gelu) and not refuses(F.gelu)
    since = {callables()[name].since for name in ("torch.nn.functional.gelu", "torch.nn.GELU")}
    assert since == {_SINCE}


_NET = {"net.py": 'from torch import nn\n\n\ndef act():\n    return nn.GELU(approximate="tanh")\n'}
_PLAIN = {"net.py": "import jax\n\n\ndef act(x):\n    return jax.nn.gelu(x, approximate=True)\n"}
_TRIED = {
    "net.py": "from torch import nn\n\n\ndef act():\n    try:\n"
    '        return nn.GELU(approximate="tanh")\n    except TypeError:\n        return None\n'
}


def _declared(*requirements: str) -> str:
    return (
        '[project]\nname = "net"\nversion = "1.0"\ndependencies = [\n'
        + "".join(f"    {requirement},\n" for requirement in requirements)
        + "]\n"
    )


RULE = Rule(
    "GEL403",
    "torch-floor",
    "`approximate=` is used and the declared torch may be older than 1.12, which has no such argument",
    "raise the floor (0)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _declared('"numpy"', '"torch>=1.8"'),
            at="6:6",
            fixed=_declared('"numpy"', '"torch>=1.12"'),
            reach="interface",
            beside=_NET,
            name="pyproject.toml",
        ),
        bad(
            "# what it needs\ntorch >= 1.9, < 3  # why\nnumpy\n",
            at="2:1",
            fixed="# what it needs\ntorch >= 1.12, < 3  # why\nnumpy\n",
            reach="interface",
            beside=_NET,
            name="requirements.txt",
        ),
        bad(_declared('"torch==1.8.1"'), at="5:6", beside=_NET, name="pyproject.toml"),
        good(_declared('"torch>=1.12"'), beside=_NET, name="pyproject.toml"),
        good(_declared('"torch"'), beside=_NET, name="pyproject.toml"),
        good(_declared('"torch>=1.8"'), beside=_PLAIN, name="pyproject.toml"),
        good(_declared('"torch>=1.8"'), beside=_TRIED, name="pyproject.toml"),
    ),
    evidence=evidence,
    project=True,
    across=across,
)
