"""A pytest plugin: is it the GELU that it is taken for, and does its gradient get through?

Fixtures check one activation; ``--gelu-model`` and the ini setting ``gelu_models`` test those of whole models. Nothing
but pytest is imported until one of them is used.

The tests of models have the ids ``gelu_models::test_gelu_gradient_flow[MODULE:FACTORY::path.of.module]``. A model in
which no GELU is computed has one that fails, ``…[MODULE:FACTORY::(none)]``; a factory that gives no model, or one that
cannot be run, is an error of the collection, which stops the run as pytest's own do. They run with
every run of the whole suite or of directories. A run that names test ids takes those of ours that it names, with or
without the option; one that names files takes the models of the option, not those of the ini setting.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch

    from gelu_lint.numerics.match import Identity
    from gelu_lint.runtime.exact import Exact
    from gelu_lint.runtime.gradient_flow import Flow
    from gelu_lint.runtime.monitor import GeluMonitor

_FILE = "gelu_models"  # what stands for a file in the ids of items
_TEST = f"{_FILE}::test_gelu_gradient_flow"
_NAMED = pytest.StashKey[list[str]]()
_MODELS = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gelu-lint", "gelu-lint: GELUs and their gradients")
    group.addoption(
        "--gelu-model",
        action="append",
        default=[],
        metavar="MODULE:FACTORY",
        help="test each GELU of the model that a factory gives, and the gradient through its layers (repeatable)",
    )
    group.addoption("--gelu-plots", metavar="DIR", help="where pictures of failures go (default: the cache of pytest)")
    parser.addini("gelu_models", "models to test, one MODULE:FACTORY a line, as with --gelu-model", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gelu: tests of the GELUs of a model, made by gelu-lint")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Take our ids out of what pytest looks for in files, and settle what is tested."""
    config = session.config
    ours = [nodeid for nodeid in map(_ours, config.args) if nodeid]
    others = [arg for arg in config.args if not _ours(arg)]
    named = [arg for arg in ours if arg.startswith(f"{_TEST}[")]
    unknown = [arg for arg in ours if arg not in (_FILE, _TEST, *named)]
    if unknown:
        raise pytest.UsageError(f"not found: {unknown[0]} (ids are {_TEST}[MODULE:FACTORY::path.of.module])")
    asked: list[str] = config.getoption("gelu_model")
    models = asked + config.getini("gelu_models")
    odd = next((model for model in models if not isinstance(model, str)), None)
    if odd is not None:
        raise pytest.UsageError(f"gelu_models: {odd!r} is no text, such as 'my_package.models:build'")
    if ours:
        config.args[:] = others
        models = [*map(_model, named), *(models if ours != named else [])]
    elif any("::" in arg for arg in others):
        models = []
    elif _source(config) == "ARGS" and any(map(os.path.isfile, others)):
        models = asked
    if models and importlib.util.find_spec("torch") is None:
        from gelu_lint.runtime.faults import NO_TORCH

        raise pytest.UsageError(f"--gelu-model and gelu_models: {NO_TORCH}")
    config.stash[_NAMED] = named if ours == named else []
    config.stash[_MODELS] = list(dict.fromkeys(models))


def _ours(arg: str) -> str:
    """An argument as an id of ours, "" if it is none. Below the root directory pytest prints ``../gelu_models::…``."""
    path, colons, rest = arg.partition("::")
    if re.split(r"[/\\]", path)[-1] != _FILE or (not colons and os.path.exists(path)):
        return ""
    return f"{_FILE}{colons}{rest}"


def _model(nodeid: str) -> str:
    """MODULE:FACTORY of an id; the module may be a path with a drive, C:\\…"""
    inside = nodeid.partition("[")[2].removesuffix("]")
    return inside.rpartition("::")[0] or inside


def _source(config: pytest.Config) -> str:
    """Where the arguments of a run come from; before pytest 7.2 they are taken to be given."""
    return getattr(getattr(config, "args_source", None), "name", "ARGS")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the tests of models, before others select and order."""
    for model in session.config.stash.get(_MODELS, []):
        items += session.genitems(Model.of(session, model))


class Model(pytest.Collector):
    """A model, the GELUs of which are tested."""

    @classmethod
    def of(cls, session: pytest.Session, model: str) -> Model:
        """The collector of MODULE:FACTORY."""
        made: Model = cls.from_parent(session, name=model, nodeid=f"{_FILE}::{model}")
        return made

    def collect(self) -> Iterator[pytest.Item]:
        from gelu_lint.runtime.cases import cases
        from gelu_lint.runtime.factory import FactoryError

        noise = io.StringIO()  # pytest captures what files print when they are collected, and nothing else
        quiet = self.config.getoption("capture") != "no"
        try:
            with contextlib.redirect_stdout(noise if quiet else sys.stdout), _from(self._home()):
                found = {f"{_TEST}[{self.name}::{case.name}]": case for case in cases(self._text())}
        except FactoryError as error:
            printed = f"\n\nprinted:\n{noise.getvalue()}" if noise.getvalue() else ""
            raise self.CollectError(f"{error}{printed}") from None
        named = [nodeid for nodeid in self.config.stash[_NAMED] if _model(nodeid) == self.name]
        for nodeid in named:
            if nodeid not in found and nodeid != f"{_TEST}[{self.name}]":
                raise self.CollectError("\n  ".join((f"not found: {nodeid}; there are", *found)))
        for nodeid, case in found.items():
            if not named or nodeid in named or f"{_TEST}[{self.name}]" in named:
                yield Case.from_parent(self, name=nodeid.partition("::")[2], nodeid=nodeid, run=case.run)

    def _home(self) -> Path:
        """Where the settings lie, which may be above the current directory."""
        return self.config.inipath.parent if self.config.inipath else self.config.rootpath

    def _text(self) -> str:
        """MODULE:FACTORY, with a file as it is found from here."""
        file, _, attribute = self.name.rpartition(":")
        there = self._home() / file
        return f"{there}:{attribute}" if not os.path.isfile(file) and there.is_file() else self.name


@contextlib.contextmanager
def _from(folder: Path) -> Iterator[None]:
    """A folder as the last place that is imported from."""
    sys.path.append(str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(str(folder))]


class Case(pytest.Item):
    """A GELU of a model, or the gradient through all its layers."""

    def __init__(self, *, run: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._run_case = run
        # What functions have and plugins ask every item for
        self.obj = self.function = run
        self.originalname, self.cls, self.instance, self.module = "test_gelu_gradient_flow", None, None, None
        self.fixturenames: list[str] = []
        self.funcargs: dict[str, Any] = {}
        self.add_marker("gelu")

    def runtest(self) -> None:
        from gelu_lint.runtime.depth import NotTrainable

        try:
            found = self._run_case()
        except NotTrainable as reason:
            pytest.skip(str(reason))
        if found is None:
            pytest.skip("the factory gives no inputs to run the model on")
        if not found.ok:
            _fail(found, self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from gelu_lint.runtime.gradient_flow import GradientFlowError

        if isinstance(excinfo.value, GradientFlowError):
            return str(excinfo.value)
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, self.name


def _fail(found: Any, item: pytest.Item) -> None:
    """Raise the message of what was found, with a picture where there can be one."""
    from gelu_lint.runtime.gradient_flow import GradientFlowError

    __tracebackhide__ = True
    picture = _picture(found, item)
    raise GradientFlowError(found.message() + (f"\n\npicture: {picture}" if picture else ""))


def _picture(found: Any, item: pytest.Item) -> str:
    """Where the picture of a failure lies, "" where there is none."""
    draw = getattr(found, "picture", None)
    given = item.config.getoption("gelu_plots")
    cache = getattr(item.config, "cache", None)
    if draw is None or (given is None and cache is None):
        return ""
    folder = cache.mkdir("gelu") if given is None and cache is not None else item.config.invocation_params.dir / given
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "_", item.nodeid)[-150:].strip("_")
    path = folder / f"{name}.png"
    return str(path) if draw(path) else ""


@pytest.fixture
def gelu_gradient_flow(request: pytest.FixtureRequest) -> Callable[..., Flow]:
    """A check of one activation: ``gelu_gradient_flow(function, expected=None, dtype=, device=, tolerance=)``.

    The arguments are those of `gelu_lint.runtime.gradient_flow`; fails the test where something is wrong.
    """
    _need_torch("gelu_gradient_flow")
    from gelu_lint.runtime import gradient_flow

    def check(function: Callable[..., Any], expected: str | None = None, **settings: Any) -> Flow:
        __tracebackhide__ = True
        flow: Flow = _shortly(gradient_flow, function, expected, **settings)
        if not flow.ok:
            _fail(flow, request.node)
        return flow

    return check


@pytest.fixture
def gelu_flavour() -> Callable[..., Identity]:
    """Which function an activation computes: `gelu_lint.runtime.recognise`, whose ``flavour`` is its name."""
    _need_torch("gelu_flavour")
    from gelu_lint.runtime import recognise

    @functools.wraps(recognise)
    def flavour(*args: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        return _shortly(recognise, *args, **settings)

    return flavour


def _shortly(function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
    """Call a check; what is not element by element comes without the ways in which that was found out."""
    from gelu_lint.runtime.recognise import NotElementwise

    __tracebackhide__ = True
    try:
        return function(*args, **settings)
    except NotElementwise as error:
        raise error.with_traceback(None) from None


@pytest.fixture
def gelu_reference() -> Callable[..., Exact]:
    """The exact value and slope of a flavour, of floats and tensors: ``gelu_reference("tanh").slope(x)``.

    The names and the parameter of families are those of `gelu_lint.runtime.exact`; tensors come back in float64.
    """
    _need_torch("gelu_reference")
    from gelu_lint.runtime.exact import exact

    return exact


@pytest.fixture
def gelu_monitor() -> Iterator[Callable[..., GeluMonitor]]:
    """Makes monitors of models, ``gelu_monitor(model, …)``, and closes them when the test ends.

    The arguments are those of `gelu_lint.runtime.GeluMonitor`, without ``bounds`` unless they are given: tests run
    small models as they are initialised, which are healthy whatever the spread of their outputs.
    """
    _need_torch("gelu_monitor")
    from gelu_lint.runtime.monitor import GeluMonitor

    made: list[GeluMonitor] = []

    def make(model: torch.nn.Module, *, bounds: tuple[float, float] | None = None, **settings: Any) -> GeluMonitor:
        made.append(GeluMonitor(model, bounds=bounds, **settings))
        return made[-1]

    yield make
    for monitor in reversed(made):
        monitor.close()


def _need_torch(fixture: str) -> None:
    if importlib.util.find_spec("torch") is None:
        from gelu_lint.runtime.faults import NO_TORCH

        pytest.fail(f"the fixture {fixture}: {NO_TORCH}", pytrace=False)
