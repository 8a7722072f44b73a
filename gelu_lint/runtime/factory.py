"""A model from the text ``MODULE:FACTORY``, as the command line and test settings name it."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gelu_lint.config import did_you_mean
from gelu_lint.runtime.faults import NO_TORCH, in_one_line

if TYPE_CHECKING:
    from torch import nn

_FORM = "write MODULE:FACTORY, such as my_package.models:build"


class FactoryError(Exception):
    """A model that could not be had; the message says what was asked for, what went wrong and what to do."""


class Built(NamedTuple):
    """A model and what to call it with; both ``args`` and ``kwargs`` are empty where no inputs are known."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def has_inputs(self) -> bool:
        """Whether there is anything to call the model with."""
        return bool(self.args or self.kwargs)


def load(text: str) -> Built:
    """The model, and its inputs, that ``MODULE:FACTORY`` names.

    MODULE is a dotted name or the path of a ``.py`` file, FACTORY a dotted path inside it. What stands there is called
    without arguments, unless it is a module object or a tuple already. It gives an ``nn.Module``; or ``(model,
    inputs)``, where a tuple is all positional arguments, a mapping all keyword arguments and anything else the only
    positional argument; or ``(model, args, kwargs)``. Where no inputs are given, a model's own ``dummy_inputs``
    (Hugging Face) are used if they fit.

    The current directory can be imported from, as with ``python -m``, and so can the directory of a file that is given
    by its path; ``sys.path``, ``sys.argv`` and the current directory are as before when this returns. Raises
    FactoryError, whose cause is the exception that was met, if there was one.
    """
    name, colon, attribute = text.strip().rpartition(":")
    dotted = all(part.isidentifier() for part in attribute.split("."))
    if not colon or not name or not dotted:
        raise FactoryError(f"{text!r} names no factory: {_hint(text.strip(), colon, attribute)}")
    try:
        importlib.import_module("torch")
    except (ImportError, OSError) as fault:
        missing = isinstance(fault, ModuleNotFoundError) and fault.name == "torch"  # else a library of its
        raise FactoryError(NO_TORCH if missing else f"torch cannot be imported: {in_one_line(fault)}") from fault
    with _as_started(text):
        found = _attribute(_module(name), attribute, text)
        return _built(_made(found, text), text)


def _hint(text: str, colon: str, attribute: str) -> str:
    if text.endswith(".py") or (colon and "/" in attribute) or "\\" in attribute:
        return f"write the factory behind the file, such as {text}:build"
    parts = text.rpartition(".")
    if not colon and parts[0] and all(part.isidentifier() for part in text.split(".")):
        return f"{_FORM} (did you mean {parts[0]}:{parts[2]}?)"
    return _FORM


@contextlib.contextmanager
def _as_started(text: str) -> Iterator[None]:
    """The surroundings of ``python -m``, put back afterwards: what is imported may change them."""
    path, argv, here = list(sys.path), list(sys.argv), os.getcwd()
    sys.path.insert(0, here)
    sys.argv[:] = [text]  # a module that parses arguments is not to see ours
    try:
        yield
    finally:
        sys.path[:] = path
        sys.argv[:] = argv
        os.chdir(here)


def _module(name: str) -> ModuleType:
    file = ""
    if name.endswith(".py") or os.sep in name or "/" in name or "\\" in name:
        name, file = _located(name)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as fault:
        missing = fault.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise FactoryError(f"no module {missing!r}{_nearest(missing)}{_elsewhere(missing)}") from fault
        _failed(f"importing {name} failed", fault)
    except (TypeError, ValueError) as fault:
        if name.startswith(".") or not name.strip("."):
            raise FactoryError(f"{name!r} is no absolute module name: {_FORM}") from fault
        _failed(f"importing {name} failed", fault)
    except (Exception, SystemExit) as fault:
        _failed(f"importing {name} failed", fault)
    if file and not os.path.samefile(getattr(module, "__file__", None) or os.devnull, file):
        raise FactoryError(f"{file} cannot be imported: another module is called {name!r}; rename the file")
    return module


def _failed(what: str, fault: BaseException) -> NoReturn:
    where = _place(fault)
    raise FactoryError(f"{what}{where}: {in_one_line(fault)}") from fault


def _place(fault: BaseException) -> str:
    """Where an exception was raised, " (file.py:12)": the innermost place outside of installed packages, "" if none."""
    found, here = "", os.getcwd() + os.sep
    passed_over = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.__file__))
    step = fault.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if os.path.isfile(file) and "site-packages" not in file and not file.startswith(passed_over):
            found = f" ({file.removeprefix(here)}:{step.tb_lineno})"
        step = step.tb_next
    return found


def _located(path: str) -> tuple[str, str]:
    """The module name of a file, by the packages that it lies in, and its full path. Makes both importable."""
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        folder, name = os.path.split(file)
        near = did_you_mean(name, [n for n in os.listdir(folder) if n.endswith(".py")]) if os.path.isdir(folder) else ""
        raise FactoryError(f"{path}: no such file{near}")
    folder, name = os.path.split(file)
    parts = [name.removesuffix(".py")]
    if not name.endswith(".py") or "." in parts[0]:
        raise FactoryError(
            f"{path} cannot be imported: the name of a module is that of its file, NAME.py, without dots"
        )
    if parts == ["__init__"]:
        parts = []
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    sys.path.insert(0, folder)
    return ".".join(parts), file


def _nearest(missing: str) -> str:
    """What may have been meant by a module that is not there."""
    package, _, last = missing.rpartition(".")
    places = None if not package else getattr(sys.modules.get(package), "__path__", [])
    names = [found.name for found in pkgutil.iter_modules(places)]
    near = did_you_mean(last, names)
    return near.replace("'", f"'{package}.", 1) if near and package else near


def _elsewhere(missing: str) -> str:
    return "" if "." in missing else f"; it was looked for in {os.getcwd()} and where Python finds packages"


def _attribute(module: ModuleType, path: str, text: str) -> object:
    found: Any = module
    done = module.__name__
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as fault:
            names = [name for name in dir(found) if not name.startswith("_")]
            raise FactoryError(f"{done} has no {part!r}{did_you_mean(part, names)}") from fault
        except Exception as fault:
            _failed(f"{text}: looking up {part!r} failed", fault)
        done = f"{done}.{part}"
    return found


def _made(found: Any, text: str) -> object:
    """What a factory gives, or the object itself where it is no factory."""
    from torch import nn

    if isinstance(found, (nn.Module, tuple)):
        return found
    if not callable(found):
        raise FactoryError(f"{text} is {_kind(found)}: a function that builds an nn.Module, or one itself, is needed")
    needed = _needed(found)
    if needed:
        what = "class" if isinstance(found, type) else "factory"
        raise FactoryError(
            f"{text} needs arguments ({', '.join(needed)}), but a factory is called without: "
            f"write a function that gives the {what} its arguments"
        )
    try:
        made = found()
    except (Exception, SystemExit) as fault:
        _failed(f"{text} raised", fault)
    if inspect.iscoroutine(made):
        made.close()
        raise FactoryError(f"{text} is asynchronous: a factory is a plain function")
    return made


def _needed(function: Callable[..., object]) -> list[str]:
    """The parameters without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not tell
        return []
    varying = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in varying]


def _kind(value: object) -> str:
    if isinstance(value, ModuleType):
        return f"a module ({value.__name__})"
    return "None" if value is None else f"an object of the class {type(value).__qualname__}"


def _built(made: Any, text: str) -> Built:
    from torch import nn

    parts = made if isinstance(made, tuple) else (made,)
    model: object = parts[0] if parts else None
    if not isinstance(model, nn.Module):
        hint = ": return the model instead of its class" if isinstance(model, type) else ""
        what = "an empty tuple" if made == () else f"{_kind(model)}{' first' * isinstance(made, tuple)}"
        raise FactoryError(f"{text} gives {what}, no nn.Module{hint}")
    if len(parts) == 1 or (len(parts) == 2 and parts[1] is None):
        return Built(model, (), dummies(model))
    if len(parts) == 2:
        inputs = parts[1]
        if isinstance(inputs, Mapping):
            return Built(model, (), _words(inputs, text))
        return Built(model, inputs if isinstance(inputs, tuple) else (inputs,), {})
    if len(parts) == 3 and isinstance(parts[1], (tuple, list)) and isinstance(parts[2], Mapping):
        return Built(model, tuple(parts[1]), _words(parts[2], text))
    raise FactoryError(
        f"{text} gives {len(parts)} objects: a model, (model, inputs) or (model, args, kwargs) with a tuple and a dict "
        "are understood; put several positional arguments into one tuple"
    )


def _words(inputs: Mapping[Any, Any], text: str) -> dict[str, Any]:
    wrong = next((key for key in inputs if not isinstance(key, str)), None)
    if wrong is not None:
        raise FactoryError(f"{text} gives inputs under the key {wrong!r}: keyword arguments have names")
    return dict(inputs)


def dummies(model: nn.Module) -> dict[str, Any]:
    """The inputs that a model has for itself, if it takes them: Hugging Face gives token ids to vision models too."""
    try:
        inputs = model.dummy_inputs
    except Exception:  # most models have none, and some fail to make them
        return {}
    if not isinstance(inputs, Mapping) or getattr(model, "main_input_name", "input_ids") not in inputs:
        return {}
    parameters = inspect.signature(model.forward).parameters
    named = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if not all(isinstance(key, str) and (named or key in parameters) for key in inputs):
        return {}
    return dict(inputs)
