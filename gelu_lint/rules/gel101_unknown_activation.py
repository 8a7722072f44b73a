"""The name of an activation that the table it is looked up in does not have.

## What it does
Reports names of GELUs in settings (JSON, YAML, TOML; keyword arguments, defaults and dicts in Python) that the library
which reads them does not know: `"hidden_act": "gelu_tanh"` in a configuration of transformers, whose name for it is
`gelu_pytorch_tanh`; `activation="gelu_new"` for a layer of PyTorch or Keras. A name is judged only where it is sure
who looks it up: the mapping names a model type or class of transformers, or the layer is known.

## Why is this bad
`ACT2FN["gelu_tanh"]` raises KeyError, when the model is built or, in a layer that looks it up late, at the first
forward. The same name is right elsewhere (timm has a `gelu_tanh`), which is how it gets there.

## Fix safety
Today's code raises, so nothing that runs is changed. The fix writes the name of the function that the wrong name says:
in transformers `gelu_pytorch_tanh` for tanh, `gelu` for erf, `quick_gelu` for x·σ(1.702x). Where the name may mean
several, the project's policy or the family of the model decides, and where these do not there is no fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.activations import REGISTRIES, Registry
from gelu_lint.model import Entry, FileSummary, Finding, Fix, Project
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import (
    DEFINING,
    FILES,
    Mapping,
    half,
    is_gelu,
    mappings,
    meant,
    names_activation,
    names_gelu,
    plain,
    rewritten,
    shared,
)


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for mapping in mappings(file) if file.entries else ():
        for entry in mapping.entries:
            registry = _looked_up(mapping, entry)
            if registry is None or not registry.raises or not entry.value or not isinstance(entry.value, str):
                continue
            if registry.flavour(entry.value) is not None or not _ours(mapping, entry):
                continue
            if entry.form not in FILES and is_test(file.place, entry.symbol):
                continue  # that it raises may be what is tested
            wanted = _wanted(mapping, entry, registry, project)
            fix = None
            if wanted and not shared(file, entry) and not (registry.flavour(wanted) == "erf" and half(file, entry)):
                edit = rewritten(entry, wanted)
                fix = Fix(f"write {wanted}", (edit,)) if edit is not None else None
            table = "ACT2FN of transformers" if registry is REGISTRIES["transformers"] else _table(registry)
            hint = f"; its name for that is {wanted}" if wanted else ""
            unless = " unless it is registered as a custom object" if registry is REGISTRIES["keras"] else ""
            message = f"{entry.key}: {table} has no {entry.value!r}, so it raises {registry.raises}{unless}{hint}"
            claimed = registry.flavour(wanted) if wanted else None
            grave = "warning" if unless else "error"
            yield report("GEL101", file, entry, message, grave, None if unless else fix, claimed=claimed or None)


def _looked_up(mapping: Mapping, entry: Entry) -> Registry | None:
    """The table in which the value of an entry is surely looked up."""
    if not names_activation(entry):
        return None
    if entry.registry == "keras" and entry.form in DEFINING:
        return None  # Keras takes names that are registered, and who registers them splits them, too
    if entry.registry or mapping.family is None:
        return mapping.registry(entry)
    if entry.form in DEFINING or entry.key not in mapping.family.keys:
        return None
    return mapping.registry(entry)


def _table(registry: Registry) -> str:
    return registry.source.partition(" of ")[0] if " of " in registry.source else "the table of its library"


def _ours(mapping: Mapping, entry: Entry) -> bool:
    """Whether a GELU is named, or is what the family has there."""
    return names_gelu(entry.value) or (mapping.family is not None and is_gelu(mapping.family.default(entry.key)))


def _wanted(mapping: Mapping, entry: Entry, registry: Registry, project: Project) -> str:
    """The name to write, "" where that is not clear."""
    said = meant(str(entry.value))
    weights = mapping.family.weights if mapping.family is not None and entry.key == mapping.family.main else None
    for flavour in (project.policy, weights.flavour if weights is not None else ""):
        if flavour and flavour in said:
            return registry.writes.get(flavour, "")
    if weights is not None:
        return ""  # what it says is not what the family has: which of the two is wrong, nobody knows
    if len(said) == 1:
        return registry.writes.get(next(iter(said)), "")
    return registry.writes.get("erf", "") if plain(str(entry.value)) else ""


def evidence() -> None:
    """The wrong names raise where they are looked up; what the fixes write is there, and is what the name says."""
    import torch
    from transformers import BertConfig, BertModel
    from transformers.activations import ACT2FN

    x = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    for name, instead, approximate in (("gelu_tanh", "gelu_pytorch_tanh", "tanh"), ("GELU", "gelu", "none")):
        try:
            ACT2FN[name]
        except KeyError:
            pass
        else:
            raise AssertionError(name)
        assert torch.allclose(ACT2FN[instead](x), torch.nn.functional.gelu(x, approximate=approximate), atol=1e-12)
    config = BertConfig(hidden_act="gelu_tanh", num_hidden_layers=1, hidden_size=8, num_attention_heads=1, vocab_size=9)
    try:
        BertModel(config)
    except KeyError:
        pass
    else:
        raise AssertionError("BertModel takes gelu_tanh")
    try:
        torch.nn.TransformerEncoderLayer(8, 1, activation="gelu_tanh")
    except RuntimeError:
        return
    raise AssertionError("the layer takes gelu_tanh")


_JSON = (
    '{{\n  "architectures": ["SiglipVisionModel"],\n  "model_type": "siglip_vision_model",\n  "hidden_act": "{}",\n'
    '  "hidden_size": 768\n}}\n'
)
_HYDRA = "encoder:\n  _target_: transformers.BertConfig\n  hidden_act: {}  # as in the paper\n  hidden_size: 384\n"

RULE = Rule(
    "GEL101",
    "unknown-activation",
    "settings name an activation that the library which reads them does not know",
    "the name of that function there (0)",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            _JSON.format("gelu_tanh"),
            at="4:17",
            fixed=_JSON.format("gelu_pytorch_tanh"),
            name="config.json",
        ),
        bad(_HYDRA.format("gelu-tanh"), at="3:15", fixed=_HYDRA.format("gelu_pytorch_tanh"), name="model.yaml"),
        bad(
            "model_type = \"bert\"\nhidden_act = 'GELU'\n",
            at="2:14",
            fixed="model_type = \"bert\"\nhidden_act = 'gelu'\n",
            name="model.toml",
        ),
        bad('{"model_type": "bert", "hidden_act": "geglu"}\n', at="1:38", name="config.json"),
        bad(
            "layer:\n  _target_: torch.nn.TransformerEncoderLayer\n  d_model: 64\n  nhead: 8\n  activation: gelu_new\n",
            at="5:15",
            name="layer.yaml",
        ),
        good('{"model_type": "bert", "hidden_act": "gelu_fast"}\n', name="config.json"),
        good('{"hidden_act": "gelu_tanh", "dim": 64}\n', name="other.json"),
        good('{"model_type": "our_own_net", "hidden_act": "gelu_tanh"}\n', name="config.json"),
        good('{"model_type": "llama", "hidden_act": "SiLU"}\n', name="config.json"),
        good('{"model_type": "t5", "feed_forward_proj": "gated-gelu"}\n', name="config.json"),
    ),
    evidence=evidence,
)
