"""Two keys of one configuration that should say the same, and do not.

## What it does
Looks at configurations of models of transformers that set both the key that the model reads (`hidden_activation` for
Gemma 2 and 3, `activation_function` for GPT-2 and BART) and another that sounds the same (`hidden_act`), to different
functions, one of them a GELU at least.

## Why is this bad
transformers reads one of them; other programs that load the same file read the other: vLLM, llama.cpp's converter and
MLX each have their own idea. The model then computes different functions in different programs: erf and tanh differ by
up to 4.7e-4, GELU and SiLU by 0.193.

## Fix safety
The fix writes the value that transformers reads into the key that it does not, which changes nothing there. For Gemma 1
it depends on the release which key is read, so there the fix states the difference. Where the value that is read is
itself not that of the family (GEL105), there is no fix here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gelu_lint.model import Entry, FileSummary, Finding, Fix, Project
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import Mapping, mappings, rewritten, severity, size


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for mapping in mappings(file) if file.entries else ():
        for entry, counts in mapping.conflicts():
            family = mapping.family
            assert family is not None
            gap = size(mapping.meant(counts), mapping.meant(entry))
            apart = f" (up to {gap:.2g} apart)" if gap else ""
            reads = f"{family.name} reads {family.main}, other programs the other"
            if family.reads(entry.key) and family.reads(counts.key):
                reads = f"it depends on the release of transformers which of them {family.name} reads"
            message = f"{entry.key} is {entry.value!r} and {counts.key} is {counts.value!r}{apart}: {reads}"
            fix = None if entry.shared or counts.shared else _fix(mapping, entry, counts, project)
            found = report(
                "GEL103", file, entry, message, severity(gap), fix, flavour=mapping.flavour(entry) or None,
                claimed=mapping.flavour(counts) or None, error=gap,
            )  # fmt: skip
            yield found._replace(related=((file.path, counts.key_span, f"{counts.key} says another"),))


def _fix(mapping: Mapping, entry: Entry, counts: Entry, project: Project) -> Fix | None:
    """What counts wins, where it is what the family (and the project) wants."""
    family, flavour = mapping.family, mapping.flavour(counts)
    assert family is not None
    weights = family.weights
    if not flavour or (project.policy and flavour != project.policy):
        return None
    if weights is not None and flavour != weights.flavour:
        return None
    edit = rewritten(entry, str(counts.value))
    if edit is None:
        return None
    delta = size(mapping.meant(entry), flavour) if family.reads(entry.key) else 0.0
    return Fix(f"write {counts.value} into {entry.key}, too", (edit,), delta=delta)


def evidence() -> None:
    """Gemma 2 computes what hidden_activation says, whatever hidden_act does."""
    import torch
    from transformers import Gemma2Config, Gemma2Model

    build: Any = Gemma2Config
    config = build(
        hidden_act="gelu", hidden_activation="gelu_pytorch_tanh", vocab_size=9, num_hidden_layers=1, hidden_size=8,
        intermediate_size=8, num_attention_heads=1, num_key_value_heads=1, head_dim=8,
    )  # fmt: skip
    model: Any = Gemma2Model(config)
    act = model.layers[0].mlp.act_fn
    x = torch.linspace(-6, 6, 1201)
    assert torch.allclose(act(x), torch.nn.functional.gelu(x, approximate="tanh"))
    assert (act(x) - torch.nn.functional.gelu(x)).abs().max() > 4.7e-4
    assert config.hidden_act == "gelu", "and another program would find this"


_JSON = '{{\n  "model_type": "gemma2",\n  "hidden_act": "{}",\n  "hidden_activation": "gelu_pytorch_tanh"\n}}\n'
_YAML = (
    "model:\n  model_type: gpt2\n  activation_function: gelu_new\n  hidden_act: {}  # for the other runtime\n"
    "  n_embd: 768\n"
)
_GEMMA = '{{"model_type": "gemma", "hidden_act": "{}", "hidden_activation": "gelu_pytorch_tanh"}}\n'

RULE = Rule(
    "GEL103",
    "conflicting-keys",
    "`hidden_act` and `hidden_activation` (and their kin) disagree",
    "the value of the key that the model reads (0)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(_JSON.format("gelu"), at="3:17", fixed=_JSON.format("gelu_pytorch_tanh"), name="config.json"),
        bad(_YAML.format("silu"), at="4:15", fixed=_YAML.format("gelu_new"), name="model.yaml"),
        bad(
            _GEMMA.format("gelu"),
            at="1:39",
            fixed=_GEMMA.format("gelu_pytorch_tanh"),
            delta=4.73e-4,
            name="config.json",
        ),
        good(_JSON.format("gelu_new"), name="config.json"),
        good('{"model_type": "our_own_net", "hidden_act": "gelu", "hidden_activation": "silu"}\n', name="config.json"),
        good(
            '{"model_type": "llava", "projector_hidden_act": "gelu", "text_config": {"model_type": "llama", '
            '"hidden_act": "silu"}}\n',
            name="config.json",
        ),
        good('{"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "hidden_activation": null}\n', name="a.json"),
    ),
    evidence=evidence,
)
