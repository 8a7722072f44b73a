"""PyTorch: measured with torch 2.13.0 on CPU, checked by the contract tests."""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable, Refused, TensorOnly

_ACTIVATION = "torch/nn/modules/activation.py; documentation of 1.12, which added the argument"
_NATIVE = "schema aten::gelu(Tensor self, *, str approximate='none')"
_VALUES = (("none", "erf"), ("tanh", "tanh"))
_ERROR = "RuntimeError: approximate argument must be either none or tanh"
_TYPE_ERROR = "TypeError: gelu(): argument 'approximate' must be str"
_OP_ERROR = "RuntimeError: aten::gelu() Expected a value of type 'str' for argument 'approximate'"
_RUN = "run with torch 2.13.0"

CALLABLES = (
    Callable(
        "torch.nn.GELU", "torch", "class", "erf", _ACTIVATION,
        aliases=("torch.nn.modules.GELU", "torch.nn.modules.activation.GELU"),
        keyword="approximate", position=0, values=_VALUES, default="none", error=_ERROR, type_error=_TYPE_ERROR,
        parameters=("approximate",), since=(1, 12),
    ),
    Callable(
        "torch.nn.functional.gelu", "torch", "function", "erf", _NATIVE,
        aliases=("torch._C._nn.gelu",),
        keyword="approximate", values=_VALUES, default="none", error=_ERROR, type_error=_TYPE_ERROR,
        parameters=("input", "approximate", "out"), since=(1, 12),
    ),
    Callable(
        "torch._C._nn.gelu_", "torch", "function", "erf", _NATIVE,
        keyword="approximate", values=_VALUES, default="none", error=_ERROR, type_error=_TYPE_ERROR,
        parameters=("input", "approximate"), since=(1, 12),
    ),
    Callable(
        "torch.ops.aten.gelu", "torch", "op", "erf", _NATIVE,
        aliases=("torch.ops.aten.gelu.default",),
        keyword="approximate", values=_VALUES, default="none", error=_ERROR, type_error=_OP_ERROR,
        parameters=("self", "approximate"), since=(1, 12),
    ),
    Callable(
        "torch.ops.aten.gelu_", "torch", "op", "erf", _NATIVE,
        aliases=("torch.ops.aten.gelu_.default",),
        keyword="approximate", values=_VALUES, default="none", error=_ERROR, type_error=_OP_ERROR,
        parameters=("self", "approximate"), since=(1, 12),
    ),
    Callable(
        "torch._refs.nn.functional.gelu", "torch", "function", "erf", "torch/_refs/nn/functional/__init__.py",
        keyword="approximate", position=1, values=_VALUES, default="none", error=_ERROR,
        parameters=("a", "approximate", "out"), since=(1, 12),
    ),
)  # fmt: skip

_MODULES = ("torch", "torch.nn", "torch.nn.modules", "torch.nn.modules.activation", "torch.special", "torch.Tensor")

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}", _RUN, instead=instead)
        for module, name, instead in (
            ("torch", "gelu", "torch.nn.functional.gelu"),
            ("torch", "GELU", "torch.nn.GELU"),
            ("torch.special", "gelu", "torch.nn.functional.gelu"),
            ("torch.nn", "Gelu", "torch.nn.GELU"),
            ("torch.nn", "gelu", "torch.nn.functional.gelu"),
            ("torch.nn", "GeLU", "torch.nn.GELU"),
            ("torch.nn.modules.activation", "Gelu", "torch.nn.GELU"),
            ("torch.nn", "GEGLU", ""),
            ("torch.nn.functional", "geglu", ""),
            ("torch.nn.functional", "GELU", "torch.nn.functional.gelu"),
            ("torch.nn.functional", "Gelu", "torch.nn.functional.gelu"),
            ("torch.nn.functional", "GeLU", "torch.nn.functional.gelu"),
        )
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in (*_MODULES, "torch.nn.functional")
    ),
)

REFUSED = tuple(
    Refused(f"torch.nn.init.{name}", keyword, position, ("gelu",), "ValueError: Unsupported nonlinearity gelu", _RUN)
    for name, keyword, position in (
        ("calculate_gain", "nonlinearity", 0),
        ("kaiming_uniform_", "nonlinearity", 3),
        ("kaiming_normal_", "nonlinearity", 3),
    )
)

TENSOR_ONLY = tuple(
    TensorOnly(f"torch.{name}", instead, _RUN)
    for name, instead in (
        ("sqrt", "math.sqrt"),
        ("exp", "math.exp"),
        ("log", "math.log"),
        ("pow", "math.pow"),
        ("tanh", "math.tanh"),
        ("erf", "math.erf"),
        ("erfc", "math.erfc"),
        ("sigmoid", ""),
        ("rsqrt", ""),
    )
)
