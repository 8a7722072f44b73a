"""Which precision settings are trained in: the switch that counts for each of them, by where it stands."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Entry, FileSummary
from gelu_lint.patterns import lazy
from gelu_lint.settings import FILES

_ON = (True, "true", "True", "yes", "on")
_HALF = ("fp16", "float16", "16", "16-mixed", "16-true", "half", 16)
_SWITCHES = ("fp16", "use_fp16", "fp16_full_eval", "fp16_enabled")
_PRECISIONS = ("mixed_precision", "precision", "amp_dtype")
#: Keys of mappings that hold how all of what stands beside them is trained.
_TRAINING = lazy(r"train|accelerat|deepspeed|(?<![a-z])ds(?![a-z])|lightning|fabric|precision|engine|arguments")

_Path = tuple[str, ...]


class Precision:
    """What a file says of the precision that it trains in.

    The nearest mapping around a setting decides that says anything: its own, one around it, and then the mappings for
    training that stand beside these. Other documents and other items of a list are other runs.
    """

    def __init__(self, file: FileSummary) -> None:
        self._said: dict[_Path, list[tuple[Entry, bool]]] = {}
        nested = {entry.path for entry in file.entries if entry.key == "enabled"}
        for entry in file.entries:
            said = None if entry.form in ("prose", "mention") or (*entry.path, entry.key) in nested else _says(entry)
            if said is None:
                continue
            path = entry.path[:-1] if entry.key == "enabled" else entry.path
            self._said.setdefault(path, []).append((entry, said))
        self.matters = any(said for found in self._said.values() for _, said in found)

    def half(self, entry: Entry) -> Entry | None:
        """What makes the training that an entry is a setting of run in fp16; None where it does not, or may not."""
        if not self.matters:
            return None
        levels = [entry.path[:end] for end in range(len(entry.path), -1, -1)]
        for level in levels:
            found = [each for each in self._said.get(level, ()) if _is_near(each[0], entry, level)]
            if found:
                return _agreed(found)
        for level in levels:
            found = [each for each in self._beside(level) if entry.form in FILES or _is_one(each[0], entry)]
            if found:
                return _agreed(found)
        return None

    def _beside(self, level: _Path) -> Iterator[tuple[Entry, bool]]:
        for path, found in self._said.items():
            below = path[len(level) :]
            if not below or path[: len(level)] != level or any(is_item(key) for key in below):
                continue
            if _TRAINING.search(below[0].lower()):
                yield from found


def is_item(key: str) -> bool:
    """Whether a part of a path is the place of an item of a list, or of a document, and no key."""
    return key.isdecimal() or key.startswith("---")


def place(entry: Entry) -> str:
    """The keys that lead to an entry and its own, as ``runs[0].fp16``."""
    path = [key for key in entry.path if not key.startswith("---")]
    return "".join(f"[{key}]" if is_item(key) else f".{key}" for key in (*path, entry.key)).lstrip(".")


def _says(entry: Entry) -> bool | None:
    """Whether an entry switches fp16 on (True) or says something else of precision (False); None for neither."""
    value = entry.value
    on = entry.literal and value in _ON and type(value) is not int
    key = entry.path[-1] if entry.key == "enabled" and entry.path else entry.key
    if key in _SWITCHES:
        return True if on else None if key == "fp16_full_eval" else False
    if key == "bf16":
        return False if on else None
    if key in _PRECISIONS:
        return entry.literal and value in _HALF and type(value) is not bool
    return None


def _is_near(switch: Entry, entry: Entry, level: _Path) -> bool:
    """Whether a switch of a mapping at ``level`` is one of the very mapping there that an entry is in."""
    if entry.form not in FILES and not _is_one(switch, entry):
        return False
    return switch.key == "enabled" or level != entry.path or switch.group == entry.group


def _is_one(switch: Entry, entry: Entry) -> bool:
    """Whether two settings in Python are parts of one dict, or call."""
    return switch.statement == entry.statement


def _agreed(found: list[tuple[Entry, bool]]) -> Entry | None:
    return found[0][0] if all(said for _, said in found) else None
