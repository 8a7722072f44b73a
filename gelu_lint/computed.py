"""Which GELU the code of a project computes, taken together, and what its README says of that."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gelu_lint.model import Entry, FileSummary, Site
from gelu_lint.numerics.flavours import OTHERS
from gelu_lint.roles import is_reference, is_test

#: How people write each flavour in a README.
DISPLAY = {"erf": "GELU (exact, erf)", "tanh": "GELU (tanh approximation)", "quick": "QuickGELU, x·σ(1.702x)"}
#: Forms of sites that compute nothing where they stand.
_IDLE = ("backward", "import", "base")


class Computed:
    """The GELUs of the code at and below a directory, without those of tests and references."""

    def __init__(self, files: Sequence[FileSummary], folder: str = "") -> None:
        lead = os.path.join(folder, "") if folder else ""
        self.sites = [
            (file, site)
            for file in files
            if file.path.startswith(lead) and not is_test(file.place)
            for site in file.sites
            if site.form not in _IDLE
            and site.spelling != "graph"
            and (site.flavour not in OTHERS or site.claimed)
            and not is_test(file.place, site.symbol)
            and not is_reference(site.symbol, site.key)
        ]

    @property
    def flavour(self) -> str:
        """The one flavour that all of it computes, "" where there are several or one is not known."""
        flavours = {site.flavour for _, site in self.sites}
        return flavours.pop() if len(flavours) == 1 and flavours <= set(DISPLAY) else ""

    @property
    def first(self) -> tuple[FileSummary, Site]:
        """The first site."""
        return self.sites[0]

    @property
    def places(self) -> str:
        """Where each flavour is computed first, in words."""
        seen: dict[str, str] = {}
        for file, site in self.sites:
            seen.setdefault(site.flavour, f"{file.path}:{site.span.row}")
        known = [f"{flavour} at {place}" for flavour, place in seen.items() if flavour != "unknown"]
        open_ = [f"at {seen['unknown']} something that only the run decides"] if "unknown" in seen else []
        parts = known + open_
        return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else parts[0]


def stated(readme: FileSummary | None) -> tuple[Entry, ...]:
    """What a README says of the GELU of its project."""
    return tuple(entry for entry in readme.entries if entry.form == "prose") if readme is not None else ()
