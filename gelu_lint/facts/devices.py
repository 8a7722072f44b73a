"""Words with which code asks what it runs on."""

from __future__ import annotations

#: Words of names and strings that mean a device or a platform.
WORDS = frozenset(
    (
        *("cuda", "gpu", "rocm", "hip", "mps", "xpu", "npu", "tpu", "hpu", "xla", "cpu", "device", "devices", "metal"),
        *("platform", "darwin", "neuron", "ipu", "mlu", "musa", "directml", "uname", "ascend", "nvidia", "aarch"),
    )
)
#: Calls and attributes that mean one, and have no such word.
NAMES = ("default_backend", "os.name")

#: One of these stands in each text with one of those.
_SIGNS = tuple(word for word in (*sorted(WORDS), *NAMES) if not any(word != w and w in word for w in WORDS))


def may_ask(text: str) -> bool:
    """Whether a text may ask what it runs on: more texts than really do. Looking for a few words is faster than a
    pattern of them."""
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS)
