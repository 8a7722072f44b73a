"""Settings that name the erf GELU and switch training to fp16.

## What it does
Reports, in a file of settings (or one dict or call in Python), an activation that is the erf GELU of PyTorch
where the settings around it switch fp16 on: `fp16: true` of the Trainer, `fp16: {enabled: true}` of DeepSpeed,
`mixed_precision: fp16` of Accelerate, `precision: 16-mixed` of Lightning. bf16 is fine, and so is a `torch_dtype`,
which says how weights are stored. The nearest switch decides: in the same mapping, in those around it, then in a
mapping for training beside them; other documents and other items of a list are other runs. An `activation:` of a
library that is not known is not judged.

## Why is this bad
This is a policy: one flavour for all that runs in fp16, as GEL020 asks of code. It is not about accuracy: PyTorch
computes both flavours in float32 inside and rounds once, erf is finite and accurate for every fp16 input. What is left
for tanh is that cuBLASLt fuses it, alone, with the matrix product before it (pytorch#104061), and that it is what the
checkpoint was trained with, where it was.

## Fix safety
The fix writes the tanh name of the same table, which changes values by up to 4.73e-4: do it before training. Policy
and family of the model go first: where the project's policy is erf there is no fix, and where the family needs another
value GEL105 speaks instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Entry, FileSummary, Finding, Fix, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.precision import Precision, place
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import (
    DEFINING,
    FILES,
    Mapping,
    differs,
    mappings,
    plainly_erf,
    rewritten,
)

#: Keys for the activation that the configurations of transformers have, whose values are looked up in ACT2FN.
_KEYS = ("hidden_act", "hidden_activation", "activation_function")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    precision = Precision(file)
    if not precision.matters or is_test(file.place):
        return
    for mapping in mappings(file):
        changed = [entry for entry, _ in mapping.conflicts()]
        for entry in mapping.entries:
            if entry.form == "lookup" or entry in changed or is_test(file.place, entry.symbol):
                continue
            tanh = _tanh(mapping, entry)
            switch = precision.half(entry) if tanh is not None else None
            if tanh is None or switch is None:
                continue
            said = "true" if switch.value is True else switch.value
            message = (
                f"{entry.key}: {entry.value} is the erf GELU and {place(switch)}: {said} "
                f"(line {switch.key_span.row}) trains in fp16, for which the release checklist asks for tanh; erf is "
                "finite and accurate there, and a trained erf model changes by up to 4.7e-4"
            )
            fix = None
            if tanh and project.policy in ("", "tanh") and entry.form not in DEFINING and not entry.shared:
                edit = rewritten(entry, tanh)
                fix = Fix(f"write {tanh}", (edit,), delta=between("erf", "tanh").size) if edit is not None else None
            found = report("GEL106", file, entry, message, "info", fix, flavour="erf")
            yield found._replace(related=((file.path, switch.key_span, "trains in fp16"),))


def _tanh(mapping: Mapping, entry: Entry) -> str | None:
    """The name of tanh where an entry is the erf GELU, "" where that is not known; None where it is not erf."""
    if not isinstance(entry.value, str) or not mapping.reads(entry) or differs(mapping, entry):
        return None
    registry = mapping.registry(entry)
    if registry is not None:
        erf = registry.torch and registry.flavour(entry.value) == "erf"
        return registry.writes.get("tanh", "") if erf else None
    if entry.form not in (*FILES, "item"):
        return None  # who takes it is not known
    if entry.key == "approximate":
        return "tanh" if entry.value == "none" and _is_torch(mapping) else None
    return "gelu_pytorch_tanh" if entry.key in _KEYS and plainly_erf(entry) else None


def _is_torch(mapping: Mapping) -> bool:
    """Whether a mapping configures PyTorch's GELU."""
    target = mapping.named("_target_")
    return (
        target is not None and str(target.value).startswith("torch.nn.") and str(target.value).lower().endswith("gelu")
    )


def evidence() -> None:
    """The switches put the Trainer in fp16; erf is finite and accurate there, and tanh is 4.7e-4 away."""
    import torch
    import torch.nn.functional as F

    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.float16)
    x = x[torch.isfinite(x)]
    for approximate in ("none", "tanh"):
        y = F.gelu(x, approximate=approximate)
        exact = F.gelu(x.double(), approximate=approximate)
        assert torch.isfinite(y).all()
        assert ((y.double() - exact).abs() <= 1e-3 * exact.abs() + 1e-4).all()
    points = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    assert abs((F.gelu(points) - F.gelu(points, approximate="tanh")).abs().max().item() - 4.73e-4) < 1e-6


_YAML = "model:\n  hidden_size: 512\n  hidden_act: {}  # as in BERT\ntrainer:\n  fp16: {}\n  max_steps: 10000\n"
_JSON = '{{\n  "model": {{"activation_function": "{}"}},\n  "deepspeed": {{"fp16": {{"enabled": {}}}}}\n}}\n'
_TOML = "[model]\nhidden_act = '{}'\n\n[accelerate]\nmixed_precision = '{}'\n"

RULE = Rule(
    "GEL106",
    "erf-config-under-fp16",
    "fp16 training settings with an erf activation string",
    "the tanh name of the same table (4.8e-4)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _YAML.format("gelu", "true"),
            at="3:15",
            fixed=_YAML.format("gelu_pytorch_tanh", "true"),
            delta=4.73e-4,
            name="train.yaml",
        ),
        bad(
            _JSON.format("gelu", "true"),
            at="2:36",
            fixed=_JSON.format("gelu_pytorch_tanh", "true"),
            delta=4.73e-4,
            name="train.json",
        ),
        bad(
            _TOML.format("gelu_python", "fp16"),
            at="2:14",
            fixed=_TOML.format("gelu_pytorch_tanh", "fp16"),
            delta=4.73e-4,
            name="train.toml",
        ),
        bad(
            "layer:\n  _target_: torch.nn.TransformerEncoderLayer\n  activation: gelu\ntrainer: {precision: '16'}\n",
            at="3:15",
            name="lightning.yaml",
        ),
        good("model:\n  activation: gelu\ntrainer:\n  precision: 16-mixed\n", name="lightning.yaml"),
        good("runs:\n- {fp16: true}\n- {bf16: true, hidden_act: gelu}\n", name="runs.yaml"),
        good(_YAML.format("gelu_new", "true"), name="train.yaml"),
        good(_YAML.format("gelu", "false") + "  bf16: true\n", name="train.yaml"),
        good(_JSON.format("gelu", '"auto"'), name="train.json"),
        good(_TOML.format("gelu", "bf16"), name="train.toml"),
        good('{"model_type": "bert", "hidden_act": "gelu", "torch_dtype": "float16"}\n', name="config.json"),
    ),
    evidence=evidence,
    policy=True,
)
