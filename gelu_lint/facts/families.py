"""Families of models in transformers: which key each reads its activation from, and what its weights need.

The table itself is read in the source of transformers (see ``model_types``). What is known beyond that stands here,
with where it was read.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from gelu_lint.facts.activations import ELSEWHERE, REGISTRIES
from gelu_lint.facts.model_types import TABLE

#: Keys for the activation of the layers of a model, of which a family reads one. All others are of single parts.
MAIN = (
    *("hidden_act", "hidden_activation", "activation_function", "activation", "feed_forward_proj", "dense_act_fn"),
    *("afn", "ff_activation", "mlp_hidden_act"),
)
#: Those that people write for families that read another.
GENERIC = ("hidden_act", "hidden_activation", "activation_function", "activation")

#: Families with a reading of their own: udop's gated-gelu is erf, pop2piano reads dense_act_fn instead.
_OWN_WAY = ("UdopConfig", "Pop2PianoConfig")


class Weights(NamedTuple):
    """What the published weights of a family need, where configurations often say otherwise.

    flavour  what they were trained with
    whose    whose weights they are, as a message says it
    strict   nobody trains this family with anything else, not even with what is no GELU
    unless   words in ``_name_or_path`` of weights that were trained with another
    within   how the names of families begin whose models hold these weights: inside others they were trained anew
    except_  how the names of classes end whose weights may be others'
    """

    flavour: str
    whose: str
    strict: bool = False
    unless: tuple[str, ...] = ()
    within: str = ""
    except_: tuple[str, ...] = ()


#: Gemma was trained with jax.nn.gelu, whose default is tanh: huggingface/transformers#29402.
_GEMMA = Weights("tanh", "Gemma's weights were trained with the tanh GELU of JAX", strict=True)
#: OpenAI's are quick, those of LAION and others plain: open_clip/pretrained.py, open_clip/model.py. An encoder inside
#: another family, as in Sam3Config of transformers 5.24, is erf by default. Whose those with
#: a projection are is not known.
_CLIP = Weights(
    "quick",
    "OpenAI's CLIP weights were trained with x·σ(1.702x) (those of LAION with the erf GELU)",
    unless=("laion", "datacomp", "dfn", "apple", "metaclip", "open_clip", "openclip", "eva", "siglip", "tinyclip"),
    within="CLIP",
    except_=("WithProjection",),
)
_KNOWN: dict[str, Weights] = {
    # gelu() in model.py of openai/gpt-2 is the tanh form; Cerebras trained its models of this type with erf.
    "GPT2Config": Weights("tanh", "OpenAI's GPT-2 weights were trained with the tanh GELU", unless=("cerebras",)),
    # gelu() in modeling.py of google-research/albert is the tanh form.
    "AlbertConfig": Weights("tanh", "Google's ALBERT weights were trained with the tanh GELU"),
    **dict.fromkeys(("CLIPTextConfig", "CLIPVisionConfig"), _CLIP),
}
#: Families whose published configurations differ from the default of their class, or from each other.
_MANY = ("GPTBigCodeConfig", "NystromformerConfig", "SEWDConfig", "VivitConfig")
#: Keys that other releases of transformers read: GemmaConfig had hidden_activation from 4.39 to 4.47.
_READ_ONCE = {"GemmaConfig": ("hidden_activation",)}


class Family(NamedTuple):
    """One configuration class.

    keys  what it reads of activations, each with its default ("" where there is none that is a name)
    subs  the classes of the configurations inside it, by key
    """

    name: str
    model_types: tuple[str, ...]
    keys: dict[str, str]
    subs: dict[str, str]

    @property
    def main(self) -> str:
        """The key for the activation of its layers, "" where there is none or more than one."""
        found = [key for key in MAIN if self.keys.get(key)]
        return found[0] if len(found) == 1 else ""

    @property
    def weights(self) -> Weights | None:
        """What its published weights need, None where that is not known or not one thing."""
        if self.name in _KNOWN:
            return _KNOWN[self.name]
        flavour = self.default(self.main)
        if self.name in _MANY or flavour not in ("tanh", "quick"):
            return None
        if "gemma" in self.name.lower():
            return _GEMMA
        return Weights(flavour, f"{self.name} is {self.keys[self.main]} unless told otherwise")

    def reads(self, key: str) -> bool:
        """Whether any release of transformers reads ``key``."""
        return key in self.keys or key in _READ_ONCE.get(self.name, ())

    def registry(self, key: str) -> str:
        """The table in which the value of ``key`` is looked up, "" where that is not known."""
        if key in ELSEWHERE:
            return "" if self.name in _OWN_WAY else ELSEWHERE[key]
        return "transformers"

    def default(self, key: str) -> str:
        """The flavour of a key's default, "" where it has none."""
        registry = REGISTRIES.get(self.registry(key))
        return (registry.flavour(self.keys.get(key, "")) if registry is not None else "") or ""

    def sub(self, key: str) -> Family | None:
        """The family of the configuration inside this one under ``key`` (also as ``text_config_dict`` says it)."""
        name = self.subs.get(key) or self.subs.get(key.removesuffix("_dict"))
        return by_class(name) if name is not None else None


@functools.cache
def _table() -> dict[str, list[str]]:
    """The columns of each row by its first: to make all of the families takes ten times as long."""
    rows = (row.split(";") for row in TABLE.replace("\n ", "").splitlines())
    return {row[0]: row for row in rows}


def _pairs(text: str) -> dict[str, str]:
    return dict(item.split("=", 1) for item in text.split(",")) if text else {}


@functools.cache
def _by_type() -> dict[str, str]:
    """The class of each model type."""
    return {kind: name for name, row in _table().items() for kind in row[1].split(",")}


def by_type(model_type: str) -> Family | None:
    """The family of a model type, None for one that transformers does not have (or that has no activation)."""
    return by_class(_by_type().get(model_type, "")) if model_type else None


@functools.lru_cache(maxsize=1024)
def by_class(name: str) -> Family | None:
    """The family of a configuration class."""
    if name not in _table():
        return None
    _, types, keys, subs = _table()[name]
    return Family(name, tuple(types.split(",")) if types else (), _pairs(keys), _pairs(subs))


_ARCHITECTURE = re.compile(r"(For[A-Z]\w*|Model|LMHeadModel|DoubleHeadsModel|PreTrainedModel)$")


@functools.lru_cache(maxsize=256)
def by_architecture(name: str) -> Family | None:
    """The family of a model class: BertForMaskedLM is of BertConfig."""
    stem = _ARCHITECTURE.sub("", name)
    return by_class(f"{stem}Config") if stem != name else None
