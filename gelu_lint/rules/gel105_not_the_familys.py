"""A value that is not what the weights of this family of models were trained with.

## What it does
Reports configurations whose activation differs from that of the published weights of their model type: `"gelu"` (erf)
for Gemma, GPT-2, ALBERT or SigLIP, whose weights need tanh; a plain `"gelu"` for OpenAI's CLIP, which needs
`"quick_gelu"`. Another name for the same function is right. Judged are families whose default in transformers 5.24.0 is
the tanh or quick GELU, and whose published configurations agree with it; parts of a composite model (`text_config`) are
judged by the family that its place gives them.

## Why is this bad
Loading works, nothing is logged, and every layer computes something else than it was trained with: by up to 4.7e-4
(erf for tanh), 2.0e-2 (erf for quick) or 0.19 (SiLU).

For Gemma 1 it depends on the release what `"hidden_act": "gelu"` computes: transformers 4.38 and 4.48 to 5.17 compute
erf; 4.39 to 4.47 ignore the key and compute tanh; from 5.19 on it is corrected to tanh.

## Fix safety
The fix writes the family's value and states the change. For Gemma 1 it sets `hidden_act` and `hidden_activation`, so
that all releases agree. A model that was trained from scratch with the other value must keep it: then this is the line
to suppress. Where the project's policy is another flavour there is no fix. Tests are not judged: their weights are
random.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Edit, Entry, FileSummary, Finding, Fix, Project
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import DEFINING, Mapping, added, differs, is_gelu, mappings, rewritten, severity, size

_GEMMA_1 = "; transformers 4.38 and 4.48 to 5.17 compute erf from it, 4.39 to 4.47 and 5.19 on tanh"


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for mapping in mappings(file) if file.entries else ():
        for entry in mapping.entries:
            if entry.form in DEFINING or not differs(mapping, entry) or is_test(file.place, entry.symbol):
                continue
            family = mapping.family
            assert family is not None and family.weights is not None
            weights, flavour = family.weights, mapping.flavour(entry)
            gap = size(flavour, weights.flavour)
            wanted = family.keys[family.main]
            what = f"{entry.value!r} ({flavour})" if is_gelu(flavour) else repr(entry.value)
            message = f"{entry.key} is {what}, but {weights.whose}: up to {gap:.2g} off" if gap else ""
            if family.name == "GemmaConfig" and entry.value == "gelu":
                message += _GEMMA_1
            fix = None if entry.shared else _fix(file, mapping, entry, wanted, gap, project)
            grave = "warning" if weights.unless else severity(gap)
            yield report(
                "GEL105", file, entry, message, grave, fix, flavour=flavour, claimed=weights.flavour, error=gap
            )


def _fix(
    file: FileSummary, mapping: Mapping, entry: Entry, wanted: str, gap: float | None, project: Project
) -> Fix | None:
    family = mapping.family
    assert family is not None and family.weights is not None
    edit = rewritten(entry, wanted)
    if edit is None or (project.policy and project.policy != family.weights.flavour):
        return None
    edits = [edit]
    if family.name == "GemmaConfig":
        edits += _other_key(mapping, entry, wanted)
    return Fix(f"write {wanted}", tuple(edits), delta=gap)


def _other_key(mapping: Mapping, entry: Entry, wanted: str) -> Iterator[Edit]:
    """Gemma 1: the key that only some releases read, set as well."""
    key = "hidden_activation"
    held = [other for other in mapping.entries if other.key == key]
    edit = added(entry, key, wanted) if not held else None
    if held and held[0].literal and held[0].value is None and held[0].span[:2] != held[0].span[2:]:
        edit = rewritten(held[0]._replace(quote=entry.quote), wanted)
    if edit is not None:
        yield edit


def evidence() -> None:
    """The default of the families is what their originals compute, and the wrong value computes another function."""
    import math

    import torch
    from transformers import AlbertConfig, CLIPTextConfig, Gemma2Config, GemmaConfig, GPT2Config
    from transformers.activations import ACT2FN

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    tanh = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    quick = x * torch.sigmoid(1.702 * x)
    for kind, key, original, gap in (
        (GPT2Config, "activation_function", tanh, 4.7e-4),
        (AlbertConfig, "hidden_act", tanh, 4.7e-4),
        (GemmaConfig, "hidden_act", tanh, 4.7e-4),
        (Gemma2Config, "hidden_activation", tanh, 4.7e-4),
        (CLIPTextConfig, "hidden_act", quick, 2.0e-2),
    ):
        assert torch.allclose(ACT2FN[getattr(kind(), key)](x), original, atol=1e-12), kind
        assert (ACT2FN["gelu"](x) - original).abs().max() > gap, kind
    assert GemmaConfig(hidden_act="gelu").hidden_act == "gelu_pytorch_tanh", "as of 5.19"


_GEMMA2 = '{{\n  "architectures": ["Gemma2ForCausalLM"],\n  "model_type": "gemma2",\n  "hidden_activation": "{}"\n}}\n'
_GEMMA1 = '{{\n  "model_type": "gemma",\n  "hidden_act": "{}",{}\n  "hidden_size": 2048\n}}\n'
_NESTED = (
    "model:\n  model_type: gemma3\n  text_config:\n    hidden_activation: '{}' # of the text\n    hidden_size: 8\n"
)
_CLIP = "_target_ = 'transformers.CLIPTextConfig'\nhidden_act = '{}'\n"

RULE = Rule(
    "GEL105",
    "not-the-familys",
    "value differs from what this family's weights were trained with (Gemma, ALBERT, CLIP, GPT-2 …)",
    "the family's value (its delta)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _GEMMA2.format("gelu"),
            at="4:24",
            fixed=_GEMMA2.format("gelu_pytorch_tanh"),
            delta=4.73e-4,
            name="config.json",
        ),
        bad(
            _GEMMA1.format("gelu", ""),
            at="3:17",
            fixed=_GEMMA1.format("gelu_pytorch_tanh", '\n  "hidden_activation": "gelu_pytorch_tanh",'),
            delta=4.73e-4,
            name="config.json",
        ),
        bad(
            _GEMMA1.format("gelu", '\n  "hidden_activation": null,'),
            at="3:17",
            fixed=_GEMMA1.format("gelu_pytorch_tanh", '\n  "hidden_activation": "gelu_pytorch_tanh",'),
            delta=4.73e-4,
            name="config.json",
        ),
        bad(
            _NESTED.format("gelu"),
            at="4:24",
            fixed=_NESTED.format("gelu_pytorch_tanh"),
            delta=4.73e-4,
            name="model.yaml",
        ),
        bad(
            _CLIP.format("gelu"),
            at="2:14",
            fixed=_CLIP.format("quick_gelu"),
            delta=2.03e-2,
            name="clip.toml",
        ),
        good('{"model_type": "gpt2", "activation_function": "gelu_pytorch_tanh"}\n', name="config.json"),
        good('{"model_type": "clip_text_model", "hidden_act": "quick_gelu"}\n', name="config.json"),
        good(
            '{"_name_or_path": "laion/CLIP-ViT-B-32", "model_type": "clip_text_model", "hidden_act": "gelu"}\n',
            name="config.json",
        ),
        good('{"model_type": "bert", "hidden_act": "gelu_new"}\n', name="config.json"),
        good('{"model_type": "gpt2", "activation_function": "relu"}\n', name="config.json"),
    ),
    evidence=evidence,
)
