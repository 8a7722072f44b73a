"""A GELU that settings instantiate, without the argument that says which.

## What it does
Reports `_target_: torch.nn.GELU` (Hydra, MONAI), `class_path: torch.nn.GELU` (Lightning's command line) and `target:`
with `params:` where no `approximate` is given, and the functions likewise (`torch.nn.functional.gelu` with
`_partial_: true`, `jax.nn.gelu`, `flax.linen.gelu`).

## Why is this bad
This is the policy of GEL001, for settings: which GELU it is is decided out of sight, by the default of the framework.
That is erf for PyTorch and tanh for JAX, so the same line means two functions.

## Fix safety
The fix adds the default of today, which changes nothing. Where `[tool.gelu-lint] approximate` is set, it adds that
flavour, and states the change. Where the declared floor of torch is below 1.12, which has no such argument, there is no
fix; nor is there one that says erf in settings that train in fp16, which GEL106 would report, nor where another key is
nearly `approximate`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from gelu_lint.facts.settings import is_nearly_approximate
from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose, default_of, why_not
from gelu_lint.model import Entry, FileSummary, Finding, Fix, Project, Value
from gelu_lint.numerics.flavours import between
from gelu_lint.precision import Precision
from gelu_lint.rule import Rule, bad, good, report
from gelu_lint.settings import Mapping, added, mappings, spelled

#: Keys that name what is built, each with the key of the mapping that holds the arguments ("" where they stand beside).
_TARGETS = {"_target_": "", "class_path": "init_args", "target": "params"}


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    targets = any(entry.key in _TARGETS and "gelu" in str(entry.value).lower() for entry in file.entries)
    found = list(mappings(file)) if targets else []
    precision = functools.cache(lambda: Precision(file))
    for mapping in found:
        for entry in mapping.entries:
            row = callables().get(str(entry.value)) if entry.key in _TARGETS else None
            if row is None or not row.keyword or not row.flavour:
                continue
            inside = _TARGETS[entry.key]
            if entry.form in ("prose", "mention") or _is_given(mapping, entry, row.keyword, inside, found):
                continue
            value, flavour = default_of(row, project.policy)
            message = (
                f"{entry.key}: {entry.value} without {row.keyword} is the {row.flavour} GELU by default: say so"
                f"{why_not(row, project)}"
            )
            typo = next((other for other in mapping.entries if is_nearly_approximate(other.key)), None)
            switch = precision().half(entry) if row.framework == "torch" and flavour == "erf" else None
            if typo is not None:
                message += f" (no fix: is {typo.key} meant to be {row.keyword}?)"
            elif switch is not None:
                message += f" (no fix: line {switch.key_span.row} trains in fp16, for which GEL106 asks for tanh)"
            fix = None
            if (
                typo is None
                and switch is None
                and can_choose(row, project)
                and not entry.shared
                and not (inside and mapping.holds(inside))
            ):
                fix = _fix(entry, inside, row.keyword, value, between(row.flavour, flavour).size)
            yield report("GEL107", file, entry, message, "info", fix, flavour=row.flavour)


def _is_given(mapping: Mapping, entry: Entry, keyword: str, inside: str, others: list[Mapping]) -> bool:
    """Whether the argument is given, or may be."""
    if not inside:
        return mapping.holds(keyword) or mapping.holds("_args_")
    path = (*entry.path, inside)
    return any(other.entries[0].path == path and other.holds(keyword) for other in others)


def _fix(entry: Entry, inside: str, keyword: str, value: Value, delta: float | None) -> Fix | None:
    edit = added(entry, keyword, value)
    if edit is None:
        return None
    if inside:
        if entry.form != "yaml":
            return None
        edit = added(entry, inside, None)
        assert edit is not None
        start = edit.content[: edit.content.rindex(": ")]
        edit = edit._replace(content=f"{start}: {{{keyword}: {spelled(entry, value)}}}")
    return Fix(f"add {keyword}: {spelled(entry, value)}", (edit,), delta=delta)


def evidence() -> None:
    """Hydra builds the erf GELU from the bare target, and the same from what the fix writes; tanh must be asked for."""
    import torch
    from hydra.utils import instantiate

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    bare = instantiate({"_target_": "torch.nn.GELU"})(x)
    assert torch.equal(bare, instantiate({"_target_": "torch.nn.GELU", "approximate": "none"})(x))
    assert (bare - instantiate({"_target_": "torch.nn.GELU", "approximate": "tanh"})(x)).abs().max() > 4.7e-4
    partial = {"_target_": "torch.nn.functional.gelu", "_partial_": True}
    assert torch.equal(bare, instantiate(partial)(x))


_YAML = "encoder:\n  width: 256\n  act:\n    _target_: torch.nn.GELU  # smooth\n{}  depth: 4\n"
_LIST = "layers:\n- _target_: torch.nn.functional.gelu\n{}  _partial_: true\n"
_JSON = '{{\n  "act": {{\n    "_target_": "torch.nn.GELU"{}\n  }}\n}}\n'
_TOML = "[act]\n_target_ = 'torch.nn.GELU'\n{}\n[head]\nact = {{ _target_ = \"jax.nn.gelu\"{} }}\n"
_CLI = "model:\n  act:\n    class_path: torch.nn.GELU\n{}"

RULE = Rule(
    "GEL107",
    "target-without-approximate",
    "settings instantiate a GELU (`_target_` of Hydra and kin) without `approximate`",
    "add today's default (0)",
    "info",
    check,
    __doc__,
    examples=(
        bad(_YAML.format(""), at="4:15", fixed=_YAML.format("    approximate: none\n"), name="model.yaml"),
        bad(_LIST.format(""), at="2:13", fixed=_LIST.format("  approximate: none\n"), name="model.yaml"),
        bad(
            _JSON.format(""),
            at="3:17",
            fixed=_JSON.format(',\n    "approximate": "none"'),
            name="bundle.json",
        ),
        bad(
            _TOML.format("", ""),
            at="2:12 5:20",
            fixed=_TOML.format("approximate = 'none'\n", ", approximate = true"),
            name="model.toml",
        ),
        bad(
            _CLI.format(""),
            at="3:17",
            fixed=_CLI.format("    init_args: {approximate: none}\n"),
            name="cli.yaml",
        ),
        bad(
            _YAML.format(""),
            at="4:15",
            fixed=_YAML.format("    approximate: tanh\n"),
            delta=4.73e-4,
            options={"approximate": "tanh"},
            name="model.yaml",
        ),
        good(_YAML.format("    approximate: tanh\n"), name="model.yaml"),
        good("act:\n  _target_: torch.nn.GELU\n  _args_: [tanh]\n", name="model.yaml"),
        good("act: {_target_: torch.nn.SiLU}\ngelu_note: torch.nn.GELU is used above\n", name="model.yaml"),
        good(_CLI.format("    init_args:\n      approximate: tanh\n"), name="cli.yaml"),
    ),
    evidence=evidence,
    policy=True,
)
