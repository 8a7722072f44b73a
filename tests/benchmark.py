"""How fast and how big: gelu-lint and its peers on the same files, in turn, in one run.

    python tests/benchmark.py DIR [--repeat 3] [--packages transformers timm keras]

DIR (outside the repository) gets a virtual environment with ruff, torchfix, flake8, pyupgrade and this checkout, and
the packages as plain source trees, fetched as wheels with pip and never installed or run. What is there is kept.
Prints a Markdown table of medians: seconds, ratios to a peer of the same run, lines a second, peak memory.
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
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PINS = {"transformers": "5.24.0", "timm": "1.0.31", "keras": "3.15.1", "diffusers": "0.42.1", "vllm": "0.6.0"}
TOOLS = ("ruff", "torchfix==0.7.0", "flake8", "pyupgrade")
SAMPLE = 40  # files that TorchFix gets: it does some hundred lines a second
SIZES = (100, 400, 1600, 6400, 25_000)


class Cost(NamedTuple):
    """The median wall time of a command in seconds, and the peak memory of any of its processes in MB."""

    seconds: float
    memory: float


def measure(command: Sequence[str], repeat: int, cwd: Path) -> Cost:
    """Run ``command`` a few times after one run that warms the disk cache. Exit codes 0 and 1 are fine.

    Raises SystemExit for any other exit code.
    """
    times, peak = [], 0.0
    for turn in range(repeat + 1):
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            sys.exit(f"exit {process.returncode}: {' '.join(map(str, command))[:200]}")
        if turn:
            times.append(time.perf_counter() - started)
        peak = max(peak, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10))
    return Cost(statistics.median(times), peak)


def environment(folder: Path) -> Path:
    """The ``bin`` of a virtual environment with gelu-lint and its peers."""
    binary = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    if not (binary / "pyupgrade").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([binary / "pip", "install", "-q", *TOOLS], check=True)
    subprocess.run([binary / "pip", "install", "-q", f"{ROOT}[flake8]"], check=True)
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
    """A folder of ``count`` files: those of ``paths``, copied as often as that takes."""
    if into.is_dir():
        shutil.rmtree(into)
    for number in range(count):
        source = paths[number % len(paths)]
        place = into / f"part{number // 500}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / f"m{number}_{source.name}")
    return into


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--packages", nargs="+", default=["transformers", "timm"], choices=list(PINS))
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error("DIR must lie outside the repository")
    folder.mkdir(parents=True, exist_ok=True)
    binary, repeat = environment(folder), chosen.repeat
    own = [binary / "gelu-lint", "check", "--exit-zero", "--output-format", "concise"]
    rows: list[tuple[str, str, str, str, str]] = []

    def row(what: str, cost: Cost, peer: str, other: Cost | None, rate: float | None = None) -> None:
        ratio = f"{cost.seconds / other.seconds:.2f} × {peer}" if other else ""
        speed = f"{rate:,.0f}" if rate else ""
        rows.append((what, f"{cost.seconds:.2f}", ratio, speed, f"{cost.memory:.0f}"))

    for name in chosen.packages:
        tree = fetch(name, folder)
        files = sorted(tree.rglob("*.py"))
        count = lines(files)
        ruff = [binary / "ruff", "check", "--no-cache", "--isolated", "--select", "E9,F", "--exit-zero", tree]
        peer, cost = measure(ruff, repeat, folder), measure([*own, tree], repeat, folder)
        row(f"ruff, {name} ({len(files):,} files, {count:,} lines)", peer, "", None, count / peer.seconds)
        row(f"gelu-lint, {name}", cost, "ruff", peer, count / cost.seconds)
    first = folder / "corpus" / chosen.packages[0]
    bearers = [path for path in sorted(first.rglob("*.py")) if b"gelu" in path.read_bytes().lower()]
    sample = [path for path in bearers if 100 < lines([path]) < 800][:SAMPLE]
    flakes = [binary / "flake8", "--isolated", "--select", "TOR", *sample]
    torchfix, cost = measure(flakes, 1, folder), measure([*own, *sample], repeat, folder)
    row(f"torchfix, {len(sample)} files with a GELU", torchfix, "", None, lines(sample) / torchfix.seconds)
    row("gelu-lint, the same files", cost, "torchfix", torchfix, lines(sample) / cost.seconds)
    clean = next(path for path in sorted(first.rglob("*.py")) if path not in bearers and 200 < lines([path]) < 400)
    empty = measure([binary / "python", "-c", "pass"], repeat * 3, folder)
    pyupgrade = measure([binary / "pyupgrade", "--py310-plus", "--exit-zero-even-if-changed", clean], repeat, folder)
    cost = measure([*own, clean], repeat * 3, folder)
    row("python -c pass", empty, "", None)
    row("pyupgrade, one file without a GELU", pyupgrade, "python -c pass", empty)
    row("gelu-lint, the same file", cost, "python -c pass", empty)
    tree = fetch("timm", folder)
    plain = [binary / "flake8", "--isolated", "--exit-zero", "--select", "E9", tree]
    alone = measure([*plain[:-1], "--extend-ignore", "GEL", tree], repeat, folder)
    beside = measure([*plain[:2], "--exit-zero", "--select", "E9,GEL", tree], repeat, folder)
    row("flake8 for E9, timm", alone, "", None)
    row("flake8 for E9 and GEL, timm", beside, "flake8", alone)
    every = sorted(first.rglob("*.py"))
    for size in SIZES:
        place = grown(every, size, folder / "grown")
        cost, count = measure([*own, place], 1, folder), lines(sorted(place.rglob("*.py")))
        row(f"gelu-lint, {size:,} files", cost, "", None, count / cost.seconds)
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of {repeat}\n")
    print("| what | seconds | ratio | lines a second | peak MB |\n| --- | --- | --- | --- | --- |")
    for cells in rows:
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
