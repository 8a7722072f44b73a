"""A GELU handed on un-called: whoever calls it gets the default flavour.

## What it does
Reports `act_layer=nn.GELU`, `act=F.gelu` and `self.act = F.gelu`: parameter defaults, arguments and attribute
assignments that hold the bare class or function. Type tests, comparisons, annotations and registry tables are not uses.

## Why is this bad
The callee writes `act_layer()` and gets the framework's default, erf in torch and tanh in jax, with nothing in the text
that says so. This is a policy rule: the code runs as it is.

## Fix safety
The fix hands on `partial(nn.GELU, approximate="none")`, which computes bit-identical values. But a `partial` is not the
class: `act is F.gelu` and `isinstance(act, type)` become false, so code that dispatches on the object, such as
the fast path of `nn.TransformerEncoderLayer`, takes another branch; `torch.jit.script` refuses it, and Keras cannot
serialise it. It changes an interface, so `fix` applies it only with `--unsafe-fixes`. None is offered in a file that
compares with the bare function or class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose, default_of, spell, why_not
from gelu_lint.imports import reach
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project, Site
from gelu_lint.numerics.flavours import between
from gelu_lint.patterns import lazy
from gelu_lint.rule import Rule, bad, good, report

_FORMS = {"default": "the default of", "argument": "the argument", "attribute": "the attribute"}

#: What a parameter or attribute is called that holds an activation.
_ACTIVATION = lazy(r"act|nonlin|non_lin|fn|func|layer|gelu|ffn|mlp", re.IGNORECASE)
#: What a callable is called that builds a layer from the activation that it is handed by position.
_BUILDER = lazy(r"[A-Z][A-Za-z0-9]*[a-z]|.*(?:act|mlp|ffn|block|layer|head|net)", re.DOTALL)
_NO_BUILDER = lazy(r".*(?:Error|Exception|Warning|Mock|Type|TypeVar|Enum|Info|Spec|Case|Entry)", re.DOTALL)
#: Calls that look at what they get, or file it under a name, rather than use it as an activation.
_KEEPERS = frozenset(
    (
        *("register", "append", "add", "update", "insert", "extend", "count", "index", "replace", "swap", "pop"),
        *("find", "get", "set", "setdefault", "match", "matches", "filter", "type", "types", "dispatch", "implements"),
    )
)


def _handed_on(site: Site) -> bool:
    """Whether the reference is an activation that somebody will call, as far as names tell."""
    if site.form == "attribute" and "gelu" in site.key.lower() and not site.symbol.rpartition(".")[2].islower():
        return False  # GELU = nn.GELU in a class body: a member of an enumeration or namespace
    if _KEEPERS & set(site.consumer.lower().split("_")):
        return False
    if site.key:
        return _ACTIVATION.search(site.key) is not None
    return _BUILDER.fullmatch(site.consumer) is not None and _NO_BUILDER.fullmatch(site.consumer) is None


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if site.spelling != "reference" or site.form not in _FORMS:
            continue
        row = callables().get(site.callee)
        if row is None or not row.keyword or site.guard == "raises" or not _handed_on(site):
            continue
        value, flavour = default_of(row, project.policy)
        found = reach(file, "functools.partial")
        fix = None
        compared = any(use.kind == "compare" and use.callee == site.callee for use in file.uses)
        if found is not None and can_choose(row, project) and not compared:
            name, needs = found
            text = f"{name}({site.written}, {row.keyword}={spell(value, site.quote)})"
            delta = between(row.flavour, flavour).size
            fix = Fix(f"hand on {text}", (Edit(site.span, text),), needs, delta=delta, reach="interface")
        where = f"{_FORMS[site.form]} {site.key}" if site.key else f"an argument of {site.consumer}"
        message = f"{site.written} un-called as {where}: whoever calls it gets the {row.flavour} GELU by default"
        yield report("GEL005", file, site, message + why_not(row, project), "info", fix, claimed=None)


def evidence() -> None:
    """The callee instantiates the default; the partial computes the same bits and is another kind of object."""
    from functools import partial

    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001)
    explicit = partial(torch.nn.GELU, approximate="none")
    assert torch.equal(torch.nn.GELU()(x), explicit()(x))
    assert (torch.nn.GELU()(x) - F.gelu(x, approximate="tanh")).abs().max() > 4.6e-4
    assert not isinstance(explicit, type)


RULE = Rule(
    "GEL005",
    "implicit-class-reference",
    "GELU class or function handed on un-called",
    '`partial(nn.GELU, approximate="none")` (0, changes the kind of object)',
    "info",
    check,
    __doc__,
    examples=(
        bad(
            "from torch import nn\n\n\nclass Mlp(nn.Module):\n    def __init__(self, dim, act_layer=nn.GELU):\n"
            "        super().__init__()\n        self.act = act_layer()\n",
            at="5:39",
            fixed="from functools import partial\n\nfrom torch import nn\n\n\nclass Mlp(nn.Module):\n"
            '    def __init__(self, dim, act_layer=partial(nn.GELU, approximate="none")):\n'
            "        super().__init__()\n        self.act = act_layer()\n",
            reach="interface",
        ),
        bad(
            "import functools\n\nimport torch.nn.functional as F\n\n\nclass Block:\n    def __init__(self):\n"
            "        self.act = F.gelu\n",
            at="8:20",
            fixed="import functools\n\nimport torch.nn.functional as F\n\n\nclass Block:\n    def __init__(self):\n"
            '        self.act = functools.partial(F.gelu, approximate="none")\n',
            reach="interface",
        ),
        bad(
            "from torch import nn\n\n\ndef partial(mlp, dim):\n    return mlp(dim, act_layer=nn.GELU)\n",
            at="5:31",
            fixed="import functools\n\nfrom torch import nn\n\n\ndef partial(mlp, dim):\n"
            '    return mlp(dim, act_layer=functools.partial(nn.GELU, approximate="none"))\n',
            reach="interface",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef mlp(x, act=F.gelu):\n"
            "    return fused(x) if act is F.gelu else act(x)\n",
            at="4:16",
        ),
        good("from torch import nn\n\n\ndef count(model):\n    return sum(isinstance(m, nn.GELU) for m in model)\n"),
        good(
            "from enum import Enum\nfrom typing import TypeVar, cast\n\nfrom torch import nn\n\n"
            "T = TypeVar('T', bound=nn.GELU)\n\n\nclass Kind(Enum):\n    GELU = nn.GELU\n\n\n"
            "def find(model, kind=nn.GELU):\n    return [cast(nn.GELU, m) for m in model if isinstance(m, kind)]\n"
        ),
        good('from torch import nn\n\nTABLE = {"gelu": nn.GELU, "relu": nn.ReLU}\n'),
        good("from torch import nn\n\n\ndef is_gelu(m: nn.GELU):\n    return type(m) in (nn.GELU,) or m is nn.GELU\n"),
    ),
    evidence=evidence,
    policy=True,
)
