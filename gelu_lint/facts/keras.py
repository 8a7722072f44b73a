"""Keras 3, its copies in TensorFlow, tf_keras (Keras 2) and KerasHub. Run with keras 3.15.1 and tf_keras 2.21.0.

Keras has two functions with opposite defaults: ``keras.activations.gelu`` is erf, ``keras.ops.gelu`` is tanh. Both
judge ``approximate`` by its truth, on every backend. KerasHub: read in its repository.
"""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_RUN = "run with keras 3.15.1"
_HUB = "keras_hub/src/utils/keras_utils.py"
_BACKENDS = ("jax", "numpy", "tensorflow", "torch")

CALLABLES = (
    Callable(
        "keras.activations.gelu", "keras", "function", "erf", "keras/src/activations/activations.py of 3.15.1",
        aliases=(
            "keras.src.activations.gelu",
            "keras.src.activations.activations.gelu",
            "keras._tf_keras.keras.activations.gelu",
            "tensorflow.keras.activations.gelu",
            "tensorflow.python.keras.activations.gelu",
            "tf_keras.activations.gelu",
            "tf_keras.src.activations.gelu",
        ),
        keyword="approximate", position=1, values=((False, "erf"), (True, "tanh")), default=False, wrong="truthy",
        parameters=("x", "approximate"),
    ),
    Callable(
        "keras.ops.gelu", "keras", "function", "tanh", "keras/src/ops/nn.py of 3.15.1",
        aliases=(
            "keras.ops.nn.gelu",
            "keras.src.ops.gelu",
            "keras.src.ops.nn.gelu",
            "keras.src.backend.nn.gelu",
            *(f"keras.src.backend.{backend}.nn.gelu" for backend in _BACKENDS),
            "keras._tf_keras.keras.ops.gelu",
            "keras._tf_keras.keras.ops.nn.gelu",
            "tensorflow.keras.ops.gelu",
            "tensorflow.keras.ops.nn.gelu",
        ),
        keyword="approximate", position=1, values=((True, "tanh"), (False, "erf")), default=True, wrong="truthy",
        parameters=("x", "approximate"),
    ),
    Callable(
        "keras.src.ops.nn.Gelu", "keras", "class", "tanh", "keras/src/ops/nn.py of 3.15.1",
        aliases=("keras.src.ops.Gelu",),
        keyword="approximate", position=0, values=((True, "tanh"), (False, "erf")), default=True, wrong="truthy",
        parameters=("approximate", "name"),
    ),
    Callable(
        "keras_hub.src.utils.keras_utils.gelu_approximate", "keras_hub", "function", "tanh", _HUB,
        aliases=("keras_nlp.src.utils.keras_utils.gelu_approximate",), parameters=("x",),
    ),
    Callable(
        "keras_hub.src.models.clip.clip_layers.quick_gelu", "keras_hub", "function", "quick",
        "keras_hub/src/models/clip/clip_layers.py", parameters=("x",),
    ),
)  # fmt: skip

_ROOTS = ("keras", "tensorflow.keras", "tf_keras")

ABSENT = (
    *(
        Absent(
            f"{root}.layers.{name}", f"AttributeError: no {name} in {root}.layers: Activation('gelu') is such a layer",
            _RUN,
        )
        for root in _ROOTS
        for name in ("GELU", "Gelu")
    ),
    *(
        Absent(f"{module}.gelu", f"AttributeError: no gelu in {module}", _RUN, instead=f"{root}.activations.gelu")
        for root in _ROOTS
        for module in (root, f"{root}.layers", f"{root}.backend")
    ),
    *(
        Absent(f"{root}.{module}.*gelu*", f"AttributeError: no such name in {root}.{module}", _RUN)
        for root in _ROOTS
        for module in ("activations", "layers", "backend", "ops", "ops.nn")
        if (root, module[:3]) != ("tf_keras", "ops")
    ),
)  # fmt: skip
