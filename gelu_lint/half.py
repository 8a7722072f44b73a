"""The words by which half precision shows, asked of a text before anything of it is parsed."""

from __future__ import annotations

import functools
import re

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

#: One of these stands in each row that makes code run in fp16; searching them one by one beats a pattern.
_NEEDLES = (b"float16", b"fp16", b"autocast", b"half", b"HalfTensor", b"16-mixed", b"16-true", b"precision")

#: Words of names that hold a model.
MODELS = frozenset(
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


@functools.cache
def _row() -> re.Pattern[bytes]:
    """What a row must hold: bfloat16, comparisons of sizes and the like are none of it."""
    return re.compile(
        rb"\.half\(|\bhalf\b.*\bimport|import\b.*\bhalf\b|torch\.half\b|(?<![b\w])float16\b|HalfTensor|mixed_float16"
        rb"|autocast|[\"'](?:half|fp16|16|16-mixed|16-true)[\"']|\bfp16\s*=\s*(?:True|dict)\b|\bprecision\s*=\s*16\b"
    )


def spots(data: bytes) -> Iterator[int]:
    """Where in a file a row says that something may run in fp16, or that it does not."""
    for needle in _NEEDLES:
        at = data.find(needle)
        while at >= 0:
            end = data.find(b"\n", at)
            end = end if end >= 0 else len(data)
            row = data[data.rfind(b"\n", 0, at) + 1 : end]
            if _row().search(row) is not None:
                yield at
            at = data.find(needle, end)


def shows(data: bytes) -> bool:
    """Whether a file may hold what makes code run in fp16."""
    return next(spots(data), None) is not None
