"""A name or value around GELU that does not exist: the line raises whenever it runs.

## What it does
Reports, in and around the code of a GELU, what people write from memory and no framework has: `torch.gelu`, `nn.Gelu`,
`F.GELU`, `np.erf`, `np.math`, `torch.sqrt(2 / math.pi)` of a Python number,
`kaiming_uniform_(…, nonlinearity="gelu")`, a GELU imported from a transformers module that has none. Names that come
and go are reported only where the declared versions include one without them.

## Why is this bad
The code raises AttributeError, ImportError, TypeError or ValueError, often in a branch that nobody has run yet.
Code under `try`, `hasattr` or a version check is not reported.

## Fix safety
Where one name is meant, the fix writes it, with its import, and states the default flavour. Today's code raises, so no
running program changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gelu_lint.facts.record import Absent
from gelu_lint.facts.table import callables, find_absent, refused
from gelu_lint.fixes import before, can_choose, default_of, insert
from gelu_lint.imports import line, reach
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Need, Project, Use
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for use in file.uses:
        if use.guard:
            continue
        if use.kind == "refused":
            row = refused()[use.callee]
            message = f"{use.written} refuses {row.keyword}={use.detail!r}: {row.error}"
            yield report("GEL006", file, use, message, "error")
        elif use.kind == "number":
            message = f"{use.written} of a Python number raises TypeError: it takes tensors"
            fix = _renamed(file, use, use.detail, project) if use.detail else None
            yield report("GEL006", file, use, message, "error", fix, span=use.callee_span)
        elif use.kind == "absent":
            absent = find_absent(use.callee)
            if absent is not None and _lacking(absent, project):
                span = use.span if use.form in ("import", "sole") else use.callee_span
                written = use.callee if use.form in ("import", "sole") else use.written
                since = f" since {absent.package} {'.'.join(map(str, absent.gone))}" if absent.gone else ""
                message = f"{written} does not exist{since}: {absent.error}"
                yield report("GEL006", file, use, message, "error", _fix(file, use, absent, project), span=span)


def _lacking(row: Absent, project: Project) -> bool:
    """Whether the declared versions include one without the name."""
    if row.missing:
        floor, (ceiling, _) = project.floor(row.package), project.ceiling(row.package)
        return (floor is not None and floor <= row.missing) or (floor is None and ceiling is not None)
    if row.gone:
        ceiling, open_ = project.ceiling(row.package)
        return ceiling is None or ceiling > row.gone or (ceiling == row.gone and not open_)
    return True


def _fix(file: FileSummary, use: Use, absent: Absent, project: Project) -> Fix | None:
    if not absent.instead:
        return None
    if use.form not in ("import", "sole"):
        if absent.instead.startswith("scipy.") and not any(b.target.startswith("scipy") for b in file.bound):
            return None  # a new dependency is not ours to add
        return _renamed(file, use, absent.instead, project)
    if use.form == "import":
        return None
    module, _, name = absent.instead.rpartition(".")
    old_module, _, old_name = use.callee.rpartition(".")
    edits = [Edit(use.callee_span, module)] if module != old_module else []
    if name != old_name:
        edits.append(Edit(use.span, name if use.detail else f"{name} as {old_name}"))
    return Fix(f"{line(Need(module, name))}", tuple(edits))


def _renamed(file: FileSummary, use: Use, name: str, project: Project) -> Fix | None:
    """Write ``name`` for what does not exist; a GELU that it calls gets its flavour spelled out."""
    row = callables().get(name)
    given = use.arguments
    if row is None:
        # A math function takes its numbers by position only.
        found = reach(file, name) if not any(a.keyword or a.star for a in given) else None
        return Fix(f"write {found[0]}", (Edit(use.callee_span, found[0]),), found[1]) if found is not None else None
    if row.kind == "function" and use.form == "call" and not any(a.keyword != row.keyword for a in given):
        # Nothing to compute on: what is meant is the module, which has the same name in capitals.
        row = callables().get("torch.nn.GELU") if row.framework == "torch" else None
    found = reach(file, row.name) if row is not None else None
    if row is None or found is None:
        return None
    edits = [Edit(use.callee_span, found[0])]
    if use.form == "call" and row.keyword:
        by_position = [a for a in given if not a.keyword]
        inputs = 0 if row.kind == "class" else 1
        if any(a.star for a in given) or any(a.keyword and a.keyword not in row.parameters for a in given):
            return None
        if len(by_position) > inputs:
            choice = by_position[inputs]
            if len(by_position) > inputs + 1 or not choice.literal or not row.flavour_of(choice.value):
                return None
            if row.keyword_only:
                edits.append(before(choice.span, f"{row.keyword}="))
        elif not any(a.keyword == row.keyword for a in given):
            edit = insert(use.slot, row.keyword, default_of(row, project.policy)[0], use.quote)
            if edit is None or not can_choose(row, project):
                return None
            edits.append(edit)
    return Fix(f"write {found[0]}", tuple(edits), found[1])


def evidence() -> None:
    """Each bad line raises, and what the fix writes runs."""
    import math

    import numpy as np
    import torch

    x = torch.zeros(3)
    for module, name in ((torch, "gelu"), (torch.nn, "Gelu"), (torch.nn.functional, "GELU"), (np, "erf"), (np, "math")):
        assert not hasattr(module, name), name
    refused: tuple[Callable[[], object], ...] = (
        lambda: torch.sqrt(2 / math.pi),  # type: ignore[arg-type]
        lambda: torch.nn.init.kaiming_uniform_(torch.zeros(2, 2), nonlinearity="gelu"),  # type: ignore[arg-type]
    )
    for call in refused:
        try:
            call()
        except (TypeError, ValueError):
            continue
        raise AssertionError("it ran")
    assert torch.equal(torch.nn.GELU(approximate="none")(x), x)
    assert math.sqrt(2 / math.pi) > 0


RULE = Rule(
    "GEL006",
    "no-such-name",
    "name or value around GELU that does not exist",
    "the right name where there is one (raising code → 0)",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            "from torch import nn\n\nact = nn.Gelu()\n",
            at="3:7",
            fixed='from torch import nn\n\nact = nn.GELU(approximate="none")\n',
        ),
        bad(
            "import torch\n\n\ndef block(x):\n    return torch.gelu(x)\n",
            at="5:12",
            fixed='import torch\n\n\ndef block(x):\n    return torch.nn.functional.gelu(x, approximate="none")\n',
        ),
        bad(
            "import torch.nn.functional as F\nfrom torch import nn\n\nact = F.GELU()\n",
            at="4:7",
            fixed='import torch.nn.functional as F\nfrom torch import nn\n\nact = nn.GELU(approximate="none")\n',
        ),
        bad(
            "import torch\n\n\ndef block(x):\n    return torch.gelu(x, 'tanh')\n",
            at="5:12",
            fixed="import torch\n\n\ndef block(x):\n    return torch.nn.functional.gelu(x, approximate='tanh')\n",
        ),
        bad(
            "from torch.nn import Gelu\n\nact = Gelu\n",
            at="1:22",
            fixed="from torch.nn import GELU as Gelu\n\nact = Gelu\n",
        ),
        bad(
            "import torch\nfrom math import pi\n\n\ndef gelu(x):\n"
            "    return torch.tanh(torch.sqrt(2 / pi) * (x + 0.044715 * x**3))\n",
            at="6:23",
            fixed="import math\n\nimport torch\nfrom math import pi\n\n\ndef gelu(x):\n"
            "    return torch.tanh(math.sqrt(2 / pi) * (x + 0.044715 * x**3))\n",
        ),
        bad(
            "import numpy as np\n\n\ndef gelu(x):\n    return 0.5 * x * (1 + np.math.erf(x / 2**0.5))\n",
            at="5:27",
            fixed="import math\n\nimport numpy as np\n\n\ndef gelu(x):\n"
            "    return 0.5 * x * (1 + math.erf(x / 2**0.5))\n",
        ),
        bad(
            "import torch.nn as nn\n\n\ndef init(w):\n    nn.init.kaiming_uniform_(w, nonlinearity='gelu')\n",
            at="5:5",
        ),
        bad(
            "from transformers.activations import PytorchGELUTanh\n\nact = PytorchGELUTanh()\n",
            at="1:38",
            dependencies=("transformers>=4.20",),
        ),
        good("from transformers.activations import PytorchGELUTanh\n\nact = PytorchGELUTanh()\n"),
        good("import numpy as np\nimport torch\n\n\ndef scale(t):\n    return torch.sqrt(t) * np.sqrt(2 / np.pi)\n"),
        good(
            "import torch\n\n\ndef block(x):\n    if hasattr(torch, 'gelu'):\n        return torch.gelu(x)\n"
            "    return torch.nn.functional.gelu(x, approximate='none')\n"
        ),
        good("import math\n\nimport numpy as np\n\nnp.math = math\n\n\ndef gelu(x):\n    return x * np.math.erf(x)\n"),
        good("import numpy as np\n\nerf = np.math.erf\n", dependencies=("numpy<1.25",)),
    ),
    evidence=evidence,
)
