"""What an activation in a live model is given out for: by names, by attributes, by the configuration that it is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch import nn

from gelu_lint.claims import PLAIN, claim, gate_only, says_glu, says_other, words
from gelu_lint.facts.activations import REGISTRIES
from gelu_lint.facts.families import MAIN, Family, by_class, by_type
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.numerics.flavours import GELUS

#: Words beside "gelu" in a name that say who computes it and how, not that more is done.
_WHOLE = frozenset(
    (
        *("gelu", "gelus", "a", "my", "our", "own", "the", "custom", "simple", "naive", "manual", "basic", "plain"),
        *("vanilla", "standard", "original", "orig", "old", "stable", "safe", "fused", "jit", "script", "scripted"),
        *("compiled", "eager", "native", "kernel", "triton", "cuda", "cpu", "gpu", "pytorch", "python", "py"),
        *("torch", "np", "numpy", "jax", "tf", "tensorflow", "keras", "hf", "timm", "bert", "gpt", "openai", "open"),
        *("ai", "google", "megatron", "activation", "act", "fn", "func", "function", "op", "impl", "layer", "module"),
        *("forward", "fwd", "autograd", "unit", "reference", "ref", "v", "x", "apply", "compute", "test", "quick"),
        *("sigmoid", "logistic", "tanh", "new", "erf", "exact", "accurate", "fast", "faster", "approx"),
        *("approximate", "approximated", "approximation"),
    )
)  # fmt: skip
_APPROXIMATE = {"none": "erf", "tanh": "tanh"}


def attribute(thing: Any, name: str) -> Any:
    """An attribute of what others wrote; None where it has none, or has a property that raises."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


class Claim(NamedTuple):
    """What says which flavours something may be. ``who`` is how it is told, ``under`` the same within a sentence, and
    ``says`` the flavours that a name is to be read as, where it says which GELU it is."""

    flavours: frozenset[str]
    who: str
    under: str
    gate: bool = False
    says: tuple[str, ...] = ()

    def flavour(self, *computed: str) -> str:
        """The one flavour that is claimed: what is computed, or else what that is nearest to, if it may be that."""
        order = (*computed, *GELUS)
        return next((name for name in order if name in self.flavours), next(iter(self.flavours)))


def by_name(name: str, kind: str) -> Claim | None:
    """What a name says; None where it claims no GELU."""
    flavours = claim(name)
    if not flavours:
        return None
    if "accurate" in words(name):
        flavours |= {"tanh"}  # so Hugging Face calls its tanh form
    says = tuple(flavour for flavour in GELUS if flavour in flavours and flavours != PLAIN)
    return Claim(flavours, f"{kind} {name}", f"under the name {name}", gate_only(name), says)


def denies(name: str) -> bool:
    """Whether a name says that this is something else than a plain GELU."""
    return says_other(name) or (not claim(name) and "gelu" in name.lower())  # GELUT, ScaledGELU


def whole(name: str) -> bool:
    """Whether a name is that of a GELU alone, and not of what does more: gelu_with_scale, bias_gelu."""
    return bool(claim(name)) and _WHOLE.issuperset(words(name))


def by_unit(name: str, kind: str) -> Claim | None:
    """What the name of a gated unit says of the activation inside: GEGLU."""
    return by_name(name, kind) if says_glu(name) and claim(name) else None


def by_attribute(module: nn.Module) -> Claim | None:
    """What ``approximate`` of a module says."""
    value = attribute(module, "approximate")
    flavour = _APPROXIMATE.get(value) if isinstance(value, str) else None
    said = f"approximate={value!r}"
    return Claim(frozenset((flavour,)), said, f"where {said} is set") if flavour else None


def of_layer(layer: nn.Module) -> Claim | None:
    """What the activation that a layer was built with says of the one in its fast path."""
    activation = attribute(layer, "activation")
    said = by_attribute(activation) if isinstance(activation, nn.Module) else None
    if said is not None:
        who = f"activation.{said.who}"
        return said._replace(who=who, under=f"where {who} is set, which its fast path does not look at")
    if activation is nn.functional.gelu:
        who = "activation=torch.nn.functional.gelu"
        return Claim(frozenset(("erf",)), who, f"where {who} is given")
    return None


def hidden(module: nn.Module) -> Iterator[Claim]:
    """What parts of a module say that never run, because an attribute of the same name hides them: copies of torch's
    decoder layers have such a part, if their activation was a module (``TransformerDecoderLayer.__setstate__``)."""
    for name, part in module._modules.items():
        if part is not None and name in vars(module):
            said = by_attribute(part) or by_name(type(part).__name__, "")
            if said is not None:
                who = " ".join(f"{name}={part!r}".split())
                under = f"where {who} was given, which an attribute of the same name hides"
                yield said._replace(who=who, under=under, says=())


def strongest(claims: Iterable[Claim | None]) -> Claim | None:
    """The claim that counts: the first that says which GELU, else the first of all."""
    made = [found for found in claims if found is not None]
    return next((found for found in made if found.flavours != PLAIN), made[0] if made else None)


class Setting(NamedTuple):
    """A key of a configuration that names an activation, and the flavour of that name ("" for what has none here)."""

    key: str
    value: str
    flavour: str
    main: bool

    def claim(self) -> Claim:
        """What it says of an activation."""
        said = f"config.{self.key}={self.value!r}"
        name = "SiLU" if self.flavour == "silu" else "ReLU" if self.flavour == "relu" else f"the {self.flavour} GELU"
        return Claim(frozenset((self.flavour,)), said, f"where {said} says {name}")


def settings_of(config: Any) -> list[Setting]:
    """The activations that a configuration names, the one of its layers first.

    Families of Hugging Face are known by their class or ``model_type``, and with them the table that a name is looked
    up in; in any other configuration the usual keys count, and names mean what they mean there.
    """
    family = by_class(type(config).__name__) or by_type(str(_value(config, "model_type") or ""))
    found = []
    for key in _keys(family):
        value = _value(config, key)
        registry = REGISTRIES.get(family.registry(key) if family is not None else _registry(key))
        if isinstance(value, str) and registry is not None:
            found.append(Setting(key, value, registry.flavour(value) or "", False))
    for i, setting in enumerate(found):
        if setting.key == family.main if family is not None else setting.key in MAIN:
            found[i] = setting._replace(main=True)
            break
    return found


def _registry(key: str) -> str:
    return "transformers_t5" if key == "feed_forward_proj" else "transformers"


def _keys(family: Family | None) -> Iterator[str]:
    if family is not None:
        yield from sorted(family.keys, key=lambda key: key != family.main)
    else:
        yield from (key for key in MAIN if key != "afn")
        yield from sorted(ACTIVATION_KEYS.difference(MAIN))


def _value(config: Any, key: str) -> Any:
    try:
        return config.get(key) if isinstance(config, Mapping) else getattr(config, key, None)
    except Exception:  # a configuration that computes its values
        return None


def config_of(model: nn.Module, path: str) -> Any:
    """The configuration that a module at a dotted path is in: that of the nearest module that has one."""
    chain: list[nn.Module] = [model]
    for part in path.split(".") if path else ():
        child = chain[-1]._modules.get(part)
        if child is None:
            break
        chain.append(child)
    for module in reversed(chain):
        config = attribute(module, "config")
        if config is not None and not isinstance(config, (str, int, float, nn.Module)):
            return config
    return None


def pattern(path: str) -> str:
    """A path with its numbers left out: what layers of a model have in common."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", path)


def common(paths: Sequence[str]) -> str:
    """What paths with the same pattern have in common, a star where their numbers differ."""
    parts = zip(*(path.split(".") for path in paths), strict=True)
    return ".".join(first if len({first, *others}) == 1 else "*" for first, *others in parts)


def last_word(path: str) -> str:
    """The name of the attribute that a path ends with, "" for a position in a list."""
    name = path.rpartition(".")[2]
    return "" if name.isdigit() else name
