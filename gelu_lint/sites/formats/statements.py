"""Sentences, list items and rows of tables that say which GELU this project's model has.

What tells of other models, of what could be chosen, or of what was, is no statement. When unsure there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gelu_lint.facts import prose
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats.markup import Piece


class Statement(NamedTuple):
    """What a piece says: ``start`` and ``end`` in its text are those of the words that name the GELU.

    flavour  erf, tanh, quick or silu; "" where it says GELU and no more
    certain  it is surely about the model of this project, and about all of it
    """

    start: int
    end: int
    flavour: str
    certain: bool


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(words)})"


def _words(words: Iterable[str]) -> re.Pattern[str]:
    return lazy(rf"\b{_any(words)}\b", re.IGNORECASE)


_GELU = lazy(
    r"(?<![\w.])(?:[A-Za-z]\w*\.){0,4}(?:(?:quick|exact|erf|tanh)[ -])?"
    r"(?:\w*gelu\w*|geglu|gaussian error linear units?)(?![\w]|-lint)",
    re.IGNORECASE,
)
_JOINT = lazy(r"[\s_-]")
_FLAVOURS = tuple((flavour, lazy(pattern, re.IGNORECASE)) for flavour, pattern in prose.FLAVOURS)
_LETTERS = lazy(r"[a-z]+")
_FOLLOWS = lazy(r"[\s`'\"*_)\]]*([A-Za-z]+)")
_TANH = lazy(r"(?<![\w.])tanh\b", re.IGNORECASE)
#: What is approximated is no flavour of its own.
_OF = lazy(r"(?<=\w\s)(?:of|to|for)\s+(?:the\s+)?(?:exact|erf)\b(?:\s+(?:form|GELU))?", re.IGNORECASE)
_NEGATED = lazy(
    r"\b(?:not|no|non|without|never)[\s-]+(?:the\s+|an?\s+|any\s+)?"
    rf"(?P<what>tanh(?:[\s-]{prose.APPROXIMATION})?|{prose.APPROXIMATION}|erf|exact|quick)\b",
    re.IGNORECASE,
)
_OTHERS = lazy(rf"\b{_any(prose.ACTIVATIONS)}\b|\btanh\s+(?:activation|output|head)", re.IGNORECASE)
_LABEL = lazy(
    rf"\s*:?(?P<label>(?:[\w./-]+\s+){{0,4}}?\(?{_any(prose.LABELS)}\b\)?(?:\s*\([^()]{{0,40}}\))?)"
    r"\s*(?P<sign>:|：|=|→|->|—|–|\s-\s|\t|$)\s*",
    re.IGNORECASE,
)
_VALUE_COLUMN = lazy(rf"\s*{_any((*prose.VALUE_COLUMNS, ''))}\s*$", re.IGNORECASE)
_ACTIVATION = lazy(r"\s+(?:activations?(?: functions?)?|non-?linearit(?:y|ies))(?=\s*(?:\(|$))", re.IGNORECASE)

_ELSEWHERE = _words(prose.ELSEWHERE)
_FOREIGN = _words(prose.FOREIGN)
_DOUBT = _words(prose.DOUBT)
_ARCHITECTURE = lazy(_any(prose.ARCHITECTURE), re.IGNORECASE)
#: What a sentence sets itself off from: it and what hangs on it say nothing of this project.
_CONTRAST = lazy(
    rf"\(?\b{_any(prose.CONTRAST)}(?!\w)[^,;.()—–]*(?:,\s*(?:which|that|who|where|whose)\b[^,;.()—–]*)?,?",
    re.IGNORECASE,
)
_CLAUSE = lazy(
    r";|\s[—–]\s|\s--\s|,?\s+but\s|,\s+(?:and\s+)?(?:which|who|whose|where)\s[^,;]*,?|\.\s+(?=[A-Z`])|[!?]\s+"
)
_LEAD = rf"[\s,]*(?:{_any(prose.LEADS)}[\s,]+)*"
_VERB = rf"{_any(prose.VERBS)}\b"
_OURS = lazy(
    rf"{_LEAD}(?:we|(?:our|this|the|its)(?: \w[\w-]*){{0,2}}? {_any((*prose.PROJECTS, *prose.PARTS))}"
    rf"|(?:all|each|every)(?: \w[\w-]*)?? {_any(prose.PARTS)}|{_any(prose.PARTS)})"
    r"(?: (?:of|in) (?:the|this|our|all|each|every) [\w-]+(?: [\w-]+)?)?"
    rf"(?: {_any(prose.ALWAYS)})* {_VERB}",
    re.IGNORECASE,
)
_USES = lazy(r"\s*(?:uses?|employs?|applies)\s", re.IGNORECASE)
_WITH = lazy(rf"{_LEAD}(?:using|with|based on|built (?:with|on))\s", re.IGNORECASE)
_PASSIVE = lazy(r"\b(?:is|are) (?:used|applied)\b", re.IGNORECASE)
#: What is named beside an activation for another purpose.
_ASIDE = lazy(r"\b(?:softmax|sigmoid)\b", re.IGNORECASE)
_MOST = 20_000  # characters of a piece; longer ones are data


def statements(piece: Piece, title: str) -> Iterator[Statement]:
    """What a piece says of the project's GELU; ``title`` is that of the document."""
    if len(piece.text) > _MOST or any(_ELSEWHERE.search(above) for above in piece.headings):
        return
    foreign = any(_FOREIGN.search(above) for above in piece.headings)
    for found in _said(piece, title):
        yield found._replace(certain=found.certain and not foreign)


def _said(piece: Piece, title: str) -> Iterator[Statement]:
    if piece.kind == "row":
        found = _row(piece)
    else:
        found = _labelled(piece.text) or _item(piece)
        if found is None:
            yield from _sentences(piece.text, title)
    if found is not None:
        yield found


def mentions(piece: Piece, title: str) -> Iterator[Statement]:
    """The words of a piece that may say of the project another activation than GELU, or which GELU, without that it
    is sure; none that a statement holds."""
    if len(piece.text) > _MOST or any(_ELSEWHERE.search(above) for above in piece.headings):
        return
    text = piece.text
    label = _LABEL.match(text)
    if piece.kind == "row" or (label is not None and label["sign"].strip()):
        found = None if label is None else _row(piece) if piece.kind == "row" else _labelled(text)
        if label is not None and found is None and _names(text[label.end("label") :]):
            yield _stretch(text, 0, len(text))
        return
    if _item(piece) is not None:
        return
    listed = piece.kind == "item" and any(_ARCHITECTURE.search(above) for above in piece.headings)
    gelu = _GELU.search(text) is not None
    masked = _blanked(_CONTRAST, text)
    start = 0
    for end in (*(found.end() for found in _CLAUSE.finditer(masked)), len(masked)):
        clause = masked[start:end]
        if _clause(clause, title) is None and (
            (gelu and _which(clause)) or (_names(_blanked(_ASIDE, clause)) and (listed or _is_ours(clause, title)))
        ):
            yield _stretch(text, start, end)
        start = end


def _names(text: str) -> bool:
    """Whether a text names an activation."""
    return any(pattern.search(text) for pattern in (_GELU, _OTHERS, _TANH))


def _which(clause: str) -> bool:
    """Whether a clause has words that say which GELU one is."""
    names = (_JOINT.sub("", found[0].rpartition(".")[2].lower()) for found in _GELU.finditer(clause))
    return any(prose.NAMES.get(name) for name in names) or any(pattern.search(clause) for _, pattern in _FLAVOURS)


def _stretch(text: str, start: int, end: int) -> Statement:
    """The words between two places."""
    words = text[start:end]
    start += len(words) - len(words.lstrip(" \t"))
    return Statement(start, start + len(words.strip(" \t")), "", False)


def _row(piece: Piece) -> Statement | None:
    """What a row of a table says: its first cell is a label, and one other names the GELU."""
    cells = piece.text.split("\t")
    label = _LABEL.fullmatch(cells[0] + "\t")
    if label is None or len(cells) < 2:
        return None
    if len(cells) > 2:
        header = [*piece.header.split("\t"), "-"]
        if _VALUE_COLUMN.match(header[1]) is None or any(_OTHERS.search(c) or _GELU.search(c) for c in cells[2:]):
            return None
    return _moved(_value(cells[1]), len(cells[0]) + 1, label["label"])


def _labelled(text: str) -> Statement | None:
    """What ``Activation: GELU (…)`` says."""
    label = _LABEL.match(text)
    if label is None or not label["sign"].strip():
        return None
    return _moved(_value(re.split(r"\.\s", text[label.end() :])[0]), label.end(), label["label"])


def _moved(found: Statement | None, by: int, label: str) -> Statement | None:
    """``found`` further on in a text, as the value of a label; certain if that speaks of the whole model."""
    if found is None:
        return None
    whole = all(word in prose.WHOLE for word in re.findall(r"[^\s()]+", label.lower()))
    return found._replace(start=found.start + by, end=found.end + by, certain=whole)


def _value(text: str) -> Statement | None:
    """What a value says that is nothing but a GELU."""
    words = _blanked(_CONTRAST, text)
    named = _GELU.search(words)
    if named is None or _OTHERS.search(words) or _DOUBT.search(words):
        return None
    if not prose.ADJECTIVES.issuperset(re.findall(r"[^\W_]+", words[: named.start()].lower())):
        return None
    return _phrase(words, named)


def _item(piece: Piece) -> Statement | None:
    """What an item says that is nothing but a GELU, where the section is about the model."""
    if piece.kind != "item" or not any(_ARCHITECTURE.search(above) for above in piece.headings):
        return None
    found = _value(piece.text)
    rest = _ACTIVATION.sub("", piece.text[found.end :]) if found is not None else "-"
    return found if not rest.strip(" ).") else None


def _sentences(text: str, title: str) -> Iterator[Statement]:
    """What whole sentences say."""
    masked = _blanked(_CONTRAST, text)
    start = 0
    for end in (*(found.end() for found in _CLAUSE.finditer(masked)), len(masked)):
        found = _clause(masked[start:end], title)
        if found is not None:
            yield found._replace(start=found.start + start, end=found.end + start)
        start = end


def _clause(clause: str, title: str) -> Statement | None:
    """What a clause says whose subject is the project or its model, if it does not leave that open."""
    named = _GELU.search(clause)
    if named is None or _DOUBT.search(_NEGATED.sub("", clause)):
        return None
    certain = _is_ours(clause, title)
    if not certain and _WITH.match(clause) is None and _PASSIVE.search(clause, named.end()) is None:
        return None
    if _OTHERS.search(clause) or _FOREIGN.search(clause):
        return None
    found = _phrase(clause, named)
    return found._replace(certain=certain and _is_close(clause, found)) if found is not None else None


def _is_close(clause: str, found: Statement) -> bool:
    """Whether the word that says which GELU it is belongs to the GELU: "GELU and exact match" says nothing of it."""
    said, after = clause[found.start : found.end], clause[found.end :]
    if not prose.CLOSE.issuperset(_LETTERS.findall(said.lower())):
        return False
    following = _FOLLOWS.match(after)
    if following is None:
        return True
    word = following[1].lower()
    if word in prose.LATER:
        return False
    whole = not found.flavour or said.rstrip("s").lower().endswith("gelu") or said.endswith((")", "`"))
    return whole or word in prose.FOLLOWING


def _is_ours(clause: str, title: str) -> bool:
    """Whether the subject of a clause is the project or its model."""
    if _OURS.match(clause) is not None or _USES.match(clause) is not None:
        return True
    return bool(title) and re.match(rf"\s*{re.escape(title)}\s+{_VERB}", clause, re.IGNORECASE) is not None


def _phrase(text: str, named: re.Match[str]) -> Statement | None:
    """The GELU that a text names, with the words that say which it is; None where they contradict one another."""
    names = [_JOINT.sub("", found[0].rpartition(".")[2].lower()) for found in _GELU.finditer(text)]
    if any(name not in prose.NAMES for name in names):
        return None
    told = {prose.NAMES[name] for name in names} - {""}
    around = _blanked(_OF, text)
    negated = list(_NEGATED.finditer(around))
    around = _blanked(_NEGATED, around)
    start, end = named.span()
    for flavour, pattern in _FLAVOURS:
        for found in pattern.finditer(around):
            told.add(flavour)
            start, end = min(start, found.start()), max(end, found.end())
    if _TANH.search(around) and "tanh" not in told:
        return None  # another activation
    if not told and any(found["what"].lower().startswith(("tanh", "approx")) for found in negated):
        told = {"erf"}
        end = max(end, *(found.end() for found in negated))
    if len(told) > 1:
        return None
    for _ in range(text.count("(", start, end) - text.count(")", start, end)):
        close = text.find(")", end)
        end = close + 1 if close >= 0 else end
    return Statement(start, end, next(iter(told), ""), True)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """``text`` with what a pattern matches turned into spaces."""
    return pattern.sub(lambda found: " " * len(found[0]), text)
