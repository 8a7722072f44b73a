"""The side that runs models: it imports torch, and the linter never imports it. Nothing is imported until it is used.

`from gelu_lint.runtime import probe` gives the function, although a module has the same name.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gelu_lint.runtime.depth import depth_flow as depth_flow
    from gelu_lint.runtime.factory import Built as Built
    from gelu_lint.runtime.factory import FactoryError as FactoryError
    from gelu_lint.runtime.factory import load as load
    from gelu_lint.runtime.gradient_flow import GradientFlowError as GradientFlowError
    from gelu_lint.runtime.gradient_flow import gradient_flow as gradient_flow
    from gelu_lint.runtime.monitor import GeluMonitor as GeluMonitor
    from gelu_lint.runtime.monitor import GeluMonitorWarning as GeluMonitorWarning
    from gelu_lint.runtime.monitor import GeluStdWarning as GeluStdWarning
    from gelu_lint.runtime.phrases import told as told
    from gelu_lint.runtime.probe import Activation as Activation
    from gelu_lint.runtime.probe import ProbeError as ProbeError
    from gelu_lint.runtime.probe import Report as Report
    from gelu_lint.runtime.probe import probe as probe
    from gelu_lint.runtime.recognise import recognise as recognise
    from gelu_lint.runtime.references import gelu as gelu
    from gelu_lint.runtime.references import gelu_slope as gelu_slope
    from gelu_lint.runtime.subject import NotDeterministic as NotDeterministic
    from gelu_lint.runtime.subject import NotElementwise as NotElementwise
    from gelu_lint.runtime.variants import GELUT as GELUT
    from gelu_lint.runtime.variants import GELUClip as GELUClip
    from gelu_lint.runtime.variants import SparseGELU as SparseGELU

#: Public names, each with the module below this one that has it.
_PUBLIC = {
    "Activation": "probe",
    "Built": "factory",
    "depth_flow": "depth",
    "FactoryError": "factory",
    "gelu": "references",
    "gelu_slope": "references",
    "GELUClip": "variants",
    "GeluMonitor": "monitor",
    "GeluMonitorWarning": "monitor",
    "GeluStdWarning": "monitor",
    "GELUT": "variants",
    "gradient_flow": "gradient_flow",
    "GradientFlowError": "gradient_flow",
    "load": "factory",
    "NotDeterministic": "subject",
    "NotElementwise": "subject",
    "probe": "probe",
    "ProbeError": "probe",
    "recognise": "recognise",
    "Report": "probe",
    "SparseGELU": "variants",
    "told": "phrases",
}


class _Front(ModuleType):
    """A package whose public names win over those of its modules: importing a module would hide the function in it."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _PUBLIC and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
