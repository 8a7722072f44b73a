"""Every GELU of a run: where it stands, which function it is, and whether that is stated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from gelu_lint.model import Site
from gelu_lint.reports.json import ends
from gelu_lint.reports.text import plural, printable
from gelu_lint.runner import Run


def render(run: Run, output: str) -> Iterator[str]:
    """The sites of a run as ``output`` (text, concise or json)."""
    sites = [(outcome.path, site) for outcome in run.outcomes for site in outcome.sites]
    if output == "json":
        yield json.dumps([_row(path, site) for path, site in sites], indent=2)
        return
    places = [f"{printable(path)}:{site.span.row}:{site.span.column + 1}" for path, site in sites]
    cells = [
        (place, site.flavour, "explicit" if site.explicit else "implicit", site.framework, site.form, site.written)
        for place, (_, site) in zip(places, sites, strict=True)
    ]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(5)] + [0]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if output == "text":
        yield _summary(sites, run.files)


def _summary(sites: list[tuple[str, Site]], files: int) -> str:
    flavours = Counter(site.flavour for _, site in sites)
    implicit = Counter(site.flavour for _, site in sites if not site.explicit)
    parts = [
        f"{count} {flavour}" + (f" ({implicit[flavour]} implicit)" if implicit[flavour] else "")
        for flavour, count in flavours.most_common()
    ]
    listed = f": {', '.join(parts)}" if parts else ""
    return f"{plural(len(sites), 'GELU')} in {plural(files, 'file')}{listed}."


def _row(path: str, site: Site) -> dict[str, object]:
    return {
        "filename": path,
        **ends(site.span),
        "symbol": site.symbol or None,
        "framework": site.framework,
        "spelling": site.spelling,
        "callee": site.callee,
        "flavour": site.flavour,
        "parameter": site.parameter,
        "explicit": site.explicit,
        "error": site.error,
        "form": site.form,
    }
