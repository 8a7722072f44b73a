"""Which built-in computes a flavour: what a fix writes in the place of a formula."""

from __future__ import annotations

#: The built-in that takes the place of a formula, by framework and flavour.
BUILT_INS = {
    ("torch", "erf"): "torch.nn.functional.gelu", ("torch", "tanh"): "torch.nn.functional.gelu",
    ("jax", "erf"): "jax.nn.gelu", ("jax", "tanh"): "jax.nn.gelu",
    ("flax", "erf"): "jax.nn.gelu", ("flax", "tanh"): "jax.nn.gelu",
    ("tensorflow", "erf"): "tensorflow.nn.gelu", ("tensorflow", "tanh"): "tensorflow.nn.gelu",
    ("keras", "erf"): "keras.activations.gelu", ("keras", "tanh"): "keras.activations.gelu",
    ("paddle", "erf"): "paddle.nn.functional.gelu", ("paddle", "tanh"): "paddle.nn.functional.gelu",
    ("mindspore", "erf"): "mindspore.ops.gelu", ("mindspore", "tanh"): "mindspore.ops.gelu",
    ("mlx", "erf"): "mlx.nn.gelu", ("mlx", "tanh"): "mlx.nn.gelu_approx", ("mlx", "quick"): "mlx.nn.gelu_fast_approx",
}  # fmt: skip
