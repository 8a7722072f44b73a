"""TensorFlow, TensorFlow Addons and the TensorFlow Model Garden.

``tensorflow.nn.gelu`` was run with 2.21.0: erf by default, ``approximate`` judged by its truth. Addons (no longer
developed; the opposite default) and the Model Garden 2.20.0 were read.
"""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_RUN = "run with tensorflow 2.21.0"
_CHECKED = "TypeError where typeguard checks the call"

CALLABLES = (
    Callable(
        "tensorflow.nn.gelu", "tensorflow", "function", "erf", "tensorflow/python/ops/nn_ops.py of 2.21.0",
        aliases=(
            "tensorflow.compat.v2.nn.gelu",
            "tensorflow._api.v2.nn.gelu",
            "tensorflow.python.ops.nn.gelu",
            "tensorflow.python.ops.nn_ops.gelu",
        ),
        keyword="approximate", position=1, values=((False, "erf"), (True, "tanh")), default=False, wrong="truthy",
        parameters=("features", "approximate", "name"),
    ),
    Callable(
        "tensorflow_addons.activations.gelu", "tensorflow_addons", "function", "tanh",
        "tensorflow_addons/activations/gelu.py", aliases=("tensorflow_addons.activations.gelu.gelu",),
        keyword="approximate", position=1, values=((True, "tanh"), (False, "erf")), default=True, error=_CHECKED,
        parameters=("x", "approximate"),
    ),
    Callable(
        "tensorflow_addons.layers.GELU", "tensorflow_addons", "class", "tanh", "tensorflow_addons/layers/gelu.py",
        aliases=("tensorflow_addons.layers.gelu.GELU",),
        keyword="approximate", position=0, values=((True, "tanh"), (False, "erf")), default=True, error=_CHECKED,
    ),
    Callable(
        "official.modeling.activations.gelu", "tf_models", "function", "tanh",
        "official/modeling/activations/gelu.py of 2.20.0",
        aliases=("official.modeling.activations.gelu.gelu", "official.legacy.xlnet.xlnet_modeling.gelu"),
        parameters=("x",),
    ),
)  # fmt: skip

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}", _RUN, instead=instead)
        for module, name, instead in (
            ("tensorflow", "gelu", "tensorflow.nn.gelu"),
            ("tensorflow.math", "gelu", "tensorflow.nn.gelu"),
            ("tensorflow.compat.v1.nn", "gelu", "tensorflow.nn.gelu"),
            ("tensorflow.nn", "erf", "tensorflow.math.erf"),
            ("tensorflow.raw_ops", "Gelu", ""),
        )
    ),
    *(
        Absent(
            f"tensorflow.{name}", f"AttributeError: no {name} in tensorflow since 2.0", _RUN,
            instead=f"tensorflow.math.{name}", package="tensorflow", gone=(2, 0),
        )
        for name in ("erf", "erfc")
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in (
            "tensorflow",
            "tensorflow.nn",
            "tensorflow.math",
            "tensorflow.raw_ops",
            "tensorflow.compat.v1",
            "tensorflow.compat.v1.nn",
            "tensorflow.compat.v1.math",
            "tensorflow.compat.v2.nn",
        )
    ),
)  # fmt: skip
