"""The same layer in jax."""

import jax


def mlp(x, w):
    # GEL031: tanh by default, where the PyTorch side of this project leaves erf to its default.
    return jax.nn.gelu(x @ w)  # noqa: GEL001
