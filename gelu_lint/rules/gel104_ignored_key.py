"""A key that the model it is written for never reads.

## What it does
Reports keys that name an activation in a configuration of a model of transformers whose configuration class has another
key for it: `hidden_act` for GPT-2 and BART, which read `activation_function`; `activation_function` for BERT, which
reads `hidden_act`; `hidden_act` for DistilBERT, which reads `activation`. Which key each of 700 configuration classes
reads was taken from the source of transformers 5.24.0. Families that it does not know are not judged, nor are
configurations that come with code of their own (`auto_map`).

## Why is this bad
The key is kept and written back by `save_pretrained`, and nothing looks at it: the model computes its family's default,
whatever the file says.

## Fix safety
The fix renames the key to the one that is read. If the value differs from the family's default, the model then computes
another function, which is stated. Where the renamed key would be a finding of its own (GEL105, GEL106), there is none.
Where both keys are there and agree, nothing is reported; where they disagree that is GEL103.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from gelu_lint.facts.activations import REGISTRIES
from gelu_lint.model import Entry, FileSummary, Finding, Fix, Project
from gelu_lint.precision import Precision
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import (
    DEFINING,
    Mapping,
    is_gelu,
    mappings,
    names_gelu,
    renamed,
    severity,
    size,
)

_KEYS = ("hidden_act", "hidden_activation", "activation_function")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    precision = functools.cache(lambda: Precision(file))
    for mapping in mappings(file) if file.entries else ():
        family = mapping.family
        if family is None or family.subs or not any(family.keys.values()) or mapping.holds(family.main):
            continue
        for entry in mapping.entries:
            if not _is_ignored(mapping, entry):
                continue
            value = _flavour(entry)
            default = family.default(family.main)
            if not (is_gelu(value) or names_gelu(entry.value) or (is_gelu(default) and value)):
                continue
            gap = size(value, default) if value and default else None
            reads = family.main or ", ".join(key for key, default in family.keys.items() if default)
            stays = f" and stays {family.keys[family.main]}" if family.main else ""
            message = f"{family.name} never reads {entry.key}: it reads {reads}{stays}"
            fix = None if entry.shared or gap is None else _fix(precision, mapping, entry, value, gap, project)
            yield report(
                "GEL104", file, entry, message, severity(gap or 0.0), fix, span=entry.key_span, flavour=default or None,
                claimed=value or None, error=gap,
            )  # fmt: skip


def _is_ignored(mapping: Mapping, entry: Entry) -> bool:
    """Whether an entry is the activation under a name that the family does not have."""
    if not isinstance(entry.value, str) or mapping.reads(entry) or entry.form in DEFINING:
        return False
    if entry.key == "activation":  # private settings have this one, too
        return entry.form == "json" and (mapping.holds("architectures") or mapping.holds("transformers_version"))
    return entry.key in _KEYS


def _flavour(entry: Entry) -> str:
    """What the value would be if it were read."""
    return REGISTRIES["transformers"].flavour(str(entry.value)) or ""


def _fix(
    precision: Callable[[], Precision], mapping: Mapping, entry: Entry, value: str, gap: float, project: Project
) -> Fix | None:
    family = mapping.family
    assert family is not None
    others = [other for other in mapping.entries if _is_ignored(mapping, other)]
    registry = REGISTRIES.get(family.registry(family.main)) if family.main else None
    if len(others) > 1 or registry is None or registry.flavour(str(entry.value)) != value:
        return None
    weights = family.weights
    if weights is not None and value != weights.flavour:
        return None
    if (project.policy and value != project.policy) or (value == "erf" and precision().half(entry) is not None):
        return None
    edit = renamed(entry, family.main)
    return Fix(f"rename it to {family.main}", (edit,), delta=gap) if edit is not None else None


def evidence() -> None:
    """The key is kept and read by nothing; under its right name it counts."""
    from transformers import BartConfig, BertConfig, DistilBertConfig, GPT2Config

    kinds: Any = (
        (GPT2Config, "hidden_act", "activation_function", "gelu"),
        (DistilBertConfig, "hidden_act", "activation", "gelu_new"),
        (BertConfig, "activation_function", "hidden_act", "gelu_new"),
        (BartConfig, "hidden_act", "activation_function", "gelu_new"),
    )
    for kind, wrong, right, value in kinds:
        default = getattr(kind(), right)
        config = kind(**{wrong: value})
        assert getattr(config, right) == default != value
        assert config.to_dict()[wrong] == value
        assert getattr(kind(**{right: value}), right) == value


_GPT2 = (
    '{{\n  "architectures": ["GPT2LMHeadModel"],\n  "model_type": "gpt2",\n  "{}": "gelu_new",\n  "n_layer": 12\n}}\n'
)
_DISTILBERT = "model:\n  model_type: distilbert\n  {}: gelu_new # as before\n  dim: 768\n"
_BERT = "[model]\nmodel_type = 'bert'\n{} = 'gelu_new'\n"

RULE = Rule(
    "GEL104",
    "ignored-key",
    "key that this model type never reads",
    "rename it to the key that is read (its delta)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _GPT2.format("hidden_act"),
            at="4:3",
            fixed=_GPT2.format("activation_function"),
            name="config.json",
        ),
        bad(
            _DISTILBERT.format("hidden_act"),
            at="3:3",
            fixed=_DISTILBERT.format("activation"),
            delta=4.73e-4,
            name="model.yaml",
        ),
        bad(
            _BERT.format("activation_function"),
            at="3:1",
            fixed=_BERT.format("hidden_act"),
            delta=4.73e-4,
            name="model.toml",
        ),
        bad('{"model_type": "gpt2", "hidden_act": "gelu"}\n', at="1:24", name="config.json"),
        good(_GPT2.format("activation_function"), name="config.json"),
        good('{"model_type": "our_own_net", "hidden_act": "gelu", "mlp_activation": "gelu"}\n', name="config.json"),
        good(
            '{"model_type": "gemma2", "hidden_act": "gelu_new", "hidden_activation": "gelu_pytorch_tanh"}\n',
            name="b.json",
        ),
        good(
            '{"model_type": "bert", "activation_function": "gelu_new", "auto_map": {"AutoConfig": "a.B"}}\n',
            name="c.json",
        ),
        good("model_type: bert\nactivation: gelu_new\n", name="private.yaml"),
    ),
    evidence=evidence,
)
