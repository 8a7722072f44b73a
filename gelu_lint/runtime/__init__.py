"""The torch side: live models, gradients, monitoring, pictures. Nothing is imported until a name is used."""

from __future__ import annotations

from importlib import import_module

#: Public names, and the modules that have them.
_NAMES = {
    "GeluMonitor": "gelu_lint.runtime.monitor",
    "GeluMonitorWarning": "gelu_lint.runtime.monitor",
    "GeluStdWarning": "gelu_lint.runtime.monitor",
}


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_NAMES))
