"""MindSpore: read in the documentation of 1.8 to 2.11 and in mindspore/nn/layer/activation.py; not run.

``nn.GELU`` takes a bool and is tanh by default, ``ops.gelu`` takes a string and is erf by default. The documentation
of 2.11 announces that later versions turn the bool into a string and make ``approximate`` of ``ops.gelu`` keyword-only.
"""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_DOCS = "https://www.mindspore.cn/docs/en/stable/api_python"
_STRINGS = (("none", "erf"), ("tanh", "tanh"))
_ERROR = "ValueError: approximate must be 'none' or 'tanh'"

CALLABLES = (
    Callable(
        "mindspore.nn.GELU", "mindspore", "class", "tanh", f"{_DOCS}/nn/mindspore.nn.GELU.html",
        aliases=("mindspore.nn.layer.GELU", "mindspore.nn.layer.activation.GELU"),
        keyword="approximate", position=0, values=((True, "tanh"), (False, "erf")), default=True,
        error="TypeError: approximate must be a bool", parameters=("approximate",), since=(1, 8),
    ),
    Callable(
        "mindspore.ops.gelu", "mindspore", "function", "erf", f"{_DOCS}/ops/mindspore.ops.gelu.html",
        keyword="approximate", position=1, values=_STRINGS, default="none", error=_ERROR,
        parameters=("input", "input_x", "approximate"),
    ),
    Callable(
        "mindspore.mint.nn.functional.gelu", "mindspore", "function", "erf",
        f"{_DOCS}/mint/mindspore.mint.nn.functional.gelu.html: keyword-only since 2.9",
        keyword="approximate", position=1, values=_STRINGS, default="none", error=_ERROR,
        parameters=("input", "approximate"),
    ),
)  # fmt: skip
