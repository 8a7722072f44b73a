"""OpenVINO: run with 2026.4.1 on CPU. Operation sets 2 to 6 have the erf form only; 7 and later must be told the form.

There is no default: a call of opset 7 or later without ``approximation_mode`` raises TypeError. Letter case is ignored.
"""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_CASES = (str.lower, str.upper, str.capitalize)

CALLABLES = (
    Callable(
        "openvino.opset16.gelu", "openvino", "function", "erf", "openvino/opset7/ops.py of 2026.4.1",
        aliases=(
            *(f"openvino.opset{version}.gelu" for version in range(7, 16)),
            "openvino.opset7.ops.gelu",
        ),
        keyword="approximation_mode", position=1,
        values=tuple((cased(flavour), flavour) for flavour in ("erf", "tanh") for cased in _CASES),
        default="erf", required=True, error="RuntimeError: not a member of enum op::GeluApproximationMode",
        parameters=("data", "approximation_mode", "name"),
    ),
    Callable(
        "openvino.opset6.gelu", "openvino", "function", "erf", "openvino/opset2/ops.py of 2026.4.1",
        aliases=(*(f"openvino.opset{version}.gelu" for version in range(2, 6)), "openvino.opset2.ops.gelu"),
        parameters=("node", "name"),
    ),
)  # fmt: skip
