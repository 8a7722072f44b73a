"""Where a text trains or exports something, and whether it watches what a GELU gives: told from its lines, unparsed.

Most files train nothing; asked of their bytes first, they cost a few searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gelu_lint.lines import SILENT, Lines
from gelu_lint.model import FileSummary, Loop, Span
from gelu_lint.patterns import lazy
from gelu_lint.scan import scan

#: What names the spread of a GELU's output, and the monitor that writes it, alone and as a callback of a trainer.
_WATCHED = ("gelu_output_std", "GeluMonitor", "GeluCallback")
#: By kind what a text must hold for any of it to train.
_NEEDLES = (
    ("torch", ("backward(", ".step(")),
    ("jax", ("grad(", "apply_")),
    ("jax", ("grad(", ".update(")),
    ("tensorflow", ("gradient(", "apply_gradients(")),
    ("keras", ("keras", ".fit(")),
    ("lightning", ("Trainer", ".fit(")),
    ("lightning", ("ightning", "def training_step(")),
    ("transformers", ("Trainer", ".train(")),
)
_LOOPS = ("for", "while", "async")
#: What takes the gradients, and what takes the step that follows.
_TAKES = {
    "torch": (
        lazy(r"(?<!def )\w*backward\("),
        lazy(r"(?<!sched\.)(?<!scheduler\.)(\w*)(?:\[[^\]]*\]|\([^()]*\))?\.step\("),
    ),
    "jax": (
        lazy(r"\b(?:value_and_grad|grad)\("),
        lazy(r"\bapply_(?:updates|gradients)\(|\b\w*(?:opt|tx|optim)\w*\.update\("),
    ),
    "tensorflow": (lazy(r"\bgradient\("), lazy(r"\bapply_gradients\(")),
}
_STEPS = lazy(r"opt|sgd|adam|scaler|engine|model|trainer|accelerator|solver|_[gd]$|^[gd]_", re.IGNORECASE)
#: An optimizer of tensors that stand in a list.
_OF_TENSORS = lazy(r"\b(?:SGD|Adam\w*|LBFGS|RMSprop|RAdam|AdamW)\(\s*(?:params\s*=\s*)?\[\s*\w+(?:\.\w+)*\s*[\],]")
_FIT = lazy(r"([\w.\]\[]+)\.fit\(")
_EPOCHS = lazy(r"\bepochs\s*=|steps_per_epoch|validation_data|callbacks\s*=")
_TRAIN = lazy(r"\b\w*[tT]rainer\w*(?:\(.*\))?\.train\(", re.DOTALL)
_TRAINER = lazy(r"\b\w*[tT]rainer\w*(?:\(.*\))?\.fit\(|\bdef training_step\(", re.DOTALL)
#: Exports to ONNX: of torch by that name, and of Lightning.
_EXPORTED = ("onnx.export(", ".to_onnx(")
_EXPORT = lazy(r"(?<![\w.])(?:torch\.)?onnx\.export\(|\.to_onnx\(")
_ALONE = lazy(r"\s*[rRbBuU]{0,2}(?:\"\"\"|'''|\"|')")


def trains(data: bytes) -> bool:
    """Whether a file with these bytes may train or export something, or watch the output of a GELU."""
    text = data.decode("latin-1")
    return bool(_kinds(text)) or any(word in text for word in (*_WATCHED, *_EXPORTED))


def _kinds(text: str) -> list[str]:
    return list(dict.fromkeys(kind for kind, needles in _NEEDLES if all(needle in text for needle in needles)))


def with_training(summary: FileSummary, text: str) -> FileSummary:
    """``summary`` with what the text of its file trains and exports, and whether it watches what GELUs give."""
    return summary._replace(loops=loops(text), watched=watches(text), exported=exported(text))


def exported(text: str) -> tuple[int, ...]:
    """The rows of the statements of a text that export to ONNX."""
    if not any(word in text for word in _EXPORTED):
        return ()
    lines = _lines(text)
    rows = (lines.logical[i].row for i in range(len(lines)) if _EXPORT.search(_uncommented(_code(lines.text(i)))))
    return tuple(rows)


def watches(text: str) -> bool:
    """Whether code of a text, rather than a comment or a docstring, names the spread of a GELU's output."""
    if not any(word in text for word in _WATCHED):
        return False
    lines = _lines(text)
    rows = (lines.text(i) for i in range(len(lines)))
    return any(word in _uncommented(row) for row in rows if not _ALONE.match(row) for word in _WATCHED)


def _code(row: str) -> str:
    """A line without comments and strings; f-strings go as well, since nothing in their fields trains."""
    return SILENT.sub('""', row)


def _uncommented(row: str) -> str:
    """A row without its comments; a hash sign in a string ends it, too, which costs a word at worst."""
    return re.sub(r"#[^\n]*", "", row)


def loops(text: str) -> tuple[Loop, ...]:
    """Where a text trains something, in source order."""
    kinds = _kinds(text)
    if not kinds:
        return ()
    lines = _lines(text)
    found = [*_fits(lines, kinds, text)]
    for kind in kinds:
        if kind in _TAKES and not _fits_inputs(text):
            found += _by_gradient(lines, kind)
    unique = {loop.span.row: loop for loop in reversed(found)}
    return tuple(unique[row] for row in sorted(unique))


def _fits_inputs(text: str) -> bool:
    """Whether the optimizers of a text are given lists of tensors, and no parameters of a model."""
    return "arameters(" not in text and _OF_TENSORS.search(text) is not None


def _lines(text: str) -> Lines:
    """The logical lines of a text; none where they cannot be told."""
    scanned = scan(text)
    return Lines(text, (*scanned.rows, len(text)), scanned.logical if scanned.sure else (), 0)


def _by_gradient(lines: Lines, kind: str) -> Iterator[Loop]:
    """Loops around what takes gradients and steps, in their body or in a function that they call."""
    takes, steps = _TAKES[kind]
    callees: set[str] = set()
    for i in range(len(lines)):
        if not takes.search(_code(lines.text(i))):
            continue
        around = _around(lines, i)
        loop = next((j for j in around if lines.logical[j].word in _LOOPS and _steps(lines, j, steps, kind)), -1)
        if loop >= 0:
            yield _loop(lines, loop, kind)
            continue
        function = next((j for j in around if lines.defines(j) and _steps(lines, j, steps, kind)), -1)
        if function >= 0 and lines.logical[function].word != "class":
            callees.add(lines.defines(function))
    if callees:
        yield from _calling(lines, callees, kind)


def _calling(lines: Lines, callees: set[str], kind: str) -> Iterator[Loop]:
    """Loops that call one of some functions."""
    called = lazy(rf"(?<!def )\b(?:{'|'.join(sorted(map(re.escape, callees)))})\(")
    for i in range(len(lines)):
        if called.search(_code(lines.text(i))):
            loop = next((j for j in _around(lines, i) if lines.logical[j].word in _LOOPS), -1)
            if loop >= 0:
                yield _loop(lines, loop, kind)


def _around(lines: Lines, i: int) -> list[int]:
    """The headers around a line, innermost first, but for those of classes: a closure may stand in a loop."""
    found: list[int] = []
    at = lines.parents[i]
    while at >= 0:
        if lines.logical[at].word == "class":
            break
        found.append(at)
        at = lines.parents[at]
    return found


def _steps(lines: Lines, header: int, steps: re.Pattern[str], kind: str) -> bool:
    """Whether a block takes a step of an optimizer."""
    for j in lines.below(header):
        for step in steps.finditer(_code(lines.text(j))):
            if kind != "torch" or _STEPS.search(step[1]):
                return True
    return False


def _fits(lines: Lines, kinds: Sequence[str], text: str) -> Iterator[Loop]:
    """Calls that train by themselves."""
    for i in range(len(lines)):
        row = _code(lines.text(i))
        if "keras" in kinds and ".fit(" in row and ".compile(" in text:
            fit = _FIT.search(row)
            if fit is not None and (_EPOCHS.search(row) or "model" in fit[1].lower()):
                yield _loop(lines, i, "keras")
        if "lightning" in kinds and "ightning" in text and _TRAINER.search(row):
            yield _loop(lines, i, "lightning")
        if "transformers" in kinds and _from_transformers(text) and _TRAIN.search(row):
            yield _loop(lines, i, "transformers")


def _from_transformers(text: str) -> bool:
    return re.search(r"^\s*(?:from|import) (?:transformers|trl)\b", text, re.MULTILINE) is not None


def _loop(lines: Lines, i: int, kind: str) -> Loop:
    """The fact of a line; its first row says what it is."""
    line = lines.logical[i]
    row = lines.text(i).splitlines()[0].rstrip()
    symbol = ".".join(reversed([lines.defines(j) for j in _owners(lines, i)]))
    return Loop(kind, row.strip(), Span(line.row, line.indent, line.row, len(row)), symbol, (line.row, line.end_row))


def _owners(lines: Lines, i: int) -> Iterator[int]:
    at = lines.scopes[i]
    while at >= 0:
        yield at
        at = lines.scopes[at]
