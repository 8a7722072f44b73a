"""The contract between the rows of facts and the frameworks: every framework that is installed is held to its rows.

Truth is SciPy's: no value is compared with the numerics of this project. torch, numpy and scipy are always here; any
other framework that is missing is skipped, and the skip says so.
"""

import contextlib
import functools
import importlib
import importlib.util
import inspect
import math
import sys
import warnings

import numpy as np
import pytest
from scipy.special import expit, ndtr

from gelu_lint.facts import table
from gelu_lint.facts.replacements import BUILT_INS
from gelu_lint.facts.table import absent, callables, find_absent, others, refused, tensor_only
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS

CLIP = (-0.1, 2.0)
TRUTH = {
    "erf": lambda x: x * ndtr(x),
    "tanh": lambda x: x * expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "quick": lambda x: x * expit(1.702 * x),
    "clipped": lambda x: np.clip(x * ndtr(x), *CLIP),
}
OTHER_TRUTH = {
    "silu": lambda x: x * expit(x),
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid": expit,
    "plain_tanh": np.tanh,
    "softplus": lambda x: np.logaddexp(0, x),
}
GRID = np.linspace(-6, 6, 1201)

ALWAYS = {"torch", "numpy", "math", "scipy"}
ENVIRONMENT = {"KERAS_BACKEND": "torch", "TF_CPP_MIN_LOG_LEVEL": "3", "DEV": "PYTHON"}

#: Where the tensors of a name come from, by the longest prefix that fits; torch where none does.
TENSORS = {
    "jax": "jax", "flax": "jax", "paddle": "paddle", "paddlenlp": "paddle", "mlx": "mlx", "tinygrad": "tinygrad",
    "openvino": "openvino", "mindspore": "mindspore", "oneflow": "oneflow",
    "keras": "keras", "keras_hub": "keras", "keras_nlp": "keras", "keras.src.backend.jax": "jax",
    "keras.src.backend.numpy": "numpy", "keras.src.backend.torch": "torch",
    "keras.src.backend.tensorflow": "tensorflow", "tensorflow": "tensorflow", "tensorflow.keras": "keras",
    "tf_keras": "tensorflow", "official": "tensorflow", "tensorflow_addons": "tensorflow",
}  # fmt: skip

#: Frameworks that crash a process that has loaded the other one: each is held to its rows in a run of its own (-k).
RIVALS = {
    "paddle": "tensorflow", "paddlenlp": "tensorflow", "tensorflow": "paddle", "tf_keras": "paddle",
    "keras.src.backend.tensorflow": "paddle", "official": "paddle", "tensorflow_addons": "paddle",
}  # fmt: skip

#: Names that the installed signature does not show, though a call takes them.
UNSHOWN = {"paddle.nn.functional.gelu": {"input", "out"}}

NAMES = sorted(callables())
ROWS = sorted(set(callables().values()), key=lambda row: row.name)


@pytest.fixture(autouse=True, scope="module")
def _environment():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@contextlib.contextmanager
def quiet():
    """Frameworks may warn about each other; only our own warnings are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@functools.cache
def unusable(module):
    """Why ``module`` cannot be imported here, "" if it can. A module that does not exist raises LookupError."""
    root = module.partition(".")[0]
    if importlib.util.find_spec(root) is None:
        return f"{root} is not installed here"
    for prefix, rival in RIVALS.items():
        if f"{module}.".startswith(f"{prefix}.") and rival in sys.modules:
            return f"{root} crashes beside {rival}, which this process has loaded: run with -k {root}"
    try:
        with quiet():
            importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise LookupError(module) from error
        return f"{module} needs {error.name}, which is not installed here"
    except Exception as error:
        return f"{module} does not import here: {type(error).__name__}: {error}"
    return ""


def resolve(name):
    """What a full name means, as an import and attributes find it. LookupError if it means nothing."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join(parts[:cut])
        try:
            reason = unusable(module)
        except LookupError:
            continue
        if reason:
            assert parts[0] not in ALWAYS, reason
            pytest.skip(reason)
        found = importlib.import_module(module)
        with quiet():
            for part in parts[cut:]:
                try:
                    found = getattr(found, part)
                except AttributeError as error:
                    raise LookupError(name) from error
                except ModuleNotFoundError as error:
                    pytest.skip(f"{name} needs {error.name}, which is not installed here")
        return found
    raise LookupError(name)


def tensors(name):
    """The functions that make a tensor for ``name`` and read its result."""
    prefixes = [prefix for prefix in TENSORS if f"{name}.".startswith(f"{prefix}.")]
    kind = TENSORS[max(prefixes, key=len)] if prefixes else "torch"
    if kind == "numpy":
        return np.asarray, np.asarray
    make = {
        "jax": "jax.numpy.asarray", "keras": "keras.ops.convert_to_tensor", "mlx": "mlx.core.array",
        "mindspore": "mindspore.Tensor", "oneflow": "oneflow.tensor", "openvino": "openvino.opset16.constant",
        "paddle": "paddle.to_tensor", "tensorflow": "tensorflow.constant", "tinygrad": "tinygrad.Tensor",
        "torch": "torch.tensor",
    }[kind]  # fmt: skip
    if kind == "tinygrad":
        return (lambda x: resolve(make)(x.tolist())), lambda y: np.asarray(y.tolist())
    if kind == "openvino":
        return resolve(make), infer
    read = {"keras": "keras.ops.convert_to_numpy", "torch": "torch.Tensor.detach"}.get(kind)
    return resolve(make), (lambda y: np.asarray(resolve(read)(y))) if read else np.asarray


def infer(node):
    """The value of an OpenVINO node."""
    model = resolve("openvino.Model")([node], [])
    return resolve("openvino.compile_model")(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([])[0]


def compute(name, *given, dtype="float32", grid=GRID, **named):
    """What the callable computes on the grid, given these arguments beside the input."""
    row, call = callables()[name], resolve(name)
    make, read = tensors(name)
    x = grid.astype(dtype)
    with quiet():
        if row.kind == "layer":
            return np.asarray(read(call[1]((), make(x), *given, **named)), "float64")
        if row.kind != "class":
            return np.asarray(read(call(make(x), *given, **named)), "float64")
        if row.flavour == "clipped":
            given = (*CLIP, *given)
        if row.framework == "diffusers" and "dim_in" in row.parameters:
            module = call(1, 1, *given, **named)
            module.load_state_dict({"proj.weight": make(np.ones((1, 1), dtype)), "proj.bias": make(np.zeros(1, dtype))})
            return np.asarray(read(module(make(x[:, None])))[:, 0], "float64")
        return np.asarray(read(call(*given, **named)(make(x))), "float64")


def computes(flavour, name, *given, **named):
    values = compute(name, *given, **named)
    closest = min(TRUTH, key=lambda other: np.abs(values - TRUTH[other](GRID)).max())
    distance = np.abs(values - TRUTH[flavour](GRID)).max()
    assert distance < 1e-6, f"{name}{given}{named} is {closest}, {distance:.2g} from {flavour}"


def positional(row, value):
    """The arguments beside the input that put ``value`` at the position of the choosing argument."""
    assert row.position is not None
    taken = {"diffusers": 2}.get(row.framework, 0) + (row.kind != "class")
    assert row.position == taken
    return (value,)


def shown(call):
    """The parameters that the signature shows, None where there is none or it takes any keyword."""
    try:
        with quiet():
            parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return None
    kinds = [parameter.kind for parameter in parameters.values()]
    return None if inspect.Parameter.VAR_KEYWORD in kinds else parameters


def demands(name):
    """Whether the choosing argument has no default in the installed version."""
    parameters = shown(resolve(name)) or {}
    keyword = callables()[name].keyword
    return keyword in parameters and parameters[keyword].default is inspect.Parameter.empty


# The rows by themselves.


def test_no_name_has_two_rows():
    for kind in ("CALLABLES", "OTHERS", "ABSENT", "REFUSED", "TENSOR_ONLY"):
        names = [name for row in table._rows(kind) for name in (row.name, *getattr(row, "aliases", ()))]
        assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_is_sound(row):
    assert row.source
    assert row.kind in ("function", "class", "op", "layer")
    assert row.flavour in (*FLAVOURS, "clipped")
    assert row.wrong in ("raises", "truthy")
    assert row.parameters == tuple(dict.fromkeys(row.parameters))
    assert row.dummy is None or row.dummy[0] in row.parameters
    for name in (row.name, *row.aliases):
        found = find_absent(name)
        assert found is None or found.package
    if not row.keyword:
        assert (row.position, row.values, row.default, row.misleading) == (None, (), None, ())
        return
    assert not row.parameters or row.keyword in row.parameters
    assert {flavour for _, flavour in row.values} <= set(FLAVOURS)
    assert len({(value, type(value)) for value, _ in row.values}) == len(row.values)
    assert row.flavour_of(row.default) == row.flavour
    assert row.wrong == "raises" or {value for value, _ in row.values} == {True, False}
    assert row.wrong == "truthy" or row.error
    for value, said in row.misleading:
        assert row.flavour_of(value) not in ("", said)
        assert row.can_select(said)


def test_absent_rows_are_sound():
    for row in absent().values():
        assert row.error
        assert row.source
        assert bool(row.package) == bool(row.gone or row.missing)
        if row.instead:
            assert find_absent(row.instead) is None
            assert "gelu" not in row.instead.lower() or row.instead in callables()
    for row in refused().values():
        assert row.words
        assert row.error
        assert row.source


def test_other_activations_are_sound():
    assert {row.flavour for row in others().values()} <= set(OTHERS) == set(OTHER_TRUTH)
    for row in others().values():
        gelu = callables()[row.instead]
        assert (gelu.kind, row.name in callables()) == (row.kind, False)
    for flavour, value in OTHERS.items():
        assert np.abs([value(x) for x in GRID] - OTHER_TRUTH[flavour](GRID)).max() < 1e-12


def test_every_replacement_is_a_built_in_of_that_flavour():
    for (_, flavour), name in BUILT_INS.items():
        row = callables()[name]
        assert row.can_select(flavour) if row.keyword else row.flavour == flavour


# The rows against what is installed.


@pytest.mark.parametrize("name", sorted(others()))
def test_other_activations(name):
    row, call = others()[name], resolve(name)
    make, read = tensors(name)
    x = make(GRID.astype("float32"))
    with quiet():
        values = np.asarray(read(call()(x) if row.kind == "class" else call(x)), "float64")
    assert np.abs(values - OTHER_TRUTH[row.flavour](GRID)).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_flavours(name):
    row = callables()[name]
    if demands(name):
        with pytest.raises(TypeError):
            compute(name)
    else:
        computes(row.flavour, name)
    for value, flavour in row.values:
        computes(flavour, name, **{row.keyword: value})
        if row.position is not None:
            computes(flavour, name, *positional(row, value))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("torch.")])
def test_flavours_in_double_precision(name):
    row = callables()[name]
    for value, flavour in row.values:
        values = compute(name, dtype="float64", **{row.keyword: value})
        assert np.abs(values - TRUTH[flavour](GRID)).max() < 1e-12


@pytest.mark.parametrize("name", [name for name in NAMES if callables()[name].keyword_only])
def test_position_is_refused(name):
    for value, _ in callables()[name].values:
        with pytest.raises((TypeError, RuntimeError)):
            compute(name, value)


@pytest.mark.parametrize("name", [name for name in NAMES if callables()[name].wrong == "truthy"])
def test_truth_decides(name):
    row = callables()[name]
    for value in ("none", "erf", "tanh", "False", "", None, 0, 1, 2.5):
        computes(row.flavour_of(bool(value)), name, **{row.keyword: value})


@pytest.mark.parametrize(
    "name", [name for name in NAMES if callables()[name].keyword and callables()[name].wrong == "raises"]
)
@pytest.mark.parametrize("value", [True, False, None, "Tanh", "TANH", "exact", "erf", "None", "", 0, 1, 2.5], ids=repr)
def test_wrong_value_raises(name, value):
    row = callables()[name]
    resolve(name)
    if row.flavour_of(value):
        return
    with pytest.raises((TypeError, ValueError, RuntimeError)) as raised:
        compute(name, **{row.keyword: value})
    said = row.error if isinstance(value, str) else row.type_error or row.error
    assert said.partition(":")[0] in [base.__name__ for base in type(raised.value).__mro__], raised.value


@pytest.mark.parametrize("name", [name for name in NAMES if callables()[name].dummy])
@pytest.mark.parametrize("value", ["tanh", "none", True])
def test_dummy_is_ignored(name, value):
    row = callables()[name]
    keyword, position = row.dummy
    assert position == (row.kind != "class")
    computes(row.flavour, name, value)
    computes(row.flavour, name, **{keyword: value})


@pytest.mark.parametrize("name", [name for name in NAMES if callables()[name].parameters])
def test_parameters(name):
    row, call = callables()[name], resolve(name)
    for unknown in {"approximate", "approx", "no_such_argument", "inplace"} - set(row.parameters):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            compute(name, **{unknown: True})
    parameters = shown(call)
    if parameters is None:
        return
    names = [p for p in parameters if p not in ("args", "kwargs")]
    assert set(names) <= set(row.parameters)
    assert set(row.parameters) - set(names) <= UNSHOWN.get(row.name, set())
    if row.keyword:
        only = parameters[row.keyword].kind is inspect.Parameter.KEYWORD_ONLY
        assert row.position == (None if only else names.index(row.keyword))


@pytest.mark.parametrize("row", absent().values(), ids=lambda row: row.name)
def test_absent(row):
    root = row.name.partition(".")[0]
    if row.missing:
        assert row.missing < row.gone if row.gone else row.missing
        resolve(row.name)  # it came later, and the installed version is later
        return
    reason = unusable(root)
    assert not reason or root not in ALWAYS
    if reason:
        pytest.skip(reason)
    if row.gone:
        version = resolve(f"{row.package}.__version__")
        if tuple(int(part) for part in version.split(".")[:2]) < row.gone:
            pytest.skip(f"{row.package} {version} is older than {row.gone}")
    if row.name.endswith(".*gelu*"):
        module = row.name.removesuffix(".*gelu*")
        found = resolve(module)
        with quiet():
            names = {name for name in dir(found) if "gelu" in name.lower()}
        tried = {"gelu", "GELU", "Gelu", "gelu_", "gelu_new", "gelu_tanh", "gelu_approx", "quick_gelu", "QuickGELU"}
        for name in sorted(names | tried):
            if f"{module}.{name}" not in callables():
                with pytest.raises(LookupError):
                    resolve(f"{module}.{name}")
        return
    with pytest.raises(LookupError):
        resolve(row.name)
    if row.instead:
        resolve(row.instead)


@pytest.mark.parametrize("row", refused().values(), ids=lambda row: row.name)
def test_refused(row):
    call = resolve(row.name)
    names = list(inspect.signature(call).parameters)
    assert names.index(row.keyword) == row.position
    given = [] if names[0] == row.keyword else [resolve("torch.zeros")(3, 3)]
    for value in row.words:
        with pytest.raises(Exception, match=value) as raised:
            call(*given, **{row.keyword: value})
        assert type(raised.value).__name__ in row.error


@pytest.mark.parametrize("name", sorted(tensor_only()))
def test_tensor_only(name):
    numbers = (0.5, 0.5) if name.endswith(".pow") else (0.5,)
    with pytest.raises(TypeError):
        resolve(name)(*numbers)
    if tensor_only()[name]:
        assert isinstance(resolve(tensor_only()[name])(*numbers), float)
