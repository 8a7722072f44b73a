"""How fast and how big: gelu-lint and its peers on the same files, in turn, in one run.

    python tests/benchmark.py DIR [--repeat 5] [--packages transformers timm keras]

DIR (outside the repository) gets virtual environments with ruff, torchfix, flake8, pyupgrade and this checkout, and the
packages as plain source trees, fetched as wheels with pip and never installed or run. What is there is kept.
Prints a Markdown table of medians: seconds, the ratio to a peer of the same run and what it should be at most, lines a
second, peak memory of any process. Commands that are compared take turns, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PINS = {"transformers": "5.24.0", "timm": "1.0.31", "keras": "3.15.1", "diffusers": "0.42.1", "vllm": "0.6.0"}
TOOLS = ("ruff", "torchfix==0.7.0", "flake8", "pyupgrade")
SAMPLE = 40  # files that TorchFix gets: it does some hundred lines a second
SIZES = (100, 400, 1600, 6400, 25_000)


Command = Sequence[str | Path]


class Cost(NamedTuple):
    """The median wall time of a command in seconds, and the peak memory of any of its processes in MB."""

    seconds: float
    memory: float


def measure(commands: Mapping[str, Command], repeat: int, cwd: Path) -> dict[str, Cost]:
    """Run ``commands`` in turn, ``repeat`` times after one run that warms the disk cache. Exit codes 0 and 1 are fine.

    Raises SystemExit for any other exit code.
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    peaks = dict.fromkeys(commands, 0.0)
    for turn in range(repeat + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in (0, 1):
                sys.exit(f"exit {process.returncode}: {' '.join(map(str, command))[:200]}")
            if turn:
                times[name].append(time.perf_counter() - started)
            peaks[name] = max(peaks[name], usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10))
    return {name: Cost(statistics.median(times[name]), peaks[name]) for name in commands}


def environment(folder: Path, name: str, packages: Sequence[str]) -> Path:
    """The ``bin`` of a virtual environment of its own, so that no tool loads another one's plugin."""
    binary = folder / name / ("Scripts" if os.name == "nt" else "bin")
    if not binary.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
    subprocess.run([binary / "pip", "install", "-q", *packages], check=True)
    return binary


def fetch(name: str, folder: Path) -> Path:
    """The Python files of a package, unpacked from its wheel."""
    target = folder / "corpus" / name
    if not target.is_dir():
        with tempfile.TemporaryDirectory() as tmp:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", tmp]
            subprocess.run([*pip, f"{name}=={PINS[name]}"], check=True)
            (wheel,) = Path(tmp).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for info in archive.infolist():
                    if info.filename.endswith(".py") and ".." not in Path(info.filename).parts:
                        archive.extract(info, target)
    return target


def lines(paths: Sequence[Path]) -> int:
    """How many lines the files have."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def grown(paths: Sequence[Path], count: int, into: Path) -> Path:
    """A folder of ``count`` files: a fair sample of ``paths``, or all of them as often as that takes."""
    if into.is_dir():
        shutil.rmtree(into)
    step = max(1, len(paths) // count)
    for number in range(count):
        source = paths[number * step % len(paths)]
        place = into / f"part{number // 500}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / f"m{number}_{source.name}")
    return into


class Table:
    """The rows as they come; each is printed at once to the error stream, since all of them take minutes."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []

    def add(
        self, what: str, cost: Cost, peer: str = "", other: Cost | None = None, most: str = "", lines: int = 0
    ) -> None:
        ratio = f"{cost.seconds / other.seconds:.2f} × {peer}" if other else ""
        rate = f"{lines / cost.seconds:,.0f}" if lines else ""
        self.rows.append((what, f"{cost.seconds:.3f}", ratio, most, rate, f"{cost.memory:.0f}"))
        print(" | ".join(self.rows[-1]), file=sys.stderr)

    def __str__(self) -> str:
        head = "| what | seconds | ratio | at most | lines a second | peak MB |\n| --- | --- | --- | --- | --- | --- |"
        return "\n".join((head, *(f"| {' | '.join(row)} |" for row in self.rows)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), help="how many files, to see it grow")
    parser.add_argument("--packages", nargs="+", default=["transformers", "timm"], choices=list(PINS))
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error("DIR must lie outside the repository")
    folder.mkdir(parents=True, exist_ok=True)
    repeat, table = chosen.repeat, Table()
    peers, plain = environment(folder, "peers", TOOLS), environment(folder, "plain", ["flake8"])
    ours = environment(folder, "ours", [f"{ROOT}[flake8]"])
    subprocess.run([ours / "pip", "install", "-q", "--force-reinstall", "--no-deps", ROOT], check=True)
    own = [ours / "gelu-lint", "check", "--exit-zero", "--output-format", "concise"]
    cold = [*own, "--no-cache"]

    for name in chosen.packages:
        tree = fetch(name, folder)
        files = sorted(tree.rglob("*.py"))
        count = lines(files)
        ruff = [peers / "ruff", "check", "--no-cache", "--isolated", "--select", "E9,F", "--exit-zero", tree]
        costs = measure({"ruff": ruff, "cold": [*cold, tree], "warm": [*own, tree]}, repeat, folder)
        table.add(f"ruff, {name} ({len(files):,} files, {count:,} lines)", costs["ruff"], lines=count)
        limits = ("2", "0.7") if name == "transformers" else ("", "")
        table.add(f"gelu-lint without a cache, {name}", costs["cold"], "ruff", costs["ruff"], limits[0], count)
        table.add(f"gelu-lint with a warm cache, {name}", costs["warm"], "ruff", costs["ruff"], limits[1], count)
        if name == chosen.packages[0]:
            speed = count / costs["cold"].seconds

    first = folder / "corpus" / chosen.packages[0]
    every = sorted(first.rglob("*.py"))
    bearers = [path for path in every if b"nn.gelu()" in path.read_bytes().lower()]
    sample = [path for path in bearers if 100 < lines([path]) < 800][:SAMPLE]
    torchfix = [peers / "flake8", "--isolated", "--select", "TOR", "--exit-zero"]
    costs = measure({"torchfix": [*torchfix, *sample], "ours": [*cold, *sample]}, 1, folder)
    count = lines(sample)
    table.add(f"torchfix, {len(sample)} files with a GELU", costs["torchfix"], lines=count)
    times = speed / (count / costs["torchfix"].seconds)
    table.add("gelu-lint, the same files", costs["ours"], "torchfix", costs["torchfix"], lines=count)
    costs = measure({"torchfix": [*torchfix, sample[0]], "ours": [*cold, sample[0]]}, repeat, folder)
    table.add(f"torchfix, one file with a GELU ({lines(sample[:1])} lines)", costs["torchfix"])
    table.add("gelu-lint, the same file", costs["ours"], "torchfix", costs["torchfix"], "0.6")

    clean = next(path for path in every if b"gelu" not in path.read_bytes().lower() and 200 < lines([path]) < 400)
    pyupgrade = [peers / "pyupgrade", "--py310-plus", "--exit-zero-even-if-changed", clean]
    python = [ours / "python", "-c", "pass"]
    costs = measure({"python": python, "pyupgrade": pyupgrade, "ours": [*own, clean]}, repeat * 4, folder)
    table.add("python -c pass", costs["python"])
    table.add("pyupgrade, one file without a GELU", costs["pyupgrade"], "python -c pass", costs["python"])
    table.add("gelu-lint, the same file", costs["ours"], "python -c pass", costs["python"], "4")

    tree = fetch("timm", folder)
    flake8 = ["--isolated", "--exit-zero", tree]
    costs = measure({"alone": [plain / "flake8", *flake8], "beside": [ours / "flake8", *flake8]}, repeat, folder)
    table.add("flake8, timm", costs["alone"])
    table.add("flake8 with gelu-lint, timm", costs["beside"], "flake8", costs["alone"], "1.05")

    before: tuple[float, int] | None = None
    for size in chosen.sizes:
        place = grown(every, size, folder / "grown")
        cost, count = measure({"ours": [*cold, place]}, 3, folder)["ours"], lines(sorted(place.rglob("*.py")))
        extra = ""
        if before is not None:
            extra = f", {(cost.seconds - before[0]) / (count - before[1]) * 1e6:.2f} µs for each line more"
        table.add(f"gelu-lint, {size:,} files{extra}", cost, lines=count)
        before = cost.seconds, count
    shutil.rmtree(folder / "grown", ignore_errors=True)
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of {repeat} runs in turn\n\n{table}\n")
    print(f"On {chosen.packages[0]} gelu-lint reads {times:,.0f} × as many lines a second as TorchFix on its files.")


if __name__ == "__main__":
    main()
