"""Pictures: what is drawn is right, all of it can be read, and the same picture is the same bytes."""

from __future__ import annotations

import io
import itertools
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import scipy.special
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from gelu_lint import cli
from gelu_lint.numerics.identify import identify
from gelu_lint.numerics.ir import X, call, const
from gelu_lint.runtime import canvas, plots
from gelu_lint.runtime.lookup import NothingThere, find

EXAMPLES = Path(__file__).parents[1] / "examples"
BROKEN = EXAMPLES / "broken"

#: The functions by SciPy, which shares nothing with gelu_lint.numerics.
VALUES = {
    "erf": lambda x: x * scipy.special.ndtr(x),
    "tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "quick": lambda x: x * scipy.special.expit(1.702 * x),
    "SiLU": lambda x: x * scipy.special.expit(x),
    "ReLU": lambda x: np.maximum(x, 0),
}


def near_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * x**3)))


#: Every kind of picture.
PICTURES: dict[str, Callable[[], Figure]] = {
    "flavours": plots.flavours,
    "errors": plots.errors,
    "silu": lambda: plots.against("silu", "erf"),
    "same": lambda: plots.against("tanh", "tanh"),
    "near": lambda: plots.against(near_tanh, "tanh", title="model.py:12, under the name gelu\n0.44715 for 0.044715"),
    "unbounded": lambda: plots.against(lambda x: 2 * x, "erf", title="twice x"),
    "limit": lambda: plots.against(lambda x: max(x, 0.0) + x / (1 + abs(x)), "relu", title="raised"),
    "clamped": lambda: plots.against(lambda x: max(x, -1.0) + 0.25, "relu", title="clamped"),
    "slope": lambda: plots.against(lambda x: 1.0 if x > 0 else 0.0, "tanh", slope=True, title="not the derivative"),
    "overflow": lambda: plots.against(lambda x: x / (1 - 1 / x) if x > -2 else math.inf, "quick", title="a pole"),
    "samples": lambda: plots.against(([-3.0, -1.0, 0.0, 2.0], [0.0, math.nan, 0.0, math.inf]), "erf", title="four"),
    "long": lambda: plots.against("mish", "erf", title=f"{'a/very/long/path' * 4}.py:1234567, under the name of " * 2),
    "source": lambda: plots.against("mish", "erf", title=r"$x^2$ & <b> \frac{1}{2} {unclosed _ ^ $"),
}


def lines(axes: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The curves of a panel by the first word of their label."""
    named = (line for line in axes.get_lines() if not line.get_label().startswith("_"))
    return {line.get_label().split("  ")[0]: (line.get_xdata(), line.get_ydata()) for line in named}


def panels(made: Figure) -> Iterator[Axes]:
    for axes in made.axes:
        yield axes
        yield from axes.child_axes


def slope(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The derivative by differences of fifth order: good to 1e-11 where the function is smooth."""
    h = 1e-3
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return sum(w * (function(x + k * h) - function(x - k * h)) for k, w in weights.items()) / h


# What is drawn


def test_flavours_are_drawn_as_scipy_has_them() -> None:
    left, right = plots.flavours().axes
    for axes in (left, *left.child_axes):
        drawn = lines(axes)
        assert list(drawn) == list(VALUES)
        for name, (x, y) in drawn.items():
            assert np.abs(y - VALUES[name](x)).max() < 1e-12
    for axes in (right, *right.child_axes):
        for name, (x, y) in lines(axes).items():
            smooth = np.abs(x) > 0.01 if name == "ReLU" else np.full(len(x), True)
            assert np.abs(y - slope(VALUES[name], x))[smooth].max() < 1e-9
    assert (left.get_xlabel(), left.get_ylabel(), right.get_ylabel()) == ("x", "f(x)", "f′(x)")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("tanh", "tanh − erf\nat most 4.73e-4 at |x| = 2.699"),
        ("quick", "quick − erf\nat most 0.0203 at |x| = 2.270"),
        ("SiLU", "SiLU − erf\nat most 0.193 at |x| = 1.965"),
    ],
)
def test_errors_are_drawn_and_their_maximum_is_marked(name: str, title: str) -> None:
    axes = next(axes for axes in plots.errors().axes if axes.get_title().startswith(name))
    assert axes.get_title() == title
    x, y = lines(axes)[name]
    assert np.abs(y - (VALUES[name](x) - VALUES["erf"](x))).max() < 1e-12
    dense = np.linspace(-6, 6, 200_001)
    gaps = VALUES[name](dense) - VALUES["erf"](dense)
    marked = sorted(
        point for line in axes.get_lines() if line.get_marker() == "o" for point in line.get_xydata().tolist()
    )
    assert len(marked) == 2
    for at, gap in marked:
        assert abs(gap) == pytest.approx(np.abs(gaps).max(), rel=1e-6)
        assert abs(at) == pytest.approx(abs(dense[np.abs(gaps).argmax()]), abs=1e-3)
        assert f"|x| = {abs(at):.3f}" in title


def test_against_draws_both_and_the_difference() -> None:
    left, right = PICTURES["near"]().axes
    x, y = lines(left)["computed"]
    assert np.array_equal(y, [near_tanh(point) for point in x])
    assert np.abs(lines(left)["expected: tanh"][1] - VALUES["tanh"](lines(left)["expected: tanh"][0])).max() < 1e-12
    assert np.abs(lines(right)["computed − expected"][1] - (y - VALUES["tanh"](x))).max() < 1e-12
    assert left.child_axes, "the dip is magnified"


def test_samples_far_out_count_and_are_not_drawn() -> None:
    x = np.linspace(-50, 50, 2001)
    made = plots.against((list(x), list(VALUES["SiLU"](x))), "erf")
    assert made.get_suptitle() == "off by up to 0.193 at |x| = 1.950"
    assert made.axes[0].get_xlim() == made.axes[1].get_xlim() == (-4, 4)
    drawn, y = lines(made.axes[0])["computed"]
    assert (drawn.min(), drawn.max()) == (-4, 4)
    assert np.array_equal(y, VALUES["SiLU"](drawn))


def test_a_title_that_tells_the_difference_is_left_as_it_is() -> None:
    for title in ("computes SiLU: off by up to 0.193", "off without bound"):
        assert plots.against("silu", "erf", title=title).get_suptitle() == title


def test_names_in_any_script_are_drawn(recwarn: pytest.WarningsRecorder) -> None:
    made = plots.against("silu", "erf", title="模型.py:3 מודל \udcff\x1b[31m")
    assert canvas.encoded(made, "png") and canvas.encoded(made, "svg")
    assert made.get_suptitle().startswith(
        "模型.py:3 מודל \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m: off by"
    )
    assert not recwarn.list


def test_against_takes_samples_with_gaps() -> None:
    made = plots.against(([-1.0, 0.0, 1.0], [math.inf, 0.25, math.nan]), "relu", title="three")
    x, y = lines(made.axes[0])["computed"]
    assert list(x) == [-1, 0, 1]
    assert np.isnan(y[[0, 2]]).all() and y[1] == 0.25
    assert made.get_suptitle() == "three: off by up to 0.25 at x = 0"


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (lambda: plots.against("silu", "erf"), "x·σ(x) (SiLU): off by up to 0.193 at |x| = 1.965"),
        (lambda: plots.against("tanh", "tanh"), "the tanh GELU: the same function in exact arithmetic"),
        (PICTURES["unbounded"], "twice x: off without bound as x → −∞"),
        (PICTURES["limit"], "raised: off by up to 1 as x → −∞"),
        (
            lambda: plots.against(identify(call("mul", X, call("sigmoid", call("mul", const(1.6), X)))), "quick"),
            "x·σ(1.6x): off by up to 0.0164 at |x| = 1.454",
        ),
        (
            lambda: plots.against(near_tanh, "tanh", identity=identify(near_expr())),
            "nearly the tanh GELU: 0.44715 for 0.044715: off by up to 0.0932 at |x| = 1.339",
        ),
        (
            lambda: plots.against(lambda x: math.sqrt(x), "erf", title="a root"),
            "a root: no finite value at x = −10",
        ),
    ],
)
def test_the_title_names_the_fault_and_its_size(made: Callable[[], Figure], title: str) -> None:
    assert made().get_suptitle() == title


def near_expr():
    cube = call("mul", const(0.44715), call("pow", X, const(3)))
    inner = call("mul", const(math.sqrt(2 / math.pi)), call("add", X, cube))
    return call("mul", call("mul", const(0.5), X), call("add", const(1), call("tanh", inner)))


def test_the_size_of_a_family_is_that_of_its_function() -> None:
    x = np.linspace(-8, 8, 400_001)
    gaps = np.abs(x * scipy.special.expit(1.6 * x) - VALUES["quick"](x))
    assert f"{gaps.max():.3g}" == "0.0164"
    assert f"{abs(x[gaps.argmax()]):.3f}" == "1.454"


@pytest.mark.parametrize(
    ("found", "error", "message"),
    [
        ("gulu", KeyError, "gulu"),
        (identify(near_expr()), ValueError, "identity 'near' tells no values"),
        (([1.0, 0.0], [0.0, 1.0]), ValueError, "ascend"),
        (([0.0], [0.0]), ValueError, "two of each"),
        (([0.0, 1.0], [0.0, 1.0, 2.0]), ValueError, "2 and 3"),
        (([0.0, math.nan], [0.0, 1.0]), ValueError, "ascend"),
    ],
)
def test_what_cannot_be_drawn_is_refused(found: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        plots.against(found, "erf")
    with pytest.raises(KeyError, match="gulu"):
        plots.against("erf", "gulu")


# How it looks


def shown(made: Figure) -> list[tuple[str, Bbox]]:
    """Every text of a picture, and where it is, in pixels."""
    made.canvas.draw()
    renderer = made.canvas.get_renderer()
    found: list[Text] = [text for text in made.findobj(Text) if text.get_visible() and text.get_text().strip()]
    ticks = {
        id(label): axis.get_view_interval()[0] <= tick.get_loc() <= axis.get_view_interval()[1]
        for axes in panels(made)
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
    }
    return [(text.get_text(), text.get_window_extent(renderer)) for text in found if ticks.get(id(text), True)]


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_off_or_lies_on_another(name: str) -> None:
    made = PICTURES[name]()
    texts = shown(made)
    assert len(texts) > 10
    edge = made.bbox
    for text, box in texts:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= edge.width and box.y1 <= edge.height, f"{text!r} is cut off"
        assert box.height >= 0.085 * made.dpi, f"{text!r} is tiny"
    for (a, box), (b, other) in itertools.combinations(texts, 2):
        assert not Bbox.intersection(box, other), f"{a!r} lies on {b!r}"


@pytest.mark.parametrize("name", PICTURES)
def test_magnified_parts_lie_on_no_curve(name: str) -> None:
    made = PICTURES[name]()
    made.canvas.draw()
    for axes in made.axes:
        for inset in axes.child_axes:
            box = inset.get_tightbbox()
            for line in axes.get_lines():
                points = axes.transData.transform(np.column_stack(line.get_data()))
                assert not any(box.contains(*point) for point in points[np.isfinite(points).all(axis=1)])


def test_curves_are_told_apart_without_colour() -> None:
    left, _ = plots.flavours().axes
    dashes = [(line.get_linestyle(), line._unscaled_dash_pattern) for line in left.get_lines()]
    assert len({str(dash) for dash in dashes}) == len(VALUES)


# Files


@pytest.mark.parametrize("form", canvas.FORMATS)
@pytest.mark.parametrize("name", ["flavours", "errors", "near", "source"])
def test_the_same_picture_is_the_same_bytes(name: str, form: str) -> None:
    first = canvas.encoded(PICTURES[name](), form)
    with matplotlib.rc_context({"font.size": 23, "axes.grid": False, "lines.linewidth": 9, "svg.hashsalt": "other"}):
        again = canvas.encoded(PICTURES[name](), form)
    assert first == again
    if form == "png":
        assert first[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(first[16:20], "big") == 1290
        assert 400 < int.from_bytes(first[20:24], "big") < 700
        assert b"tIME" not in first
    else:
        root = ElementTree.fromstring(first)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not list(root.iter("{http://purl.org/dc/elements/1.1/}date"))


def test_a_path_is_written_in_the_format_of_its_suffix(tmp_path: Path) -> None:
    plots.errors(tmp_path / "e.SVG")
    plots.flavours(os.fspath(tmp_path / "f.png"))
    assert (tmp_path / "e.SVG").read_bytes() == canvas.encoded(plots.errors(), "svg")
    assert (tmp_path / "f.png").read_bytes() == canvas.encoded(plots.flavours(), "png")


def test_settings_of_the_caller_are_left_as_they_were() -> None:
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 23}):
        canvas.encoded(plots.flavours(), "svg")
        assert matplotlib.rcParams["font.size"] == 23
    assert dict(matplotlib.rcParams) == before


def test_drawing_loads_neither_pyplot_nor_torch() -> None:
    code = (
        "import sys, gelu_lint.runtime.plots as p; p.flavours()\nprint({'torch', 'matplotlib.pyplot'} & {*sys.modules})"
    )
    assert run_python("-c", code).stdout == b"set()\n"


def test_importing_it_does_not_import_matplotlib() -> None:
    code = "import sys, gelu_lint.runtime.plots, gelu_lint.cli; print('matplotlib' in sys.modules)"
    assert run_python("-c", code).stdout == b"False\n"


# The command


def run_python(*arguments: str, **settings: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False, **settings)


def plot(*arguments: str, cwd: Path) -> tuple[int, bytes, str]:
    done = run_python("-m", "gelu_lint", "plot", *arguments, cwd=cwd)
    return done.returncode, done.stdout, done.stderr.decode()


def test_plot_writes_the_curves_and_says_where(tmp_path: Path) -> None:
    assert plot(cwd=tmp_path) == (0, b"", "gelu-lint: wrote gelu.png\n")
    assert (tmp_path / "gelu.png").read_bytes() == canvas.encoded(plots.flavours(), "png")
    assert plot("--errors", "-o", "e.svg", cwd=tmp_path) == (0, b"", "gelu-lint: wrote e.svg\n")
    assert (tmp_path / "e.svg").read_bytes() == canvas.encoded(plots.errors(), "svg")


def test_plot_writes_png_to_standard_output(tmp_path: Path) -> None:
    assert plot("--errors", "--output=-", cwd=tmp_path) == (0, canvas.encoded(plots.errors(), "png"), "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "gelu.jpg"), "gelu.jpg: .jpg is no format of pictures here; a name ends in .png or .svg"),
        (("-o", "gelu"), "gelu: it has no suffix; a name ends in .png or .svg"),
        (("-o", "no/such/gelu.png"), "no/such/gelu.png: not written: No such file or directory"),
        (("-o", "folder.png"), "folder.png: not written: Is a directory"),
        (("--finding", "a.json:1"), "a.json:1: only Python and ONNX files hold functions to draw"),
        (("--finding", f"model.py:{'9' * 5000}"), "'model.py:9999"),
        (("--finding", "model.py"), "'model.py' is no FILE:LINE, as in model.py:12"),
        (("--finding", "none.py:3"), "none.py: cannot read: No such file or directory"),
        (("--finding", "model.py:1"), "model.py:1: no GELU is recognised in this line; one is in lines 3 and 4"),
        (("--finding", "empty.py:1"), "empty.py:1: no GELU is recognised in this file"),
        (("--finding", "bad.py:1"), "bad.py:1: file skipped: not valid Python 3: "),
        (("--finding", "model.py:4"), "model.py:4: which function this is, only the run decides"),
        (("--finding", "model.py:3", "--errors"), "--errors and --finding are two pictures; ask for one"),
        (("--finding",), "gelu-lint plot: argument --finding: expected one argument"),
        (("--error",), "gelu-lint plot: no option --error (did you mean '--errors'?)"),
        (("model.py",), "gelu-lint plot: unexpected argument 'model.py'"),
    ],
)
def test_plot_says_in_one_line_why_it_cannot(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "a.json").write_text('{"hidden_act": "gelu"}\n')
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("gelu = nn.GELU(\n")
    (tmp_path / "model.py").write_text("from torch import nn\n\na = nn.GELU()\nb = nn.GELU(approximate=how)\n")
    before = sorted(tmp_path.rglob("*"))
    try:
        code = cli.main(["plot", *arguments])
    except SystemExit as stopped:
        code = stopped.code
    out, said = capfd.readouterr()
    assert (code, out) == (2, "")
    assert said.startswith(message if message.startswith("gelu-lint") else f"gelu-lint: {message}")
    assert said.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_plot_without_matplotlib_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from gelu_lint.cli import main; sys.exit(main(['plot']))"
    done = run_python("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "gelu-lint: pictures need matplotlib: pip install 'gelu-lint[plot]'\n"
    assert not list(tmp_path.iterdir())


def test_a_failure_is_exit_code_2(tmp_path: Path) -> None:
    code, out, said = plot("-o", "no/such/gelu.png", cwd=tmp_path)
    assert (code, out, said) == (2, b"", "gelu-lint: no/such/gelu.png: not written: No such file or directory\n")


# The function at a line


#: Lines of the examples: the function there, what is expected, and what the title says below the place.
AT = {
    "handwritten.py:12": (VALUES["SiLU"], "erf", ", under the name GELU\nx·σ(x) (SiLU)"),
    "handwritten.py:18": (VALUES["quick"], "erf", ", under the name bias_gelu\nx·σ(1.702x) (quick GELU)"),
    "handwritten.py:24": (VALUES["erf"], "erf", ", under the name gelu_from_paper\nthe erf GELU"),
    "handwritten.py:29": (
        np.vectorize(near_tanh),
        "tanh",
        ", under the name gelu_from_memory\nnearly the tanh GELU: 0.44715 for 0.044715",
    ),
    "model.py:25": (VALUES["tanh"], "erf", "\nthe tanh GELU"),  # the project's policy is erf
    "model.py:32": (VALUES["erf"], "erf", "\nthe erf GELU"),
    "ported.py:14": (VALUES["tanh"], "erf", ", under the name gelu_erf\nthe tanh GELU"),
    "paths.py:18": (VALUES["quick"], "erf", ""),  # of two in the line, the one that is off
    "paths.py:18:64": (VALUES["erf"], "erf", ""),
    "half.py:12": (
        VALUES["tanh"],
        "tanh",
        ", under the name TanhGELU\nits gradient is NaN in float16 from |x| = 147.9 on\nthe tanh GELU",
    ),
    "half.py:23": (
        VALUES["tanh"],
        "tanh",
        ", under the name tanh_gelu_from_exp\nNaN in float32 from x = 10.1 on\nthe tanh GELU",
    ),
}


@pytest.mark.parametrize("place", AT)
def test_the_function_at_a_line_is_found(place: str) -> None:
    function, wanted, words = AT[place]
    found = find(f"{BROKEN}/{place}")
    x = np.linspace(-5, 5, 101)
    assert np.abs([found.function(point) for point in x] - function(x)).max() < 1e-6
    assert (found.wanted, found.slope) == (wanted, False)
    if words:
        assert found.title == f"{BROKEN}/{':'.join(place.split(':')[:2])}{words}"


INSTEAD = """\
from torch import nn

a = nn.Transformer(activation=nn.GELU())
b = nn.TransformerEncoderLayer(8, 2, activation=nn.GELU("tanh"), batch_first=True)
c = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, activation=nn.GELU("tanh")), 2)
d = nn.SiLU(), nn.TransformerEncoderLayer(
    8, 2, activation=nn.GELU(
        "tanh"), batch_first=True)
e = nn.TransformerEncoderLayer(8, 2, activation=nn.GELU("tanh"))
"""


@pytest.mark.parametrize(
    ("row", "computed", "wanted", "words"),
    [
        (
            3,
            "ReLU",
            "erf",
            "Transformer copies its decoder layer, and the copies compute ReLU in the place of this GELU",
        ),
        ("3:31", "ReLU", "erf", "Transformer copies its decoder layer"),
        (4, "erf", "tanh", "TransformerEncoderLayer with batch_first=True computes the erf GELU in eval"),
        (5, "ReLU", "tanh", "TransformerDecoder copies the layer"),
        (8, "erf", "tanh", "TransformerEncoderLayer with batch_first=True computes the erf GELU in eval"),
        (9, "tanh", "tanh", "the tanh GELU"),
    ],
)
def test_what_runs_in_the_place_of_a_gelu_is_drawn(
    row: int | str, computed: str, wanted: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(INSTEAD)
    found = find(f"m.py:{row}")
    x = np.linspace(-5, 5, 101)
    assert np.abs([found.function(point) for point in x] - VALUES[computed](x)).max() < 1e-6
    assert found.wanted == wanted and f"\n{words}" in found.title
    made = plots.against(found.function, found.wanted, title=found.title, slope=found.slope)
    assert ("the same function" in made.get_suptitle()) == (computed == wanted)
    assert made.get_suptitle().count("up to ") == (computed != wanted)


@pytest.mark.parametrize("pad", range(0, 90, 3))
def test_a_title_is_not_broken_in_an_equation(pad: int) -> None:
    for function, end in ((lambda x: max(x, 0.0) + 0.2 / (1 + (x - 1) ** 2), "x = "), (lambda x: 2 * x, "x → −∞")):
        title = plots.against(function, "relu", title=f"{'a' * (pad // 2)} {'b' * (pad - pad // 2)}").get_suptitle()
        assert any(end in line for line in title.split("\n")), title
        assert title.isprintable() or "\n" in title


def test_a_backward_is_held_against_the_derivative() -> None:
    found = find(f"{BROKEN}/ported.py:20")
    assert (found.wanted, found.slope) == ("tanh", True)
    x = np.linspace(-5, 5, 101)
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    typed = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608 + 0.0170322243 * x * x)
    assert np.abs([found.function(point) for point in x] - typed).max() < 1e-9
    made = plots.against(found.function, found.wanted, title=found.title, slope=found.slope)
    assert made.get_suptitle().endswith("not the derivative of the tanh GELU: off by up to 0.0383 at |x| = 1.585")
    assert made.axes[0].get_ylabel() == "f′(x)"


def test_a_formula_over_several_lines_is_found_in_each(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("import torch\n\n\ndef gelu(x):\n    return (\n        x\n        * torch.sigmoid(x)\n    )\n")
    for row in (6, 7):
        assert find(f"{path}:{row}").function(1.0) == pytest.approx(scipy.special.expit(1.0))
    with pytest.raises(NothingThere, match=r"one is in line 6$"):
        find(f"{path}:8")


def test_a_call_under_the_name_of_gelu_is_drawn_as_its_own_function(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "from torch import nn\n\nclass Block(nn.Module):\n    def __init__(self):\n        self.gelu = nn.SiLU()\n"
    )
    found = find(f"{path}:5")
    assert (found.function(-1.0), found.wanted) == (pytest.approx(-scipy.special.expit(-1.0)), "erf")
    out = io.BytesIO(canvas.encoded(plots.against(found.function, found.wanted, title=found.title), "png"))
    assert out.read(4) == b"\x89PNG"
