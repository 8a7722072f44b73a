"""Do the frameworks compute the same GELU? PyTorch, Keras, JAX and TensorFlow, where installed, in float32.

    python examples/agreement.py

Each flavour is asked for by its argument and held against NumPy in float64, and each default against both flavours.
Exit code 1 if anything is farther from its flavour than rounding in float32 explains.
"""

import importlib.util
import os
import sys

import numpy as np

from gelu_lint.runtime.references import gelu

#: 8,001 points without a unit: beyond ±10 a GELU is x or 0 in float32.
POINTS = np.linspace(-10, 10, 8001, dtype=np.float32)
#: Roundings: a framework takes a handful of steps, each off by half of eps = 1.2e-7 of a value of about max(1, |x|).
ROUNDINGS = 4


def of_torch():
    import torch
    from torch.nn import functional

    def run(**arguments):
        return functional.gelu(torch.from_numpy(POINTS), **arguments).numpy()

    return {"torch.nn.functional.gelu": (run, {"approximate": "none"}, {"approximate": "tanh"})}


def of_keras():
    installed = [name for name in ("tensorflow", "jax", "torch") if importlib.util.find_spec(name)]
    os.environ.setdefault("KERAS_BACKEND", installed[0] if installed else "numpy")
    import keras

    def runs(function):
        def run(**arguments):
            return keras.ops.convert_to_numpy(function(keras.ops.convert_to_tensor(POINTS), **arguments))

        return run

    explicit = {"approximate": False}, {"approximate": True}
    return {
        f"keras.ops.gelu ({keras.backend.backend()})": (runs(keras.ops.gelu), *explicit),
        f"keras.activations.gelu ({keras.backend.backend()})": (runs(keras.activations.gelu), *explicit),
    }


def of_jax():
    import jax

    def run(**arguments):
        return np.asarray(jax.nn.gelu(POINTS, **arguments))

    return {"jax.nn.gelu": (run, {"approximate": False}, {"approximate": True})}


def of_tensorflow():
    import tensorflow as tf

    def run(**arguments):
        return tf.nn.gelu(POINTS, **arguments).numpy()

    return {"tf.nn.gelu": (run, {"approximate": False}, {"approximate": True})}


def of_scipy():
    from scipy.special import ndtr

    def run(flavour):
        if flavour == "erf":
            return POINTS * ndtr(POINTS)
        return 0.5 * POINTS * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (POINTS + 0.044715 * POINTS**3)))

    return {"NumPy and SciPy": (run, {"flavour": "erf"}, {"flavour": "tanh"})}


FRAMEWORKS = {"torch": of_torch, "keras": of_keras, "jax": of_jax, "tensorflow": of_tensorflow, "scipy": of_scipy}


def main() -> int:
    wide = POINTS.astype(np.float64)
    exact = {"erf": gelu(wide, "erf"), "tanh": gelu(wide, "tanh")}
    allowed = ROUNDINGS * np.finfo(np.float32).eps * np.maximum(1, np.abs(wide))

    def compare(values, flavour):
        gaps = np.abs(values.astype(np.float64) - exact[flavour])
        return gaps.max(), bool((gaps <= allowed).all())

    calls = {}
    for name, load in FRAMEWORKS.items():
        if importlib.util.find_spec(name):
            calls |= load()
    print("Largest difference from the same flavour in float64, for x in [-10, 10]")
    width = max(map(len, calls))
    print(f"{'':{width}}  {'erf':>8}  {'tanh':>8}  default")
    agree = True
    for name, (run, *asked) in calls.items():
        cells = []
        for flavour, arguments in zip(exact, asked):
            size, right = compare(run(**arguments), flavour)
            cells.append(f"{size:8.1e}" + ("" if right else " (wrong)"))
            agree &= right
        default = "-"
        if "flavour" not in asked[0]:
            fitting = [flavour for flavour in exact if compare(run(), flavour)[1]]
            default = fitting[0] if len(fitting) == 1 else "neither"
            agree &= default != "neither"
        print(f"{name:{width}}  {'  '.join(cells)}  {default}")
    print(f"\nThe flavours themselves are up to {np.abs(exact['tanh'] - exact['erf']).max():.2e} apart.")
    print("All agree up to rounding in float32." if agree else "Not all agree up to rounding in float32.")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
