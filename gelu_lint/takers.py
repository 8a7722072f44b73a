"""What configures the classes of a text: told from words, without a parser.

Asked are the classes with a GELU, and those that are made of them: which settings they take, of which class these are,
whether anything asks them for an activation, and which files of settings the code around loads by a literal name.
Where words leave it open, more is said to be read than is, and less to be given.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gelu_lint.claims import chooses
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.lines import SILENT, targets
from gelu_lint.model import Default, FileSummary, Load, Settings, Span, Taker
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import GELUS
from gelu_lint.outline import Part, defined
from gelu_lint.patterns import lazy
from gelu_lint.scan import scan
from gelu_lint.statements import Statements, statements_of

_KEY = "|".join(sorted(ACTIVATION_KEYS, key=len, reverse=True))
#: What asks for an activation: an attribute of anything but self that is not set, a key in quotes, a table of names.
_READS = lazy(
    rf"(?<!\bself)(?<!\bcls)\.(?:{_KEY})\b(?!\s*=(?!=))|[\"'](?:{_KEY})[\"']|\b(?:ACT2FN|ACT2CLS|ACT_FN|act2fn)\b|"
    r"\b(?:get|build|make|create|resolve)_(?:\w+_)?act(?:ivation)?(?:_\w+)?\(|"
    r"\bgetattr\(\s*(?:F|nn|torch|jax|functional|activations)\b"
)
_OTHERS = lazy(
    r"\b(?:SiLU|Swish|ReLU6?|LeakyReLU|PReLU|R?ReLU|ELU|SELU|CELU|Mish|Softplus|Hard[sS]wish|GLU|Snake|SwiGLU)\b|"
    r"\b(?:silu|swish|relu6?|leaky_relu|elu|selu|mish|softplus|hard_?swish|glu|swiglu)\s*\("
)
#: Each place at which _READS or _OTHERS finds something has one of these: finding them is faster than the pattern.
_STEMS = ("hidden_act", "activation", "act_fn", "act_layer", ".act", "\"act", "'act", "feed_forward_proj", "pooler_act",
          "nonlinearity", "ACT", "act2fn", "_act", "getattr(")  # fmt: skip
_STEMS_OF_OTHERS = ("SiLU", "wish", "LU6", "eLU", "SELU", "CELU", ".ELU", " ELU", "ish", "oftplus", "GLU", "Snake",
                    "lu(", "silu", "relu", "glu")  # fmt: skip
_WORD = lazy(r"[^\W\d]\w*")
#: Bases of which nothing but what is common to all modules comes.
_PLAIN = lazy(
    r"Module|Layer|Cell|Block|HybridBlock|object|ABC|Protocol|Generic|Model|LightningModule|NamedTuple|Enum|\w*Output|"
    r"GradientCheckpointingLayer|"
    r"\w*Pre[tT]rainedModel|\w*Mixin|\w*Error|Exception|nn|torch|keras|layers|tf|pl|Function|autograd|metaclass|ABCMeta"
)
#: Classes of other files that may hold the activation of a model.
_HOLDS = lazy(
    r"(?!\w*(?:Norm|Kwargs|Output|Cache|Mask))\w*(?:M[lL][pP]|FFN|Ffn|FeedForward|Feedforward|Intermediate|Block|Layer|Encoder|Decoder|Transformer|Expert|"
    r"Stack|Backbone|Activation)\w*"
)
_HEADER = lazy(r"\bclass\s+\w+\s*(?:\(([^)]*)\))?\s*:")
_GIVEN = lazy(r"def[ \t]+(?:__init__|__new__|__call__|setup)[ \t]*\(")
_FIELD = lazy(r"^[ \t]+(\w+)[ \t]*:[ \t]*([^=\n#]+)", re.MULTILINE)
#: Names of classes of settings, and those that others derive from, which have none of their own.
_SETTINGS = lazy(r"\w*(?:Config|Cfg|Args|Arguments|Params|Settings|Options|HParams)\w*")
_BASES = lazy(r"Pre[tT]rainedConfig|ConfigMixin|BaseConfig|DictConfig|OmegaConf|AutoConfig|ModelArgs")
_PRETRAINED = lazy(r"\bPre[tT]rainedConfig\b")
_MODEL_TYPE = lazy(r"^[ \t]+model_type\s*(?::\s*\w+\s*)?=\s*[\"']([\w-]+)[\"']", re.MULTILINE)
_DEFAULT = lazy(rf"(?<![\w.])(?:self\.)?({_KEY})\s*(?::[^=\n,]+)?=\s*([\"'])([\w.\- ]+)\2(?=\s*(?:[,)\n#;]|$))")
_POPPED = lazy(rf"\.(?:get|pop)\(\s*[\"']({_KEY})[\"']\s*,\s*([\"'])([\w.\- ]+)\2\s*\)")
_FROM = lazy(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE)
_NAME = lazy(r"(\w+)(?:\s+as\s+(\w+))?")

#: A file of settings that is named, and the words of what reads one.
_FILE = lazy(r"[\"']((?:[\w\-. ]+/)*[\w\-.]+\.(?:json|ya?ml|toml))[\"']")
_LOADS = lazy(r"load|\bopen\(|read_text|read_bytes|from_(?:json|ya?ml|toml|file)|\bparse|\bread_\w+\(")
_HYDRA = lazy(r"@(?:hydra\.)?main\(")
_NAMED = lazy(r"\b(config_name|config_path)\s*=\s*[\"']([\w./\- ]+)[\"']")
_FIRST = lazy(r"\bdef\s+\w+\s*\(\s*(\w+)")
_WITH = lazy(r"\bas\s+(\w+)")
_CHAIN = lazy(r"\s*(?:\[\s*[\"'](\w+)[\"']\s*\]|\.get\(\s*[\"'](\w+)[\"'][^)]*\)|\.(?!get\()(\w+)(?!\w*\s*\())")
_FED = lazy(r"(?<![\w.])([A-Z]\w*)\s*\(")


class Found(NamedTuple):
    """What is told of one text."""

    takers: tuple[Taker, ...] = ()
    settings: tuple[Settings, ...] = ()
    loads: tuple[Load, ...] = ()


class _Class(NamedTuple):
    name: str
    part: Part
    text: str  # without comments and long strings, which blanks stand for


def with_takers(summary: FileSummary, text: str, rows: Sequence[int]) -> FileSummary:
    """``summary`` with what configures the classes of its file. ``rows`` are where the rows of its text start."""
    found = _Text(statements_of(text, rows)).found(_in_classes(summary))
    return summary._replace(takers=found.takers, settings=found.settings, loads=found.loads)


def _in_classes(summary: FileSummary) -> list[int]:
    """The rows at which a class may compute a GELU that it has not been asked for by name."""
    known = [site.span.row for site in summary.sites if "." in site.symbol and site.flavour in GELUS]
    return sorted((*known, *(swap.span.row for swap in summary.swaps if swap.kind == "helper")))


def settings_in(text: str, rows: Sequence[int], name: str) -> Settings | None:
    """The class of settings of a name that a text defines at its top level."""
    if name not in text:
        return None
    return _Text(statements_of(text, rows)).settings(name)


def is_settings(name: str) -> bool:
    """Whether a class of this name holds settings."""
    return _SETTINGS.fullmatch(name) is not None and _BASES.fullmatch(name) is None


class _Text:
    def __init__(self, statements: Statements) -> None:
        self._text, self._rows, self._parts = statements.text, statements.rows, statements.parts
        self._statements, self._starts = statements, [part.start for part in self._parts]
        self._classes: dict[str, Part] = {}
        for part in self._parts:
            if part.kind == "class":
                self._classes.setdefault(defined(self._of(part)), self._alone(part))
            elif part.kind == "compound" and "class" in self._of(part):  # if TORCH: class Mlp(nn.Module): …
                for inner in self._inside(part):
                    self._classes.setdefault(defined(self._of(inner).strip()), inner)
        self._classes.pop("", None)
        self._known: dict[str, _Class] = {}
        self._others: dict[str, bool] = {}

    def _alone(self, part: Part) -> Part:
        """A statement without the comments and blank rows that follow it."""
        row = part.end_row
        ends = self._statements.ends
        while row > part.row and self._text[ends[row - 1] : ends[row]].lstrip()[:1] in ("", "#"):
            row -= 1
        return part._replace(end=ends[row], end_row=row)

    def _inside(self, part: Part) -> Iterator[Part]:
        """The classes in a compound statement, those in others aside."""
        lines = [*scan(self._of(part)).logical]
        last = 0
        for i, line in enumerate(lines):
            if line.word != "class" or i < last:
                continue
            last = next((j for j in range(i + 1, len(lines)) if lines[j].indent <= line.indent), len(lines))
            first, end = part.row + line.row - 1, part.row + lines[last - 1].end_row - 1
            ends = self._statements.ends
            yield Part(ends[first - 1], ends[end], first, end, "class")

    def _of(self, part: Part) -> str:
        return self._text[part.start : part.end]

    def _class(self, name: str) -> _Class:
        if name not in self._known:
            part = self._classes[name]
            self._known[name] = _Class(name, part, _bare(self._of(part)))
        return self._known[name]

    # Classes that take settings

    def found(self, marked: Sequence[int]) -> Found:
        wanted = {name for name, part in self._classes.items() if _any_between(marked, part.row, part.end_row)}
        if not wanted:
            return Found()
        near = self._mentions()
        while more := {name for name, held in near.items() if name not in wanted and not wanted.isdisjoint(held)}:
            wanted |= more
        wanted = {name for name in wanted if not is_settings(name)}
        mentions: dict[str, tuple[str, ...]] = {}
        waiting = [*wanted]
        while waiting:
            name = waiting.pop()
            if name not in mentions and not is_settings(name):
                mentions[name] = _said(self._class(name).text, near[name])
                waiting += mentions[name]
        asking = self._asking()
        imported = self._imported()
        holding = [word for word in imported if _HOLDS.fullmatch(word) and not _PLAIN.fullmatch(word)]
        holding = [word for word in holding if word not in self._classes and not is_settings(word)]
        asking |= {name for name in self._classes if not is_settings(name) and self._rests(name, holding)}
        takers = []
        for name in self._classes:
            if name in wanted:
                made = _reached(name, mentions)
                reads = "own" if "" in asking or not asking.isdisjoint(made) else "file" if asking else ""
                others = reads != "own" and any(self._has_others(each) for each in made)
                takers.append(self._taker(self._class(name), mentions[name], reads, others, imported))
        own = {taker.of for taker in takers if taker.of in self._classes}
        settings = tuple(each for name in sorted(own) if (each := self.settings(name)) is not None)
        return Found(tuple(takers), settings, tuple(dict.fromkeys(self._loads({t.name for t in takers}))))

    def _mentions(self) -> dict[str, set[str]]:
        """The classes whose names stand in each class, comments included."""
        order = sorted(self._classes.items(), key=lambda item: item[1].start)
        starts = [part.start for _, part in order]
        found: dict[str, set[str]] = {name: set() for name in self._classes}
        for name in self._classes:
            at = self._text.find(name)
            while at >= 0:
                around = bisect_right(starts, at) - 1
                if around >= 0 and at < order[around][1].end and order[around][0] != name:
                    found[order[around][0]].add(name)
                at = self._text.find(name, at + len(name))
        return found

    def _asking(self) -> set[str]:
        """The classes that ask settings for an activation; "" where other code does."""
        order = sorted(self._classes.items(), key=lambda item: item[1].start)
        starts = [part.start for _, part in order]
        found: set[str] = set()
        looked: set[str] = set()
        for stem in _STEMS:
            at = self._text.find(stem)
            while at >= 0:
                around = bisect_right(starts, at) - 1
                name = order[around][0] if around >= 0 and at < order[around][1].end else ""
                if name not in looked and _READS.search(self._text, max(0, at - 30), at + 60) is not None:
                    if name:
                        looked.add(name)
                        if not is_settings(name) and _READS.search(self._class(name).text):
                            found.add(name)
                    elif not self._is_import(at) and _READS.search(_bare(self._row(at))):
                        found.add("")
                at = self._text.find(stem, at + len(stem))
        return found

    def _is_import(self, at: int) -> bool:
        """Whether an offset lies in an import."""
        p = bisect_right(self._starts, at) - 1
        return p >= 0 and self._parts[p].kind == "import"

    def _row(self, at: int) -> str:
        """The row around an offset."""
        row = bisect_right(self._rows, at)
        return self._text[self._rows[row - 1] : self._rows[row] if row < len(self._rows) else len(self._text)]

    def _rests(self, name: str, holding: Sequence[str]) -> bool:
        """Whether a class rests on classes of other files, or makes some of ``holding``, which may ask in its place."""
        part = self._classes[name]
        header = _HEADER.search(self._text, part.start, part.end)
        bases = {*_WORD.findall(header[1] or "")} if header is not None else set()
        if any(base not in self._classes and not _PLAIN.fullmatch(base) for base in bases):
            return True
        near = [word for word in holding if word not in bases and self._text.find(word, part.start, part.end) >= 0]
        return bool(near) and bool(_said(self._class(name).text, near))

    def _imported(self) -> dict[str, str]:
        """The full names of what is imported, relative ones with their dots, by the names that they go by here."""
        found = {}
        for part in self._parts:
            if part.kind == "import" or (part.kind == "compound" and "import" in self._of(part)):
                for module, names in _FROM.findall(_bare(self._of(part))):
                    for name, alias in _NAME.findall(names):
                        found[alias or name] = f"{module}{'' if module.endswith('.') else '.'}{name}"
        return found

    def _has_others(self, name: str) -> bool:
        if name not in self._others:
            text = self._class(name).text
            self._others[name] = any(stem in text for stem in _STEMS_OF_OTHERS) and _OTHERS.search(text) is not None
        return self._others[name]

    def _taker(self, each: _Class, makes: tuple[str, ...], reads: str, others: bool, imported: dict[str, str]) -> Taker:
        config, annotation, takes = "", "", False
        for name, kind in self._given(each) if reads != "own" else ():
            takes = takes or chooses(name) in ("activation", "flavour")
            if not config and (chooses(name) == "settings" or any(map(is_settings, _WORD.findall(kind)))):
                config, annotation = name, kind
        said = _MODEL_TYPE.search(each.text)
        return Taker(
            each.name,
            (each.part.row, each.part.end_row),
            makes,
            config,
            self._of_class(annotation, imported) if config else "",
            reads,
            takes,
            others,
            said[1] if said is not None else "",
        )

    def _given(self, each: _Class) -> Iterator[tuple[str, str]]:
        """What objects of a class are given, as names and annotations: parameters of methods and fields."""
        for found in _GIVEN.finditer(each.text):
            for parameter in _split(each.text, found.end()):
                name, _, kind = parameter.partition("=")[0].partition(":")
                yield name.strip().lstrip("*"), kind.strip()
        first = each.text.find("def ")
        fields = [*_FIELD.finditer(each.text, 0, first if first >= 0 else len(each.text))]
        for found in fields:
            if _indent(found[0]) == _indent(fields[0][0]):
                yield found[1], found[2].strip()

    def _of_class(self, annotation: str, imported: dict[str, str]) -> str:
        """The class of the settings that a parameter takes: the one that it is annotated with, or the only one here."""
        if annotation:
            named = [word for word in _WORD.findall(annotation) if is_settings(word)]
        else:
            near = [name for name, target in imported.items() if target.startswith(".")]
            named = [name for name in (*self._classes, *near) if is_settings(name)]
        if len(set(named)) != 1:
            return ""
        return named[0] if named[0] in self._classes else imported.get(named[0], "")

    # Classes of settings

    def settings(self, name: str) -> Settings | None:
        if name not in self._classes:
            return None
        each = self._class(name)
        header = _HEADER.search(each.text)
        said = _MODEL_TYPE.search(each.text)
        found: dict[str, list[Default]] = {}
        for match in (*_DEFAULT.finditer(each.text), *_POPPED.finditer(each.text)):
            start, end = each.part.start + match.start(2), each.part.start + match.end(3) + 1
            span = Span(*self._position(start), *self._position(end))
            found.setdefault(match[1], []).append(Default(match[1], match[3], span, (span.row, span.row)))
        defaults = [held[0] for held in found.values() if len({default.value for default in held}) == 1]
        return Settings(
            name,
            "",
            header is not None and _PRETRAINED.search(header[1] or "") is not None,
            said[1] if said is not None else "",
            tuple(sorted(defaults, key=lambda default: default.span)),
        )

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._rows, offset)
        return row, offset - self._rows[row - 1]

    # Files of settings

    def _loads(self, takers: set[str]) -> Iterator[Load]:
        hydra = "config_name" in self._text
        if not hydra and not any(suffix in self._text for suffix in (".json", ".yaml", ".yml", ".toml")):
            return
        top = _Flow({}, takers)
        outside = [p for p, part in enumerate(self._parts) if part.kind not in ("class", "def", "import")]
        main = [line for p in outside for line in self._logical(p)]
        top.follow(main)
        yield from top.loads
        flows = []
        for p, part in enumerate(self._parts):
            if part.kind in ("class", "def"):
                flow, lines = _Flow(dict(top.held), takers), self._logical(p)
                if hydra:
                    flow.hydra("".join(lines))
                flow.follow(lines)
                flows.append((part, defined(self._of(part)), lines, flow))
        given = {name: what for _, name, _, flow in flows if (what := flow.returned) is not None}
        for part, own, lines, flow in flows:
            if part.kind == "class" and own in takers and not flow.loads:
                flow.loads += [Load(name, beside, own, path) for name, beside, path in flow.fresh]
            yield from flow.loads
            if held := {name: what for name, what in given.items() if name != own}:
                yield from _Flow({**top.held, **held}, takers).follow(lines)
        if given:
            yield from _Flow({**top.held, **given}, takers).follow(main)

    def _logical(self, p: int) -> list[str]:
        """The logical lines of a statement, without comments and long strings, and without blanks before them: to tell
        what a line binds takes the square of these, and a docstring leaves thousands."""
        lines = self._statements.lines(p)
        return [_bare(lines.text(i)).lstrip() for i in range(len(lines))]


class _Flow:
    """What of some lines holds what is read from a file of settings, and which classes are given it.

    ``held`` says by name which file, whether it lies beside the code, and which keys of it.
    """

    def __init__(self, held: dict[str, tuple[str, bool, tuple[str, ...]]], takers: set[str]) -> None:
        self.held, self._takers = held, takers
        self.loads: list[Load] = []
        self.fresh: list[tuple[str, bool, tuple[str, ...]]] = []
        self.returned: tuple[str, bool, tuple[str, ...]] | None = None

    def hydra(self, text: str) -> None:
        """Remember what a function is given that Hydra calls with a configuration."""
        at = _HYDRA.search(text)
        first = _FIRST.search(text)
        if at is None or first is None:
            return
        named = dict(_NAMED.findall(text[at.start() : first.start()]))
        if "config_name" in named:
            name = named["config_name"]
            name += "" if name.endswith((".yaml", ".yml")) else ".yaml"
            folder = named.get("config_path", "").strip("/")
            self.held[first[1]] = (f"{folder}/{name}" if folder not in ("", ".") else name, True, ())

    def follow(self, lines: Iterable[str]) -> Sequence[Load]:
        """What is given to classes in some lines."""
        for line in lines:
            self._read(line)
        return self.loads

    def _read(self, line: str) -> None:
        """Follow what a line does with what is held."""
        literal = _FILE.search(line)
        if literal is not None:
            source = (literal[1].removeprefix("./"), "__file__" in line, ())
            header = re.match(r"\s*(?:async\s+)?def\b", line) is not None
            if header:  # def load(path="config.json")
                parameter = re.search(r"(\w+)\s*(?::[^=,]+)?=\s*$", line[: literal.start()])
                if parameter is not None:
                    self.held[parameter[1]] = source
                return
            if _LOADS.search(line):
                self.fresh.append(source)
        elif re.match(r"\s*(?:async\s+)?(?:def|class)\b", line):
            return
        for found in _FED.finditer(line):
            if found[1] in self._takers:
                self._fed(found[1], line, found.end(), literal)
        given = self._value(line, literal)
        if given is None:
            return
        if re.match(r"\s*return\b", line):
            self.returned = given
        bound = targets(line)
        names = bound[0] if bound is not None else {*_WITH.findall(line)} if line.lstrip().startswith("with") else set()
        for name in names:
            self.held[name] = given

    def _value(self, line: str, literal: re.Match[str] | None) -> tuple[str, bool, tuple[str, ...]] | None:
        """What a line holds of a file of settings, as a whole."""
        if literal is not None:
            return (literal[1].removeprefix("./"), "__file__" in line, ())
        value = line[line.find("=") + 1 :] if targets(line) is not None else line
        mentioned = [
            found for found in _WORD.finditer(value) if found[0] in self.held and not _is_keyword(value, found)
        ]
        if len({self.held[found[0]] for found in mentioned}) != 1:
            return None
        found = mentioned[0]
        file, beside, path = self.held[found[0]]
        return file, beside, (*path, *_chain(value, found.end()))

    def _fed(self, taker: str, line: str, start: int, literal: re.Match[str] | None) -> None:
        """Remember that a class is given something that is held."""
        inside = line[start : _closing(line, start)]
        if literal is not None and literal.start() >= start and _LOADS.search(inside):
            self.loads.append(Load(literal[1].removeprefix("./"), "__file__" in line, taker, ()))
            return
        for word in _WORD.finditer(inside):
            if word[0] in self.held and not _is_keyword(inside, word):
                file, beside, path = self.held[word[0]]
                self.loads.append(Load(file, beside, taker, (*path, *_chain(inside, word.end()))))


def _is_keyword(text: str, found: re.Match[str]) -> bool:
    """Whether a word is an attribute, or the name of an argument."""
    return text[: found.start()].endswith(".") or re.match(r"\s*=(?!=)", text[found.end() :]) is not None


def _chain(text: str, at: int) -> tuple[str, ...]:
    """The keys and attributes that follow a name."""
    keys = []
    while (found := _CHAIN.match(text, at)) is not None:
        keys.append(found[1] or found[2] or found[3])
        at = found.end()
    return tuple(keys)


def _bare(text: str) -> str:
    """A text with blanks in the place of comments and of strings in three quotes."""
    return SILENT.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    held = found[0]
    if held[0] == "#" or held.startswith(('"""', "'''")):
        return re.sub(r"[^\r\n]+", lambda row: " " * len(row[0]), held)
    return held


def _reached(name: str, mentions: Mapping[str, Sequence[str]]) -> set[str]:
    """A class and those that it is made of."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each in mentions and each not in found:
            found.add(each)
            waiting += mentions[each]
    return found


def _said(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of some names that stand in a text as words."""
    return tuple(sorted(name for name in names if _stands(text, name)))


def _stands(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word: finding it and looking beside it is faster than a pattern."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        at = text.find(name, at + len(name))
    return False


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _closing(text: str, start: int) -> int:
    """Where the bracket closes that opens before ``start``."""
    depth = 1
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if not depth:
                return at
    return len(text)


def _split(text: str, start: int) -> list[str]:
    """The parts between commas in the bracket that opens before ``start``."""
    end = _closing(text, start)
    found, depth, last = [], 0, start
    for at in range(start, end):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        elif text[at] == "," and not depth:
            found.append(text[last:at])
            last = at + 1
    return [*found, text[last:end]]


def _any_between(rows: Sequence[int], first: int, last: int) -> bool:
    """Whether one of the sorted ``rows`` lies there."""
    at = bisect_left(rows, first)
    return at < len(rows) and rows[at] <= last
