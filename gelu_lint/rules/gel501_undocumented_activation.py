"""A README that does not say which GELU the model has.

## What it does
In a run over a whole project whose code has a GELU, looks for a statement of which one it is in the README:
"Activation: GELU (tanh approximation)", a row or an item that says so, or a sentence such as "we use the exact (erf)
GELU", in any section. "GELU" alone does not say which. Code blocks, quotes, and what is said of other models or of
choices do not count, nor does an unclear sentence that names another GELU than the code computes. The finding sits at
the first line of the README, or of pyproject.toml where there is none. Opt-in: it runs where it is selected, and in
`gelu-lint checklist`.

## Why is this bad
Who ports the weights reads the README first. The functions that go by the name GELU are up to 0.02 apart (erf and tanh
4.7e-4), and "GELU" is erf in one framework and tanh in the next. This rule asks for a decision to be written down; no
run fails without it.

## Fix safety
Where all code of the project, tests aside, computes one flavour, the fix says it in the README: it completes a
statement that says no more than GELU, else it adds one to the section about the architecture, or such a section. There
is no fix where the README names another activation or is not clear about which GELU it means, nor where what is added
would not be read (behind a fence that is never closed). No code changes (delta 0). As the text is for people, plain
`gelu-lint fix` leaves it to `gelu-lint checklist --fix` and `--unsafe-fixes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.computed import DISPLAY, Computed, mentioned, stated
from gelu_lint.model import Edit, Entry, FileSummary, Finding, Fix, Project, Span
from gelu_lint.rule import Rule, bad, good

_WORDS = 60  # characters of a sentence that are quoted


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    code = Computed(files)
    if not code.sites:
        return
    path = next((path for name, path in project.anchors if name == "README"), "")
    readme = next((file for file in files if file.path == path), None)
    if path and readme is None:
        return  # excluded, or not to be read: what it says is not known
    said = stated(readme)
    roots = [path for name, path in project.anchors if name == "README"]
    every = [(file, entry) for file in files if file.path in roots for entry in stated(file) if entry.flavour]
    if any(code.holds(entry.flavour) or (entry.literal and code.flavour) for _, entry in every):
        return  # one that is sure and wrong is what GEL502 tells
    unsure = [*every, *((file, entry) for file in files if file.path in roots for entry in mentioned(file))]
    first, site = code.first
    what = f"the code computes {DISPLAY[code.flavour]}" if code.flavour else f"the code has {code.places}"
    where = f"{first.path}:{site.span.row}" if code.flavour else ""
    related: tuple[tuple[str, Span, str], ...] = ((first.path, site.span, f"the first GELU, {site.flavour}"),)
    plain = next((entry for entry in said if entry.literal), None)
    if unsure:
        file, entry = min(unsure, key=lambda pair: (roots.index(pair[0].path), pair[1].span))
        words = str(entry.value)
        words = words if len(words) <= _WORDS else words[:_WORDS].rsplit(" ", 1)[0] + " …"
        name = "the README" if file.path == path else file.path
        message = f'{name} says "{words}" (line {entry.span.row}), which does not settle which GELU this is'
        related += ((file.path, entry.span, "says this"),)
    elif plain is not None:
        message = f"the README says GELU (line {plain.span.row}) and not which"
        related += ((path, plain.span, "says GELU and no more"),)
    else:
        message = "the README does not say which GELU this is" if path else "no README says which GELU this is"
    message = f"{message}: {what}" + (f", first at {where}" if where else "")
    fix = _fix(readme, code.flavour, plain) if readme is not None and code.flavour and not unsure else None
    rows = (1, readme.sections[0].rows[1] if readme is not None and readme.sections else 1)
    path = path or next((path for _, path in project.anchors), "")
    data = (("flavour", code.flavour or None),)
    if path:
        yield Finding("GEL501", path, Span(1, 0, 1, 0), message, "info", fix, data, related, rows)
    else:
        yield Finding("GEL501", first.path, site.span, message, "info", None, data, (), site.statement)


def _fix(readme: FileSummary, flavour: str, plain: Entry | None) -> Fix | None:
    """Say in the README what the code computes."""
    wanted = DISPLAY[flavour]
    if plain is not None:
        span = plain.span
        detail = wanted.partition("(")[2].rstrip(")") if wanted.startswith("GELU (") else wanted
        edit = Edit(Span(span.end_row, span.end_column, span.end_row, span.end_column), f" ({detail})")
        return Fix(f"complete it: GELU ({detail})", (edit,), reach="interface")
    sections = sorted(readme.sections, key=lambda section: not section.title)
    slot = sections[0].slot if sections else None
    if slot is None:
        return None
    statement = f"Activation: {wanted}"
    return Fix(f'add "{statement}"', (Edit(slot.span, slot.before + statement + slot.after),), reach="interface")


def evidence() -> None:
    """What is called GELU differs by default and by name: torch's own two are 4.7e-4 apart, CLIP's is 0.02 off."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    erf, tanh = F.gelu(x), F.gelu(x, approximate="tanh")
    assert abs((erf - tanh).abs().max().item() - 4.73e-4) < 1e-6
    assert abs((erf - x * torch.sigmoid(1.702 * x)).abs().max().item() - 0.0203) < 1e-4


_MODEL = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w, approximate={})\n"
_TANH = {"net/model.py": _MODEL.format('"tanh"')}
_ERF = {"net/model.py": _MODEL.format('"none"')}
_CLIP = {"net/model.py": "import torch\n\n\ndef quick_gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n"}
_MIXED = {**_ERF, "net/head.py": _MODEL.format('"tanh"')}
_TITLE = "# net\n\nA small network.\n"

RULE = Rule(
    "GEL501",
    "undocumented-activation",
    "README that does not say which GELU the code computes",
    "say it in the README (0; text for people)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _TITLE + "\n## Training\n\nWe tried several learning rates.\n",
            at="1:1",
            fixed=_TITLE + "\n## Training\n\nWe tried several learning rates.\n"
            "\n## Architecture\n\nActivation: GELU (tanh approximation)\n",
            reach="interface",
            name="README.md",
            beside=_TANH,
        ),
        bad(
            "# net\n\n## Architecture\n\n- width 128\n- depth 4\n\n## Training\n",
            at="1:1",
            fixed="# net\n\n## Architecture\n\nActivation: GELU (exact, erf)\n"
            "\n- width 128\n- depth 4\n\n## Training\n",
            reach="interface",
            name="README.md",
            beside=_ERF,
        ),
        bad(
            "# net\n\n## Model\n\n| part | choice |\n| --- | --- |\n| Activation | GELU |\n| Norm | LayerNorm |\n",
            at="1:1",
            fixed="# net\n\n## Model\n\n| part | choice |\n| --- | --- |\n"
            "| Activation | GELU (QuickGELU, x·σ(1.702x)) |\n| Norm | LayerNorm |\n",
            reach="interface",
            name="README.md",
            beside=_CLIP,
        ),
        bad(
            "net\n===\n\nArchitecture\n------------\n\nTwo layers.\n\nRelated work\n------------\n\n"
            "BERT uses the exact GELU.\n",
            at="1:1",
            fixed="net\n===\n\nArchitecture\n------------\n\nActivation: GELU (tanh approximation)\n\nTwo layers.\n\n"
            "Related work\n------------\n\nBERT uses the exact GELU.\n",
            reach="interface",
            name="README.rst",
            beside=_TANH,
        ),
        bad(_TITLE + "\n```python\nF.gelu(x)  # the exact GELU\n```\n", at="1:1", name="README.md", beside=_MIXED),
        bad(_TITLE + "\nWe replaced ReLU with the tanh-approximated GELU.\n", at="1:1", name="README.md", beside=_ERF),
        bad(_TITLE + "\nActivation: SiLU\n", at="1:1", name="README.md", beside=_ERF),
        bad(
            _TITLE + "\nGELU (Hendrycks & Gimpel, 2016) is used, with the tanh approximation.\n",
            at="1:1",
            name="README.md",
            beside=_ERF,
        ),
        bad(_TITLE + "\n```sh\npip install net\n", at="1:1", name="README.md", beside=_ERF),
        bad('[project]\nname = "net"\n', at="1:1", name="pyproject.toml", beside=_ERF),
        good(_TITLE + "\n## Architecture\n\nActivation: GELU (tanh approximation)\n", name="README.md", beside=_TANH),
        good(_TITLE + "\nAll blocks use the exact (erf) GELU.\n", name="README.md", beside=_ERF),
        good(_TITLE + "\n- **Activation**: QuickGELU\n", name="README.md", beside=_CLIP),
        good(_TITLE, name="README.md", beside={"net/model.py": "import torch\n\nact = torch.relu\n"}),
    ),
    evidence=evidence,
    policy=True,
    opt_in=True,
    project=True,
    across=across,
)
