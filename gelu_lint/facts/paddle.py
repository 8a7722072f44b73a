"""PaddlePaddle: run with paddlepaddle 3.3.1 on CPU; PaddleNLP: read in 2.8.1.

``approximate`` is a bool; 3.x also takes "none" and "tanh", and None for False. Unlike torch it may be positional.
"""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_VALUES = ((False, "erf"), (True, "tanh"), ("none", "erf"), ("tanh", "tanh"), (None, "erf"))
_ERROR = "ValueError: the value of approximate in gelu should be 'tanh' or 'none'"
_TYPE_ERROR = "TypeError: gelu(): argument (position 2) must be bool"
_RUN = "run with paddlepaddle 3.3.1"

CALLABLES = (
    Callable(
        "paddle.nn.GELU", "paddle", "class", "erf", "paddle/nn/layer/activation.py of 3.3.1",
        aliases=("paddle.nn.layer.activation.GELU",),
        keyword="approximate", position=0, values=_VALUES, default=False, error=_ERROR, type_error=_TYPE_ERROR,
        parameters=("approximate", "name"),
    ),
    Callable(
        "paddle.nn.functional.gelu", "paddle", "function", "erf", _RUN,
        aliases=("paddle.nn.functional.activation.gelu", "paddle._C_ops.gelu"),
        keyword="approximate", position=1, values=_VALUES, default=False, error=_ERROR, type_error=_TYPE_ERROR,
        parameters=("x", "input", "approximate", "name", "out"),
    ),
    *(
        Callable(f"paddlenlp.transformers.{module}.{name}", "paddlenlp", kind, flavour, f"{module} of PaddleNLP 2.8.1")
        for module, name, kind, flavour in (
            ("activations", "GELUActivation", "class", "erf"),
            ("activations", "NewGELUActivation", "class", "tanh"),
            ("activations", "FastGELUActivation", "class", "tanh"),
            ("activations", "QuickGELUActivation", "class", "quick"),
            ("activations", "ClippedGELUActivation", "class", "clipped"),
            ("bloom.modeling", "BloomGelu", "class", "tanh"),
            ("bloom.modeling", "bloom_gelu_forward", "function", "tanh"),
            ("clip.modeling", "quick_gelu", "function", "quick"),
            ("chineseclip.modeling", "quick_gelu", "function", "quick"),
            ("ernie_vil.modeling", "quick_gelu", "function", "quick"),
            ("deberta_v2.modeling", "GELUActivation", "class", "erf"),
        )
    ),
)  # fmt: skip

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}", _RUN, instead=instead)
        for module, name, instead in (
            ("paddle", "gelu", "paddle.nn.functional.gelu"),
            ("paddle.nn", "Gelu", "paddle.nn.GELU"),
            ("paddle.nn", "GeLU", "paddle.nn.GELU"),
            ("paddle.nn", "gelu", "paddle.nn.functional.gelu"),
            ("paddle.nn.functional", "GELU", "paddle.nn.functional.gelu"),
        )
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in ("paddle", "paddle.nn", "paddle.nn.functional", "paddle.nn.layer.activation", "paddle.Tensor")
    ),
)
