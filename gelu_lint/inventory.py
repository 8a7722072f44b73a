"""Every GELU of a run: where it stands, which function it is, and whether that is stated."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator

from gelu_lint.model import Site
from gelu_lint.reports.json import ends
from gelu_lint.reports.text import aligned, plural, printable
from gelu_lint.runner import Run

_Sites = list[tuple[str, Site]]


def render(run: Run, output: str) -> Iterator[str]:
    """The sites of a run as ``output`` (text, concise or json)."""
    sites = [
        (outcome.path, site) for outcome in run.outcomes for site in outcome.sites if site.form != "backward"
    ]  # no GELU, but a derivative
    if output == "json":
        yield json.dumps([_row(path, site) for path, site in sites], indent=2)
        return
    if output == "concise":
        yield from _table(sites)
        return
    packages = _packages(sites)
    for package, members in packages.items():
        if len(packages) == 1:
            yield from _table(members)
            break
        yield f"{printable(package)}: {_summary(members)}"
        yield from _table(members)
        yield ""
    yield _summary(sites, f" in {plural(run.files, 'file')}")


def _packages(sites: _Sites) -> dict[str, _Sites]:
    """The sites by package: the first folder below the one that all files have in common."""
    folders = [os.path.dirname(path) or "." for path, _ in sites]
    mixed = len({os.path.isabs(folder) for folder in folders}) != 1  # no sites, or no common folder
    common = "" if mixed else os.path.commonpath(folders)
    found: dict[str, _Sites] = {}
    for folder, site in zip(folders, sites, strict=True):
        below = os.path.relpath(folder, common or ".").split(os.sep)[0]
        name = os.path.normpath(os.path.join(common, below))
        found.setdefault(name, []).append(site)
    return found


def _table(sites: _Sites) -> Iterator[str]:
    cells = [
        (
            f"{printable(path)}:{site.span.row}:{site.span.column + 1}",
            label(site),
            "explicit" if site.explicit else "implicit",
            site.framework or "-",
            site.form,
            printable(" ".join(site.written.split())),
        )
        for path, site in sites
    ]
    yield from aligned(cells)


def label(site: Site) -> str:
    """The function of a site in short: a family with its parameter, a near miss with the flavour that it is near."""
    known = site.formula
    if site.parameter is not None and site.flavour == "gelu_t":
        return f"gelu_t τ={site.parameter:.4g}"
    if site.parameter is not None and (site.flavour == "sigmoid_k" or (known and known.nearest == "quick")):
        return f"x·σ({site.parameter:.4g}x)"
    if known is not None and known.nearest and site.flavour in ("near", "clipped", "squared", "sparse"):
        return f"{site.flavour} {known.nearest}"
    return site.flavour


def _summary(sites: _Sites, where: str = "") -> str:
    flavours = Counter(label(site) for _, site in sites)
    implicit = Counter(label(site) for _, site in sites if not site.explicit)
    parts = [
        f"{count} {flavour}" + (f" ({implicit[flavour]} implicit)" if implicit[flavour] else "")
        for flavour, count in flavours.most_common()
    ]
    return f"{plural(len(sites), 'GELU')}{where}{': ' if parts else ''}{', '.join(parts)}."


def _row(path: str, site: Site) -> dict[str, object]:
    return {
        "filename": path,
        **ends(site.span),
        "symbol": site.symbol or None,
        "framework": site.framework,
        "spelling": site.spelling,
        "callee": site.callee or None,
        "flavour": site.flavour,
        "parameter": site.parameter,
        "explicit": site.explicit,
        "error": site.error,
        "form": site.form,
    }
