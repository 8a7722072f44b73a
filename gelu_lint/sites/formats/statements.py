"""Sentences, list items and rows of tables that say which GELU this project's model has.

What tells of other models, of what could be chosen, or of what was, is no statement. When unsure there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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


#: Names that say which GELU they are, in lower case, without what joins their words.
_NAMES = {
    **dict.fromkeys(("gelu", "gelus", "geglu", "gaussianerrorlinearunit", "gaussianerrorlinearunits"), ""),
    **dict.fromkeys(("quickgelu", "geluquick", "quickgeluactivation"), "quick"),
    **dict.fromkeys(("gelunew", "newgelu", "newgeluactivation", "gelupytorchtanh", "pytorchgelutanh"), "tanh"),
    **dict.fromkeys(("gelutanh", "tanhgelu", "gelupythontanh", "gelufast"), "tanh"),
    **dict.fromkeys(("geluerf", "erfgelu", "exactgelu", "geluexact", "gelupython"), "erf"),
}
_GELU = re.compile(
    r"(?<![\w.])(?:[A-Za-z]\w*\.){0,4}(?:(?:quick|exact|erf|tanh)[ -])?(?:\w*gelu\w*|geglu|gaussian error linear units?)(?!\w)(?!-lint)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\s_-]")

_APPROX = r"approx(?:\.|imat\w+)?"
#: Words around a GELU that say which it is.
_FLAVOURS = (
    ("tanh", rf"\btanh[\s-]?(?:{_APPROX}|based|form\b|formula\w*|version|variant|近似)"),
    ("tanh", rf"\b{_APPROX}\s*(?:=|with|by|via|using|form of)?\s*(?:the\s+)?['\"“]?tanh\b"),
    ("tanh", r"\((?:the\s+)?tanh\)|（tanh）|\bapproximate\s*=\s*True\b|\btanh(?=[\s-]GELU\b)|(?<=GELU[\s-])tanh(?![\w(])"),
    ("tanh", r"\btanh\(\s*(?:sqrt|√|0\.79)"),
    ("erf", r"\berf(?:\b|[\s-]?(?:based|form|version|variant))|\bexact\b|\berror[\s-]function\b|精确"),
    ("erf", r"\bapproximate\s*=\s*(?:['\"“]?none\b|False\b)|x\s*[·*⋅]?\s*(?:Φ|Phi|cdf)\("),
    ("quick", r"\b1\.702|\bquick\b|\bsigmoid[\s-]?approx\w*"),
    ("silu", r"\b(?:sigmoid|σ)\(\s*x\s*\)|\bSiLU\b"),
)
_WORDS = tuple((flavour, re.compile(pattern, re.IGNORECASE)) for flavour, pattern in _FLAVOURS)
_TANH = re.compile(r"(?<![\w.])tanh\b", re.IGNORECASE)
#: What is approximated: it is no flavour of its own.
_OF = re.compile(rf"(?<=\w\s)(?:of|to|for)\s+(?:the\s+)?(?:exact|erf)\b(?:\s+(?:form|GELU))?", re.IGNORECASE)
_NEGATED = re.compile(
    rf"\b(?:not|no|non|without|never)[\s-]+(?:the\s+|an?\s+|any\s+)?(?P<what>tanh(?:[\s-]{_APPROX})?|{_APPROX}|erf|exact|quick)\b",
    re.IGNORECASE,
)

#: Other activations: where one stands beside a GELU, more than one function is spoken of.
_OTHERS = re.compile(
    r"\b(?:leaky\s?)?re-?lu6?\b|\b[sce]elu\b|\belu\b|\bmish\b|\bsoftmax\b|\bsoftplus\b|\bsilu\b|\bswish\b|\b(?:swi|re|si)?glu\b|\bswiglu\b"
    r"|\bsigmoid\b(?!\s*\(|[\s-]approx)|\btanh\s+(?:activation|output|head)|\blinear activation\b|\bsquared relu\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\s*:?(?P<label>(?:[\w./-]+\s+){0,4}?\(?(?:activations?(?:[\s_](?:functions?|fn|layer))?|non-?linearit(?:y|ies)|hidden_act(?:ivation)?"
    r"|act_fn|act_layer|act|激活函数)\b\)?(?:\s*\([^()]{0,40}\))?)\s*(?P<sign>:|：|=|→|->|—|–|\s-\s|\t|$)\s*",
    re.IGNORECASE,
)
#: Words of a label that speak of all of the model; with others it is about a part of it.
_WHOLE = frozenset(
    (
        *("the", "a", "default", "main", "our", "model", "ffn", "mlp", "hidden", "feed-forward", "feedforward", "layer"),
        *("layers", "activation", "activations", "function", "functions", "fn", "nonlinearity", "non-linearity", "act"),
        *("hidden_act", "hidden_activation", "activation_function", "act_fn", "act_layer", "activation_layer"),
        *("activation_fn", "激活函数", "in", "all", "blocks", "block", "transformer", "used", "type"),
    )
)
_ADJECTIVES = re.compile(
    rf"(?:(?:the|a|an|exact|standard|plain|vanilla|regular|true|erf(?:[\s-]based)?|tanh(?:[\s-](?:{_APPROX}|based|form|version|variant))?"
    rf"|{_APPROX}|quick|sigmoid[\s-]approx\w*|of|\(erf\)|\(exact\)|\(tanh\)|error[\s-]function|form|version|variant|and|,)[\s,-]+)+$",
    re.IGNORECASE,
)

#: Sections that tell of others, of choices or of the past.
_ELSEWHERE = re.compile(
    r"\b(?:related|prior work|compar\w*|vs\.?|versus|baselines?|change\s?log|changes|releases?|what.s new|news|history|road\s?map|to\s?do|future"
    r"|references?|citations?|citing|bibliography|acknowledg\w*|credits|faq|troubleshoot\w*|migrat\w*|previous\w*|legacy|deprecated|alternatives?"
    r"|ablations?|experiments?|benchmarks?|results?|performance|background|glossary|others?|examples?|usage|quick\s?start|getting started"
    r"|api|options?|supported|available|activations|improve\w*|before|old|new|notes?|why|tutorials?|theory|licen[cs]e|contribut\w*|tests?|testing)\b",
    re.IGNORECASE,
)
_ARCHITECTURE = re.compile(r"architectur|model|design|network|configuration|specification|details|hyper-?param|架构|结构", re.IGNORECASE)

#: What a sentence sets itself off from: it and what hangs on it say nothing of this project.
_CONTRAST = re.compile(
    r"\(?(?:\b(?:unlike|instead of|rather than|as opposed to|in contrast (?:to|with)|compared (?:to|with)|contrary to|whereas|while|versus|in place of"
    r"|different from|differs from|as against|but not|and not|not the|like|following|as in|same as|similar(?:ly)? to|just as|as does|as do)\b|\bvs\.?(?=\s))"
    r"[^,;.()—–]*(?:,\s*(?:which|that|who|where|whose)\b[^,;.()—–]*)?,?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r";|\s[—–]\s|\s--\s|,?\s+but\s|,\s+(?:and\s+)?(?:which|who|whose|where)\s[^,;]*,?|\.\s+(?=[A-Z`])|[!?]\s+")
#: Words that make a clause something else than what is.
_DOUBT = re.compile(
    r"\b(?:can|could|may|might|should|would|will|shall|must|if|when\w*|unless|optional\w*|options?|support\w*|either|whether|e\.g|for example|for instance"
    r"|such as|previous\w*|formerly|earlier|originally|original|used to|no longer|tr(?:y|ied|ies)|compar\w*|tests?|tested|papers?|reference|others?|another"
    r"|baselines?|ablation\w*|replac\w*|switch\w*|swap\w*|chang\w*|fix\w*|bugs?|wrong|convert\w*|import\w*|load\w*|pass|set|choose|select\w*|config\w*"
    r"|differs?|difference|between|you|your|they|their|users?|pretrained|checkpoints?|upstream|old|new|future|plan\w*|todo|instead|doesn.t|don.t|isn.t"
    r"|do not|does not|is not|are not|never|faster|slower|than|experimental\w*|legacy|deprecated|some|most|many|often|usually|typically|sometimes|most)\b",
    re.IGNORECASE,
)
_VERB = r"(?:is|are|uses?|using|employs?|appl(?:y|ies)|adopts?|has|have|contains?|computes?|implements?|relies on|consists? of|works? with|comes? with|runs?)"
_LEAD = (
    r"^[\s,]*(?:(?:by default|internally|here|note that|throughout|in (?:all|every|each) (?:layers?|blocks?)|in this (?:model|project|repo\w*|work)"
    r"|for (?:the )?(?:activations?|non-?linearit\w+)|accordingly|and|also|as (?:the )?activation(?: function)?|inside (?:the|each|every) \w+)[\s,]+)*"
)
_PART = r"(?:mlps?|ffns?|feed-?forward(?: (?:layers?|blocks?|networks?|sublayers?))?|blocks?|layers?|hidden layers?|transformers?(?: blocks?)?|activations?(?: functions?)?|non-?linearit(?:y|ies))"
_OURS = re.compile(
    rf"{_LEAD}(?:we|(?:our|this|the|its)(?: (?:\w[\w-]*)){{0,2}}? (?:model|project|repo|repository|implementation|network|net|library|package|code|architecture|version|port"
    rf"|code ?base|{_PART}|gelus?(?: implementation)?)|(?:all|each|every)(?: \w[\w-]*)?? {_PART}|{_PART})"
    rf"(?: (?:of|in) (?:the|this|our|all|each|every) [\w-]+(?: [\w-]+)?)?(?: (?:always|all|only|itself|internally|everywhere|throughout|here|consistently))* {_VERB}\b",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{_LEAD}(?:uses?|using|employs?|applies|with|based on|built (?:with|on))\s", re.IGNORECASE)
_USES = re.compile(r"\s*(?:uses?|employs?|applies)\s", re.IGNORECASE)
_FOREIGN = re.compile(
    r"\b(?:bert|roberta|gpt(?:-?\w+)?|openai|clip|open_?clip|gemma\w*|llama\w*|vit|t5|albert|electra|deit|swin|convnext|mixer|hugging\s?face|pytorch|tensorflow"
    r"|jax|flax|keras|timm|whisper|wav2vec\w*|siglip|xlnet|bloom|falcon|palm|teacher|student|vision|audio|text|image|language|decoder|encoder|projector|tower|head)\b",
    re.IGNORECASE,
)
_NEUTRAL = re.compile(r"\s*(?:values?|settings?|choices?|defaults?|details?|spec\w*|ours|config\w*|this (?:repo\w*|work|model|project)|)\s*$", re.IGNORECASE)
_MOST = 20_000  # characters of a piece; longer ones are data


def statements(piece: Piece, title: str) -> Iterator[Statement]:
    """What a piece says of the project's GELU; ``title`` is that of the document."""
    if len(piece.text) > _MOST or any(_ELSEWHERE.search(above) for above in piece.headings):
        return
    foreign = any(_FOREIGN.search(above) for above in piece.headings)
    if piece.kind == "row":
        found = _row(piece)
    else:
        found = _labelled(piece.text)
        if found is None:
            found = _item(piece)
        if found is None:
            yield from (each._replace(certain=each.certain and not foreign) for each in _sentences(piece.text, title))
            return
    if found is not None:
        yield found._replace(certain=found.certain and not foreign)


def _row(piece: Piece) -> Statement | None:
    """What a row of a table says: its first cell is a label, and one other names the GELU."""
    cells = piece.text.split("\t")
    label = _LABEL.fullmatch(cells[0] + "\t")
    if label is None or len(cells) < 2:
        return None
    header = piece.header.split("\t")
    at = len(cells[0]) + 1
    if len(cells) > 2:
        beside = [header[i] if i < len(header) else "-" for i in range(1, len(cells))]
        if _NEUTRAL.match(beside[0]) is None or any(_OTHERS.search(c) or _GELU.search(c) for c in cells[2:]):
            return None
    found = _value(cells[1])
    return found._replace(start=found.start + at, end=found.end + at, certain=_is_whole(label["label"])) if found else None


def _labelled(text: str) -> Statement | None:
    """What ``Activation: GELU (…)`` says."""
    label = _LABEL.match(text)
    if label is None or not label["sign"].strip():
        return None
    at = label.end()
    found = _value(re.split(r"\.\s", text[at:])[0])
    if found is None:
        return None
    return found._replace(start=found.start + at, end=found.end + at, certain=_is_whole(label["label"]))


def _is_whole(label: str) -> bool:
    """Whether a label speaks of the whole model."""
    return all(word in _WHOLE for word in re.findall(r"[^\s()]+", label.lower()))


def _value(text: str) -> Statement | None:
    """What a value says that is nothing but a GELU."""
    words = _CONTRAST.sub(lambda found: " " * len(found[0]), text)
    named = _GELU.search(words)
    if named is None or _OTHERS.search(words) or _DOUBT.search(words):
        return None
    before = words[: named.start()].strip()
    if before and _ADJECTIVES.fullmatch(before + " ") is None:
        return None
    return _phrase(words, named)


def _item(piece: Piece) -> Statement | None:
    """What an item says that is nothing but a GELU, where the section is about the model."""
    if piece.kind != "item" or not any(_ARCHITECTURE.search(above) for above in piece.headings):
        return None
    text = piece.text.rstrip(" .")
    bare = re.sub(r"(?:\s+(?:activations?(?: functions?)?|non-?linearit(?:y|ies)))+(?=\s*(?:\(|$))", "", text, flags=re.IGNORECASE)
    found = _value(text)
    if found is None:
        return None
    rest = bare[found.end - (len(text) - len(bare)) :] if found.end <= len(text) else ""
    return found if not rest.strip(" ).") else None


def _sentences(text: str, title: str) -> Iterator[Statement]:
    """What whole sentences say."""
    masked = _CONTRAST.sub(lambda found: " " * len(found[0]), text)
    start = 0
    for end in (*(found.end() for found in _CLAUSE.finditer(masked)), len(masked)):
        clause = masked[start:end]
        found = _clause(clause, title)
        if found is not None:
            yield found._replace(start=found.start + start, end=found.end + start)
        start = end


def _clause(clause: str, title: str) -> Statement | None:
    named = _GELU.search(clause)
    if named is None or _DOUBT.search(_NEGATED.sub("", clause)):
        return None
    ours = _OURS.match(clause) or _USES.match(clause)
    if ours is None and title:
        ours = re.match(rf"\s*{re.escape(title)}\s+{_VERB}\b", clause, re.IGNORECASE)
    passive = re.compile(r"\b(?:is|are) (?:used|applied)\b", re.IGNORECASE).search(clause, named.end())
    if ours is None and _BARE.match(clause) is None and passive is None:
        return None
    if _OTHERS.search(clause) or _FOREIGN.search(clause):
        return None
    found = _phrase(clause, named)
    if found is None:
        return None
    return found._replace(certain=ours is not None and len(_GELU.findall(clause)) <= 2)


def _phrase(text: str, named: re.Match[str]) -> Statement | None:
    """The GELU that a text names, with the words that say which it is; None where they contradict one another."""
    name = _JOINT.sub("", named[0].rpartition(".")[2].lower())
    by_name = _NAMES.get(name)
    if by_name is None:
        return None
    around = _OF.sub(lambda found: " " * len(found[0]), text)
    negated = [found for found in _NEGATED.finditer(around)]
    around = _NEGATED.sub(lambda found: " " * len(found[0]), around)
    told = {by_name} - {""}
    start, end = named.span()
    for flavour, pattern in _WORDS:
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
    if any(_JOINT.sub("", found[0].rpartition(".")[2].lower()) not in _NAMES for found in _GELU.finditer(text)):
        return None
    for _ in range(text.count("(", start, end) - text.count(")", start, end)):
        close = text.find(")", end)
        end = close + 1 if close >= 0 else end
    return Statement(start, end, next(iter(told), ""), True)
