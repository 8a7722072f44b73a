"""Other activations of the frameworks, which people hand out as GELU. Names of torch, jax, flax, tensorflow and keras
are checked by the contract tests where these are installed; paddle and mlx likewise.
"""

from __future__ import annotations

from gelu_lint.facts.record import Other

#: Names of each activation as a function and as a class, in any framework. A call of sigmoid, tanh or softplus may be
#: a part of a GELU.
_FUNCTIONS = {
    "silu": ("silu", "swish"),
    "relu": ("relu",),
    "elu": ("elu",),
    "selu": ("selu",),
    "mish": ("mish",),
    "leaky_relu": ("leaky_relu",),
}
_CLASSES = {
    "silu": ("SiLU", "Silu", "Swish"),
    "relu": ("ReLU",),
    "elu": ("ELU",),
    "selu": ("SELU",),
    "mish": ("Mish",),
    "leaky_relu": ("LeakyReLU",),
    "sigmoid": ("Sigmoid",),
    "plain_tanh": ("Tanh",),
    "softplus": ("Softplus",),
}

#: Module, framework, what it holds, the GELU to write, and names that it lacks or whose default slope is another.
_MODULES: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("torch.nn", "torch", "class", "torch.nn.GELU", ("Silu", "Swish")),
    ("torch.nn.functional", "torch", "function", "torch.nn.functional.gelu", ("swish",)),
    ("torch", "torch", "function", "torch.nn.functional.gelu",
     ("silu", "swish", "elu", "mish", "leaky_relu")),
    ("jax.nn", "jax", "function", "jax.nn.gelu", ()),
    ("flax.linen", "flax", "function", "flax.linen.gelu", ("mish",)),
    ("flax.nnx", "flax", "function", "flax.nnx.gelu", ("mish",)),
    ("tensorflow.nn", "tensorflow", "function", "tensorflow.nn.gelu", ("mish", "leaky_relu")),
    ("tensorflow.keras.activations", "tensorflow", "function", "tensorflow.keras.activations.gelu", ("leaky_relu",)),
    ("keras.activations", "keras", "function", "keras.activations.gelu", ("leaky_relu",)),
    ("keras.ops", "keras", "function", "keras.ops.gelu", ("mish", "leaky_relu")),
    ("paddle.nn", "paddle", "class", "paddle.nn.GELU", ("SiLU",)),
    ("paddle.nn.functional", "paddle", "function", "paddle.nn.functional.gelu", ()),
    ("mlx.nn", "mlx", "class", "mlx.nn.GELU", ("Silu", "Swish")),
    ("mlx.nn", "mlx", "function", "mlx.nn.gelu", ("swish",)),
)  # fmt: skip

OTHERS = tuple(
    Other(f"{module}.{name}", framework, kind, flavour, instead, f"public name of {module}")
    for module, framework, kind, instead, lacking in _MODULES
    for flavour, names in (_CLASSES if kind == "class" else _FUNCTIONS).items()
    for name in names
    if name not in lacking
)
