"""How people spell the operations of a formula, in any framework: names of functions, methods, modules and casts."""

from __future__ import annotations

import libcst as cst

#: Last names of functions, in any framework, and what they compute. The same names serve as methods.
FUNCTIONS = {
    **{name: name for name in ("erf", "erfc", "ndtr", "log_ndtr", "tanh", "sigmoid", "exp", "expm1", "exp2")},
    **{name: name for name in ("sqrt", "rsqrt", "square", "log", "log1p", "abs", "sign", "softplus", "relu")},
    **{f"special_{name}": name for name in ("erf", "erfc", "ndtr", "exp2", "expm1", "log1p", "log_ndtr")},
    **{f"{name}_": name for name in ("tanh", "sigmoid", "erf", "erfc", "exp", "expm1", "sqrt", "rsqrt", "square")},
    **{f"{name}_": name for name in ("mul", "add", "sub", "div", "pow", "neg", "relu", "abs", "reciprocal")},
    "expit": "sigmoid", "special_expit": "sigmoid", "logistic": "sigmoid", "log_sigmoid": "logsigmoid",
    "logsigmoid": "logsigmoid", "reciprocal": "reciprocal", "absolute": "abs", "negative": "neg", "neg": "neg",
    "mul": "mul", "multiply": "mul", "multiply_": "mul", "mul_rn": "mul", "add": "add", "add_rn": "add",
    "sub": "sub", "subtract": "sub", "div": "div", "divide": "div", "divide_": "div", "true_divide": "div",
    "div_rn": "div", "realdiv": "div", "fdiv": "div", "pow": "pow", "integer_pow": "pow", "power": "pow",
    "float_power": "pow", "minimum": "min", "maximum": "max",
}  # fmt: skip
#: Calls that hand their first operand on: copies, moves, wraps of a number.
COPIES = frozenset(
    (
        *("cuda", "cpu", "clone", "contiguous", "array", "asarray", "tensor", "as_tensor", "constant", "copy"),
        *("convert_to_tensor", "to_tensor", "scalar_tensor", "identity", "broadcast_to", "expand_as", "stop_gradient"),
        *("asnumpy", "numpy", "item", "detach", "constexpr", "Tensor"),
    )
)
#: Calls that hand their first operand on in another dtype.
CASTS = frozenset(
    (
        *("to", "float", "half", "double", "bfloat16", "astype", "type", "type_as", "cast", "convert_element_type"),
        *("float16", "float32", "float64", "to_dtype"),
    )
)
#: Keywords that say where a result goes or in what dtype, not what it is.
ASIDE = frozenset(("dtype", "device", "name", "inplace", "copy", "non_blocking", "memory_format", "approx"))
#: Classes whose objects are functions.
MODULES = {
    "Sigmoid": "sigmoid", "Tanh": "tanh", "ReLU": "relu", "Softplus": "softplus", "LogSigmoid": "logsigmoid",
    "Erf": "erf", "Erfc": "erfc", "Exp": "exp", "Mul": "mul", "Add": "add", "Sub": "sub", "Div": "div",
    "RealDiv": "div", "Pow": "pow", "Sqrt": "sqrt", "Square": "square", "Neg": "neg",
}  # fmt: skip
NORMAL = ("Normal", "NormalDist")
WRAPPERS = ("vectorize", "jit", "vmap", "compile")
NUMBERS = {"pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586}
OPERATORS: dict[type, str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div", cst.Power: "pow",
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "div",
    cst.PowerAssign: "pow",
}  # fmt: skip
#: Keywords that name operands.
OPERANDS = ("input", "other", "exponent", "x", "y", "x1", "x2")
#: Decorators that leave what a function computes as it is.
DECORATORS = frozenset(
    (
        *("jit", "script", "compile", "function", "staticmethod", "classmethod", "jit_fuser", "njit", "vectorize"),
        *("no_grad", "inference_mode", "ignore", "unused", "script_if_tracing", "tf_function", "vmap", "wraps"),
        *("custom_jvp", "custom_vjp", "custom_gradient", "checkpoint", "lru_cache", "cache", "override", "final"),
    )
)
#: What only tensors have as a method.
TENSORS_ONLY = ("erf", "erfc", "tanh", "sigmoid", "exp", "square", "pow", "mul", "add")
