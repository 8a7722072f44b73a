"""A GELU that is kept as an object where it cannot be stored, loaded or copied.

## What it does
Reports a lambda or a `partial` of a GELU as the activation of a Keras layer that a function builds; a GELU
function, `partial`, class or module inside a dict or list that `torch.save` writes; and a GELU function under
`torch.jit.script` (or `trace`) that is set as an attribute of a module. A `state_dict`, a lambda that is called on
the spot, layers inside a Keras layer or model class, which is stored by its `get_config`, and strings are fine. It
is silent in files that load with `weights_only=False`, `safe_globals` or `safe_mode=False`.

## Why is this bad
Keras saves a lambda and refuses to load it, and refuses to save a `partial` (TypeError); a string or a function of
Keras goes both ways (measured with keras 3.15; `save_weights` is not touched). Since torch 2.6 `torch.load` reads
weights only, and refuses a file that holds `F.gelu` or an `nn.GELU` (UnpicklingError). A scripted function cannot be
pickled, so `copy.deepcopy` of its module raises PickleError, and so do EMA copies and `torch.save(module)`.

## Fix safety
There is no fix: store the name and the flavour as a string, and look the function up where the model is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gelu_lint.model import FileSummary, Finding, Held, Project, Site
from gelu_lint.numerics.flavours import OTHERS
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    trusts = {use.detail for use in file.uses if use.kind == "trusts"}
    high, below = project.ceiling("torch")
    old = high is not None and (high < (2, 6) or (below and high[:2] == (2, 6)))
    for held in file.held:
        message = _harm(held, file.sites, trusts, old)
        if message and held.guard != "raises" and not is_test(file.place, held.symbol):
            data = (("flavour", held.flavour), ("symbol", held.symbol or None))
            yield Finding("GEL033", file.path, held.span, message, "warning", None, data, statement=held.statement)


def _harm(held: Held, sites: tuple[Site, ...], trusts: set[str], old: bool) -> str:
    """What goes wrong, "" where nothing does. ``old``: no torch that the project accepts reads weights only."""
    if held.keeper == "layer":
        if not held.callee.startswith("keras") or held.form not in ("lambda", "partial"):
            return ""
        if held.rebuilt or "keras" in trusts:
            return ""  # a layer of its own is stored by its get_config, and builds what it holds anew
        layer = held.callee.rpartition(".")[2]
        if held.form == "lambda":
            return f"{layer} is given a GELU as a lambda: keras saves the model and then refuses to load it"
        return f"{layer} is given a GELU as a partial: keras cannot serialise it, so saving the model raises"
    if held.keeper == "checkpoint":
        if "torch" in trusts or (held.form != "lambda" and old):
            return ""
        if held.form == "lambda":
            return f"torch.save cannot pickle a lambda{_key(held)}"
        what = {"module": "object", "class": "class", "partial": "partial"}.get(held.form, "function")
        return f"torch.save writes a GELU {what}{_key(held)}: torch.load, which reads weights only, refuses the file"
    if held.form != "scripted" or not ("gelu" in held.gelu.lower() or any(_computes(site, held) for site in sites)):
        return ""
    return f"{held.written} holds a scripted function: copy.deepcopy and torch.save of the module raise PickleError"


def _key(held: Held) -> str:
    return f" under {held.key}" if held.key else ""


def _computes(site: Site, held: Held) -> bool:
    """Whether a site is a GELU of the function that is held."""
    inside = site.symbol == held.gelu or site.symbol.startswith(held.gelu + ".")
    return inside and site.spelling in ("call", "formula") and site.flavour not in OTHERS


def evidence() -> None:
    """torch refuses the file and the copy; a string and a plain function pass. Keras is asked where it is installed."""
    import copy
    import importlib.util
    import io
    import pickle
    import warnings
    from functools import partial

    import torch
    import torch.nn.functional as F

    def load(value: object) -> object:
        buffer = io.BytesIO()
        torch.save({"act": value}, buffer)
        buffer.seek(0)
        return torch.load(buffer)

    def fails(kind: type[Exception], function: object, *values: object) -> bool:
        try:
            function(*values)  # type: ignore[operator]
        except kind:
            return True
        return False

    for value in (F.gelu, partial(F.gelu, approximate="tanh"), torch.nn.GELU(), torch.nn.GELU):
        assert fails(pickle.UnpicklingError, load, value)
    assert load("gelu") == {"act": "gelu"}

    def act(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        kept = (torch.jit.script(act), torch.jit.trace(act, torch.ones(2)))  # type: ignore[no-untyped-call]
    for made in kept:
        module: Any = torch.nn.Linear(2, 2)
        module.act = made
        assert fails(pickle.PickleError, copy.deepcopy, module)
    module = torch.nn.Linear(2, 2)
    module.act = act
    copy.deepcopy(module)

    if importlib.util.find_spec("keras") is None:
        return  # it was run with keras 3.15.1
    import keras

    def build(activation: object) -> str:
        return str(keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, activation=activation)]).to_json())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fails(TypeError, build, partial(keras.activations.gelu, approximate=True))
        assert fails(Exception, keras.models.model_from_json, build(lambda x: keras.activations.gelu(x)))
        keras.models.model_from_json(build("gelu"))


_SAVE = "import torch\nimport torch.nn.functional as F\n\n\ndef save(model, path):\n"

RULE = Rule(
    "GEL033",
    "unserialisable-activation",
    "lambda or partial as a Keras activation, GELU object in a checkpoint, scripted GELU on a module",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(_SAVE + '    torch.save({"state": model.state_dict(), "act": F.gelu}, path)\n', at="6:53"),
        bad(
            "import keras\nfrom keras import layers\n\n\ndef head():\n"
            "    return layers.Dense(8, activation=lambda x: keras.activations.gelu(x, approximate=True))\n",
            at="6:39",
        ),
        bad(
            "import torch\nfrom torch import nn\n\n\nclass Block(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n\n        def fast(x):\n"
            '            return nn.functional.gelu(x, approximate="tanh")\n\n'
            "        self.act = torch.jit.script(fast)\n",
            at="12:20",
        ),
        good(_SAVE + '    torch.save({"state": model.state_dict(), "act": "gelu"}, path)\n'),
        good(_SAVE + '    torch.save({"y": F.gelu(model.w, approximate="none")}, path)\n'),
        good(
            'import keras\n\n\n@keras.saving.register_keras_serializable("m")\ndef tanh_gelu(x):\n'
            "    return keras.activations.gelu(x, approximate=True)\n\n\ndef head():\n"
            "    return keras.layers.Dense(8, activation=tanh_gelu)\n"
        ),
        good(
            'from torch import nn\n\n\ndef net(d):\n    act = lambda: nn.GELU(approximate="tanh")\n'
            "    return nn.Sequential(nn.Linear(d, d), act())\n"
        ),
    ),
    evidence=evidence,
    opt_in=True,
)
