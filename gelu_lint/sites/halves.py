"""Recognises what makes a file run in half precision: autocast, ``.half()``, dtypes and the switches of trainers.

bfloat16 has the range of float32 and is never meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from gelu_lint.claims import says_gelu, words
from gelu_lint.model import Use
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Arg, Attribute, Call, CSTNode, DictElement, FunctionDef, If, Name
from gelu_lint.tree.walk import Moment, Walk

_HALF = frozenset(
    f"{module}.{name}" for module in ("torch", "jax.numpy", "numpy", "tensorflow", "paddle", "mlx.core")
    for name in ("float16", "half", "HalfTensor")
)  # fmt: skip
_MOVES = ("cuda", "cpu", "to", "eval", "train", "requires_grad_", "half", "to_empty")
#: Words of names that hold a model.
_MODELS = frozenset(
    (
        *("model", "net", "network", "module", "encoder", "decoder", "unet", "vae", "transformer", "policy", "student"),
        *(
            "teacher",
            "generator",
            "discriminator",
            "backbone",
            "block",
            "layer",
            "layers",
            "mlp",
            "bert",
            "gpt",
            "clip",
        ),
        *("vit", "lm", "llm", "classifier", "self", "learner", "ffn"),
    )
)
_TEXT = ("float16", "fp16", "half")
_CALLS = ("autocast", "half", "to", "type", "set_default_dtype", "astype", "set_global_policy")
#: Keywords that choose a dtype for a whole model.
_DTYPES = ("dtype", "torch_dtype", "param_dtype", "cast_inputs")
_SWITCHES = (*_DTYPES, "fp16", "mixed_precision", "precision")


class _Found(NamedTuple):
    node: Call | DictElement
    detail: str
    symbol: str


class Halves:
    """A visitor that collects uses of kind fp16."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        keyed = any(isinstance(arg.keyword, Name) and arg.keyword.value in _SWITCHES for arg in node.args)
        detail = self._detail(node, last) if keyed or last in _CALLS else ""
        if detail:
            self._found.append(_Found(node, detail, symbol(self._walk.path)))

    def visit_DictElement(self, node: DictElement) -> None:
        # DeepSpeed: {"fp16": {"enabled": True}}
        if literal(node.key)[1] == "fp16":
            for element in getattr(node.value, "elements", ()):
                enabled = isinstance(element, DictElement) and literal(element.key)[1] == "enabled"
                if enabled and literal(element.value)[1] is True:
                    self._found.append(_Found(node, "half", symbol(self._walk.path)))

    def _detail(self, node: Call, last: str) -> str:
        moment = self._walk.moment
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        plain = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        if last == "autocast":
            return self._autocast(node, given, plain, moment)
        if last == "set_default_dtype":
            return "half" if plain and self._is_half(plain[0], moment) else ""
        if last in ("half", "to", "type", "astype") and isinstance(node.func, Attribute):
            values = [*plain, *(given[key] for key in ("dtype",) if key in given)]
            cast = not values if last == "half" else any(self._is_half(value, moment) for value in values)
            unknown = not self._names.resolve(node.func, moment)
            return "half" if cast and unknown and self._runs(node.func.value, moment) else ""
        if last == "set_global_policy" and plain and literal(plain[0])[1] == "mixed_float16":
            return "half"
        said = {key: literal(given[key])[1] for key in ("fp16", "mixed_precision", "precision") if key in given}
        if said.get("fp16") is True or said.get("mixed_precision") == "fp16":
            return "cuda_autocast"
        if said.get("precision") in (16, "16", "16-mixed"):
            return "cuda_autocast"
        if said.get("precision") == "16-true":
            return "half"
        if last in ("custom_fwd",) or last[:1].isupper() or last == "from_pretrained":
            for key in _DTYPES:
                if key in given and self._is_half(given[key], moment):
                    return "half"
        return ""

    def _autocast(self, node: Call, given: Mapping[str, CSTNode], plain: Sequence[CSTNode], moment: Moment) -> str:
        names = self._names.resolve(node.func, moment)
        if "enabled" in given and literal(given["enabled"])[1] is False:
            return ""
        of_cpu = any(".cpu." in name for name in names)
        of_cuda = any(".cuda." in name for name in names)
        device = given.get("device_type", plain[0] if plain and not (of_cpu or of_cuda) else None)
        kind = literal(device)[1] if device is not None else None
        if of_cuda and plain and literal(plain[0])[1] is False:
            return ""
        dtype = given.get("dtype", plain[1] if len(plain) > 1 else None)
        cuda = of_cuda or kind == "cuda"
        if dtype is None:
            return "cuda_autocast" if cuda else ""
        if not self._is_half(dtype, moment):
            return ""
        return "half" if of_cpu or kind == "cpu" else "cuda_autocast"

    def _runs(self, node: CSTNode, moment: Moment) -> bool:
        """Whether what is cast is a model, or the input of a call, rather than some tensor on its way."""
        if any(isinstance(a, If) and "dtype" in _attributes(a.test) for a in self._walk.path):
            return False
        if any(isinstance(a, Arg) and _takes(b) for b, a in pairwise(self._walk.path)):
            return True
        function = next((a for a in reversed(self._walk.path) if isinstance(a, FunctionDef)), None)
        if function is not None and _calls_gelu(function):
            return True
        while isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.attr.value in _MOVES:
            node = node.func.value
        if isinstance(node, Name):
            binding = self._names.single(node, moment)
            made = binding.node if binding is not None else None
            if isinstance(made, Call) and last_name(made.func)[:1].isupper():
                return True
        if isinstance(node, Call):
            return last_name(node.func)[:1].isupper() or last_name(node.func) == "from_pretrained"
        return not _MODELS.isdisjoint(words(last_name(node)))

    def _is_half(self, node: CSTNode, moment: Moment) -> bool:
        constant = self._names.constant(node, moment)
        names = self._names.resolve(constant if constant is not None else node, moment)
        value = literal(constant if constant is not None else node)[1]
        return bool(names & _HALF) or value in _TEXT

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        return (found.node for found in self._found)

    def contexts(self) -> frozenset[str]:
        """The kinds of half precision that the file has."""
        return frozenset(found.detail for found in self._found)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for found in self._found:
            span, rows = draft.span(found.node), draft.statement(found.node)
            text = " ".join(draft.text(found.node).split())[:60]
            yield Use("fp16", "", text, found.detail, span, span, (), None, "call", found.symbol, "", rows, "")


def _takes(call: CSTNode) -> bool:
    """Whether a call is that of a model or a GELU."""
    name = last_name(call.func) if isinstance(call, Call) else ""
    return says_gelu(name) or not _MODELS.isdisjoint(words(name))


def _calls_gelu(function: FunctionDef) -> bool:
    """Whether a function calls a GELU of this file, and thus casts what it gives it."""
    waiting: list[CSTNode] = [function.body]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call) and isinstance(item.func, Name) and says_gelu(item.func.value):
            return True
        waiting.extend(item.children)
    return False


def _attributes(node: CSTNode) -> set[str]:
    """The last parts of the names in an expression."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        found.add(last_name(item))
        waiting.extend(item.children)
    return found
