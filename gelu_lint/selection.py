"""Chooses the lines of a text that can matter: those with a needle, and what these rest on."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache

from gelu_lint import half
from gelu_lint.claims import WRAPPERS, backward, chooses, claim, claim_of_text, one_way, says_glu, says_width
from gelu_lint.cut import (
    ASKS,
    FULL,
    HEADER,
    LIGHT,
    NEAR,
    OPAQUE,
    SEED,
    TRANSPARENT,
    VALUES,
    Cut,
    Piece,
    lines_left,
    marker,
    stands,
    worth_following,
)
from gelu_lint.facts import devices
from gelu_lint.facts.activation_names import unheard
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.imports import prefixes
from gelu_lint.lines import ALONE, FIELDS, SILENT, WORD, Lines, code, loads, members, spots, targets, words
from gelu_lint.outline import Part, defined
from gelu_lint.patterns import lazy
from gelu_lint.scan import Logical, Scan
from gelu_lint.screen import NEEDLES, Spots, place
from gelu_lint.statements import PATCHES, Statements

#: Up to so many lines a function or class that is only referred to may be what computes an activation.
_SHORT = 20
#: What a GELU may be made of, too, in a file that shows one by a needle.
_BY_ERF = lazy(r"\bndtr\(|\bnorm\.cdf\(")
_NUMBERS = (".0447", "0.4471", "1.702", "erf(", "erfc(")
_BEHAVIOUR = frozenset(("forward", "__call__", "__init__", "__new__", "call"))
#: Methods that are given what a class is made with.
_GIVEN = frozenset(("__init__", "__new__", "setup"))
_FIELD = lazy(r"\s*(\w+)\s*:")
_HEADER_ENDS = lazy(r"\)\s*(?:->[^\n]*)?:\s*(?:#[^\n]*)?\n")
#: A GELU of somebody else that is replaced.
_REPLACED = lazy(r"(?<!\bself)\.(?:gelu_?|GELU)(?:\.\w+)?\s*=(?!=)")
_STRING = lazy(r"\s*[rRbBuUfF]{0,2}(?=[\"'])")
_NAME = lazy(r"[\w.\- ]{1,60}")  # a string that may be the name of an activation
_OPERATES = lazy(r"[\w)\]]\s*(?:\*(?!\*)|/)|\b(?:mul|multiply|mul_|mul_rn|store|lambda)\b")
#: What gives a name to a GELU: ``… as G``, ``G = nn.GELU``, ``G = getattr(nn, "GELU")``, ``class G(nn.GELU)``.
_AS = lazy(r"\bas\s+(\w+)")
_ASSIGNED = lazy(r"(?<![\w.])(\w+)[\s\\)\]]*=(?!=)")
#: A dotted name, and what it is the first argument of.
_DOTTED = lazy(r"(?:(?<![\w.])([^\W\d][\w.]*)\(\s*)?(?<![\w.])([^\W\d][\w.]*)")
#: What a class says of its family and of its activations, and the words of what holds the name of one.
_SETTING = lazy(rf"\s*(?:model_type|{'|'.join(sorted(ACTIVATION_KEYS))})\s*[:=]")
_KEY = lazy(r"act|nonlin|proj")
#: What may hold settings: a class that is made, a call that makes or takes some, a dict, a table, an object.
_HOLDS = lazy(
    r"\b[A-Z]\w*\(|(?:dict|from_pretrained|for_model|create_model|add_argument|get|\w*act\w*)\(|[{\[]"
    r"|^\s*\w+\.\w+\s*="
)
#: An attribute of something other than self is set to a string.
_CHANGED = lazy(r"\s*(?!self\.|cls\.)\w+\.\w+\s*=\s*[\"']")
#: So many names are looked for in the text one by one.
_FEW = 8
_ONE_ROW = lazy(r"\s*(?:if|elif|else|try|except|finally|with|for|while|async)\b")
_MODULE = lazy(r"from\s+([\w.]+)\s+import\b")
_TOP, _FROM = lazy(r"(?:from|import)\s+(\w+)"), lazy(r"from\s+(\w[\w.]*)\s+import\b")
#: Rows from which on an import of names from a library is worth a look at these.
_MANY_NAMES = 3
#: Packages whose import tells which framework a file is for, whatever is imported.
_FRAMEWORKS = frozenset(
    (
        *("torch", "tensorflow", "keras", "tf_keras", "keras_hub", "keras_nlp", "jax", "flax", "trax", "mlx", "paddle"),
        *("mindspore", "oneflow", "openvino", "tinygrad", "functools", "math", "scipy", "triton", "pallas", "numba"),
        *("taichi", "warp"),
    )
)
#: Calls that keep a GELU that they are given under a name, or decide what becomes of one.
_KEEPS = lazy(
    r"\bTransformer(?:EncoderLayer\b|\()|\bset_fastpath_enabled\(|\bsave\((?!\s*[\w.]+\.state_dict\(\))|"
    r"\bjit\.(?:script|trace)\(|\b(?:weights_only|safe_mode)\s*=\s*\(*False\b|"
    r"\bsafe_globals\b|\benable_unsafe_deserialization\b"
)
#: What lets a file load objects: of such a line nothing else counts.
_TRUSTS = ("weights_only", "safe_mode", "safe_globals", "enable_unsafe")
_ARGUMENT = lazy(r"\s*(?:[\w.]+\.)?(\w+)")
#: What a file with these may do, or with torch and one of those: see screen.place.
_JIT_WORD = b"j", (b"",), (b"it",)
_KEPT = (b"Transformer", (b"",), (b"EncoderLayer", b"(")), (b"save", (b"torch.", b"torch import "), (b"",))
#: A class of the file by the name of one that keeps a GELU, of which it is none.
_OWN_LAYER = r"^class[ \t]+%s[ \t]*(?:\((?:(?!Transformer)[^()\n])*\))?[ \t]*:"
#: What makes a decoder of torch, or copies its layers, where a file makes any.
_DECODER = "TransformerDecoderLayer"
_DECODES = lazy(r"\bTransformerDecoder(?:Layer)?\b|\bdeepcopy\(|\b_get_clones\(")
#: Each row in which _KEEPS, _DECODES or _DRAWS finds something has one of these.
_KEEPING = ("Transformer", "set_fastpath", "save(", "jit.", "weights_only", "safe_", "enable_unsafe")
_DECODING = ("TransformerDecoder", "deepcopy(", "_get_clones(")
_DRAWING = ("rand", "ernoulli", "uniform", "inomial")
#: The argument by which an export to ONNX says what the graph may hold.
_EXPORTS = "opset_version"
_JIT = lazy(r"\bjit\.script\b|\bjit\.trace\((?!\))|\bjit import\b")
_SCRIPTED = lazy(r"@(?:torch\.)?(?:jit\.)?script\b")
#: Expressions that a GELU is handed on by, under the name that they are bound to.
_HANDS = lazy(r"\s*(?:(?:functools\.)?partial\(|lambda\b|(?:torch\.)?(?:jit\.)?(?:script|trace)\(|dict\(|\{)")
_MADE = lazy(r"(?!dict|list|set|tuple)[\w.]+\([\w\s=\"']*\)")
#: How a class may see to its own copies.
_PICKLES = frozenset(("__getstate__", "__reduce__", "__reduce_ex__", "__deepcopy__"))
#: What draws a mask, if it stands in a function or class with a GELU.
_DRAWS = lazy(
    r"(?<!init\.)\b(?:rand(?!\((?:\[\]|1)\))|rand_like|bernoulli_?|uniform_?|random_uniform|stateless_uniform|random_sample|random|binomial|"
    r"Bernoulli)\("
)
#: What tosses coins; of other draws a threshold makes a mask.
_TOSSES = lazy(r"[bB]ernoulli|binomial")
_THRESHOLD = lazy(r"(?<!-)>|<|floor|round|trunc|ernoulli|binomial|greater|less|\b[gl][te]_?\(")
#: What stands before a draw that fills a tensor in place and does no more, or that is the test of a condition.
_ASIDE = lazy(r"\s*[\w.]+\.|[\s\S]*\bif (?:not )?(?:\w+\.)*")
_SIGN = lazy(r"[()\[\]{},]")
_LAST = lazy(r"\s*(?:#[^\n]*\s*)*\)")
_CALL = lazy(r"\s*\(")
_OPTION = lazy(r"\w*(?:act|proj)\w*\s*=\s*[\"']$")
_NEAR_BY = 80  # characters before a string that an option stands in
#: A test that may be for part of a name.
_BY_PART = lazy(r"startswith|\bin\b|\[\s*0?\s*:|\b(?:find|match|search|split|partition|fnmatch\w*)\(")
#: Tests for the name of something, and look-ups with a default.
_BY_NAME = lazy(r"(?:[=!]=|\bin\b)\s*[\[({]?\s*[\"']|[\"']\s*(?:==|in\b)|startswith|\bcase\b|\bin\s+\w+\s*:|\[|getattr")
#: What such a test says if it may be for an activation.
_OF_ACTIVATION = lazy(
    r"act|nonlin|elu|silu|swish|mish|glu|tanh|sigm|approx|erf|getattr|(?<!__)name|func|\bfn(?![a-z])"
    r"|(?<![\"'\s])\s+in\s+\w+\s*:",
    re.I,
)
#: One of these stands in each statement with a test for a name, or with a look-up that is tried.
_TESTING = ("== '", '== "', "=='", '=="', "in ('", 'in ("', "in ['", 'in ["', "in {", "startswith(", "except", "case ")
#: Each row in which _TESTED finds something that _TESTING does not has one of these.
_TESTED_BY = (" in ", "' ==", '" ==', "' in", '" in', "=='", '=="', "!='", '!="')
_TESTED = lazy(r"\bif \w[\w.]* in \w+\b|[\"'] (?:==|in)|\w(?:==|!=)[\"']")
_BINDS_TABLE = lazy(r"[ \t]*(?:self\.)?(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*(?:\{|\w*[dD]ict\()")
_IN = lazy(r"\bin $")
_HANDLED = 200  # characters from a look-up that is tried to what is done if it fails
_LEAVES = lazy(r"(?:^|[;:])[ \t]*(?:return|raise)\b")
_IN_CHAIN = ("if", "elif", "else", "try", "except", "case")
_WARNS = lazy(r"\s*(?:[\w.]*\.)?(?:warn\w*|log\w*|info|error|debug|exception|print)\(")
_BOUND = lazy(r"[\s)\\]*(?::[^=]*)?=(?!=)")
_MAKES = lazy(r"[^=]*=\s*([\w.]+)\(")
_GETS = lazy(r"(\w+)(\.get\(|\[)")
#: What a model that is bound to a name may be moved or cast by.
_MOVES = lazy(r"\.(?:cuda|cpu|to|eval|train|requires_grad_|half|to_empty)\(")
_IN_ARM = ("if", "elif", "else", "try", "except", "case")
_TESTS = ("if", "elif", "match", "case", "while")
_TERNARY = lazy(r"\bif\b")
#: Headers of blocks that are no arms, whole on one row.
_HEADS = lazy(r"(?:def|class|for|while|with)\b[^\n]*:\s*(?:#[^\n]*)?$")
_OF_SELF = lazy(r"approximate\s*=\s*self\.(\w+)")
#: A product of two, and a call of some name with one.
_PRODUCT = lazy(r"[\w)\]]\s*\*(?!\*)|\b(?:mul|multiply|Multiply)\b")
#: What a function holds that compares up to a tolerance, and what a test holds that takes a gradient.
_CLOSE = lazy(
    r"(?<=[A-Za-z_])(?:[cC]lose|[aA]lmost)|(?<![\w.])(?:close|almost)\w*\(|approx\(|assert_near"
    r"|assert(?=[\s\S]*\b(?:abs|absolute)\()|\b(?:abs|absolute)\((?=[\s\S]*assert)"
)
#: One of these stands in each statement that _compared keeps something of.
_TESTED_WORDS = ("assert", "lose(", "def test", "approx(", "lmost")
#: What finds something with _CLOSE has one of these.
_COMPARES = ("lose", "lmost", "approx(", "assert_near", "abs(", "absolute(")
_SLOPES = lazy(r"backward|grad|vjp|jvp|derivative|jac|slope|bwd", re.IGNORECASE)
#: Names without which no product is one of a gate and a value.
_GATES = ("gate", "gating", "value", "glu")
_GATE = lazy(r"(?<![a-z])(?:up|val)(?![a-z])|(?<![a-z])(?:wi_?[01]|w_?[0-3])\b|_g\b")
#: Each row in which _GATE finds something has one of these.
_GATING = ("up", "val", "wi", "w_", "w0", "w1", "w2", "w3", "_g")
#: Words of tests between ways to compute the same thing.
_SWITCH = lazy(
    r"fus|fast|slow|jit|script|trac|compil|optimi|kernel|native|built|triton|xformers|apex|eager|efficient|flash|onnx|"
    r"export|train|grad|determin|version|attr|HAS|HAVE|SUPPORT|_[GL][ET]|deploy|inference|vectori|inductor|extension|"
    r"liger|signature|dir\(",
    re.IGNORECASE,
)
#: What puts names into the tables of transformers, or asks them for one: see sites/settings.py.
_STORES = lazy(r"\bACT2(?:FN|CLS)(?:\.(?:update|setdefault|__setitem__|register)\(|\s*\|=|\[[^]\n]*\]\s*=)")
_OF_NAME = lazy(r"\(\s*([^\W\d]\w*)\s*[,)]")


class Selection:
    """Chooses the lines of one text."""

    def __init__(self, statements: Statements, small: int, led: bool) -> None:
        self.statements, self._led = statements, led
        self._text, self._rows, self._parts = statements.text, statements.rows, statements.parts
        self._ends = statements.ends
        self._starts = [part.start for part in self._parts]
        self._cuts: dict[int, Cut] = {}
        self._faint: dict[int, set[str]] = {}  # functions and classes that only hold a name
        self._followed: set[tuple[int, int, str, int]] = set()
        self._told_of: dict[tuple[int, int, str], int] = {}  # how often lines that bind a name were asked about it
        self._products: dict[tuple[int, int, str], bool] = {}  # whether a name of a scope holds a product
        self._tabled: set[tuple[int, str, bool]] = set()  # tables that were looked for, see _tables
        self._wanted: dict[str, int] = {}
        self._aliases: set[tuple[int, int, str]] = set()
        self._given: set[str] = set()  # the names among them
        self._made: set[str] = set()  # classes that take an activation and have a GELU by default
        self._losing: dict[int, bool] = {}  # by statement, see _may_lose
        self._words: dict[str, list[int]] | None = None  # where each word stands, once many are asked for
        self._marks: list[tuple[int, str, bool]] = []  # offsets to look at, see _look
        self._queue: list[tuple[Cut, int, int]] = []  # lines whose names are to be followed
        self._small = len(self._rows) <= small
        self._scripts = self._hands = False  # what the text has: see _HANDS
        self.unsure = self.unmarked = False
        self._select()

    def _select(self) -> None:
        latin = self._text.encode("latin-1", "replace")
        needles = Spots(latin)
        self._marks = [(at, "", False) for at in needles.marks()]
        halves = half.spots(latin, self._led)
        self._marked_at = {at for at, _, _ in self._marks}
        self.unmarked = not self._marks
        if self.unmarked:
            for at in halves:
                self._half(at)
            self._drain()
            if any(cut.kept for cut in self._cuts.values()):
                self._imports()
            return
        if "ndtr(" in self._text or "norm.cdf(" in self._text:
            self._marks += [(found.start(), "", True) for found in _BY_ERF.finditer(self._text)]
        self._scripts = place(latin, *_JIT_WORD) >= 0 and bool(_in_rows(self._text, ("jit",), _JIT))
        by_torch = self._scripts or ("torch" in self._text and any(place(latin, *word) >= 0 for word in _KEPT))
        of_keras = "keras" in self._text
        if by_torch or of_keras:
            self._hands = self._scripts or of_keras
            marked = by_torch or "safe_" in self._text or "unsafe_" in self._text
            kept = _in_rows(self._text, _KEEPING, _KEEPS) if marked else ()
            self._marks += [(at.start(), at[0], False) for at in kept if self._of_torch(at) and self._may_keep(at)]
        if _DECODER in self._text and "torch" in self._text:
            decoders = _in_rows(self._text, _DECODING, _DECODES)
            decoders = [found for found in decoders if self._of_torch(found)]
            if any(found[0].startswith("Transformer") for found in decoders):
                self._marks += [(found.start(), found[0], False) for found in decoders]
        if _EXPORTS in self._text:
            self._marks += [(found.start(), _EXPORTS, False) for found in re.finditer(rf"\b{_EXPORTS}\b", self._text)]
        self._marks.reverse()
        self._drain()
        if self._scripts:
            self._scripted()
        self._drawn()
        self._compared()
        for at in halves:
            self._half(at)
        self._set(needles)
        for found in _in_rows(self._text, ("ACT2",), _STORES):
            self._half(found.start())
        self._drain()
        if self._cuts:
            self._imports()

    def _set(self, needles: Spots) -> None:
        """Keep settings: those that matter by themselves, and all of them in a text that has a GELU."""
        found = [*needles.settings()]
        if not self._marked_at.isdisjoint(found) or any(cut.kept for cut in self._cuts.values()):
            for at in found:
                self._setting(at)

    def _setting(self, at: int) -> None:
        """Keep the line of a string that sets an activation, what its class is, and what reads a rare name."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        lines, text = cut.lines, cut.lines.text(i)
        inside = at - self._rows[lines.logical[i].row + cut.shift - 1]
        quiet = self._quiet(cut, i, text, inside)
        if quiet.startswith("#") or ALONE.fullmatch(text) is not None:
            return
        if not lines.defines(i) and not _HOLDS.search(text):
            inner = lines.scopes[i]
            if inner < 0 or lines.logical[inner].word != "class":
                return
        said = quiet.strip("\"'")
        asked = (id(cut), i, said, -2)
        if asked in self._followed:
            return  # a table of many models: all of its line has been looked at for this name
        self._followed.add(asked)
        self._keep(cut, i, FULL if _CHANGED.match(text) else HEADER if lines.defines(i) else LIGHT)
        for owner in lines.enclosing(i, classes=True):
            self._bases(cut, owner)
            for j in lines.below(owner):
                if lines.scopes[j] == owner and _SETTING.match(lines.text(j)):
                    self._keep(cut, j, HEADER)
        for key in sorted({word for word in WORD.findall(text) if _KEY.search(word) and unheard(word, said)}):
            places = [self._place(other) for other in spots(self._text, key)]
            for cut, i in dict.fromkeys(filter(None, places)):
                if _looks_up(cut.lines.text(i)):
                    self._keep(cut, i, LIGHT)

    def _bases(self, cut: Cut, owner: int) -> None:
        """Keep the header of a class, and those of the classes of the file that it derives from."""
        self._keep(cut, owner, LIGHT)
        for name in loads(cut.lines.text(owner)) - {cut.lines.defines(owner)}:
            at = self._text.find(f"class {name}") if name.isidentifier() else -1
            place = self._place(at) if at >= 0 else None
            if place is None or place[0].lines.defines(place[1]) != name:
                continue
            if place[0].kept.get(place[1], -1) < LIGHT:
                self._bases(*place)

    def _of_torch(self, found: re.Match[str]) -> bool:
        """Whether a name of one of torch's layers may be that: no class of the file, or of another module, has it."""
        name = found[0].rstrip("(")
        if not name.startswith("Transformer") or self._text[found.start() - 1] == ".":
            return True
        own = re.search(_OWN_LAYER % name, self._text, re.MULTILINE)
        if own is not None:
            return found.start() < own.start()
        parts = [self._parts[p] for p in self.statements.binders.get(name, ())]
        imports = (_MODULE.match(self._text, part.start) for part in parts)
        return not parts or not all(at is not None and at[1].partition(".")[0] != "torch" for at in imports)

    def _may_keep(self, found: re.Match[str]) -> bool:
        """Whether what is scripted, if anything is, may be a function of this file, or one that says what it is."""
        given = _ARGUMENT.match(self._text, found.end()) if found[0].startswith("jit.") else None
        return given is None or _needle_in(given[1]) or f"def {given[1]}" in self._text

    def _half(self, at: int) -> None:
        """Keep the line of an offset, which may make code run in half precision."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        text = cut.lines.text(i)
        if ALONE.fullmatch(text):
            return
        if "\n" not in self._quiet(cut, i, text, at - self._start(cut, i)):  # a string of several rows is no code
            self._keep(cut, i, NEAR)
            self._give(cut, i, text, False)

    def _scripted(self) -> None:
        """Look at what uses the names of scripted functions with a GELU in them."""
        for found in _SCRIPTED.finditer(self._text):
            place = self._place(found.start())
            if place is None or place[0].lines.logical[place[1]].word != "@":
                continue
            cut, i = place
            for j in cut.lines.group(i):
                name = cut.lines.defines(j)
                if name and cut.lines.scopes[j] < 0 and any(k in cut.kept for k in cut.lines.below(j)):
                    self._marks += [(at, name, False) for at in self._all(name)]
        self._drain()

    def _drawn(self) -> None:
        """Keep all of the functions that draw something and have a GELU, and what calls them."""
        drawing: dict[tuple[int, int], tuple[Cut, list[int]]] = {}
        helpers = {p for p, part in enumerate(self._parts) if part.kind == "def"}
        for found in [*self._draws_in(sorted(helpers.union(self._cuts)))]:
            p = bisect_right(self._starts, found.start()) - 1
            place = self._place(found.start()) if self._is_kept(p) or self._serves(p) else None
            if place is None or self._draws_aside(*place, found):
                continue
            cut, i = place
            function = next((s for s in cut.lines.enclosing(i, classes=False) if s >= 0 and _is_def(cut, s)), -1)
            if function >= 0 and (_TOSSES.match(found[0]) or _THRESHOLD.search(self._rows_of(cut, function))):
                owner = next(cut.lines.enclosing(function, classes=True), -1)
                drawing.setdefault((p, owner), (cut, []))[1].append(function)
        for (_, owner), (cut, functions) in drawing.items():
            if owner >= 0:
                self._drawn_in_class(cut, owner, {*functions})
                continue
            for i in dict.fromkeys(functions):
                marked = self._marked(cut, i)
                if cut.lines.scopes[i] < 0:
                    marked = self._callers(cut.lines.defines(i), marked) or marked
                if marked:
                    self._whole(cut, i, FULL)
        self._drain()

    def _is_kept(self, p: int) -> bool:
        """Whether anything of a statement is kept."""
        return p in self._cuts and bool(self._cuts[p].kept)

    def _serves(self, p: int) -> bool:
        """Whether a statement is a function that one with a GELU calls."""
        name = defined(self._text[self._parts[p].start : self._parts[p].end])
        called = (at for at in self._all(name) if self._calls(at, name))
        return any(self._is_kept(bisect_right(self._starts, at) - 1) for at in called)

    def _calls(self, at: int, name: str) -> bool:
        """Whether a name is called where it stands, and not as an attribute."""
        return self._text[at - 1 : at] != "." and _CALL.match(self._text, at + len(name)) is not None

    def _draws_aside(self, cut: Cut, i: int, found: re.Match[str]) -> bool:
        """Whether what is drawn in a line is no factor of anything: it is tested, or fills a tensor in place."""
        lines = cut.lines
        if lines.logical[i].word in _TESTS and lines.is_header(i):
            return ":=" not in lines.text(i)
        if _ASIDE.fullmatch(self._text, self._start(cut, i), found.start()) is not None:
            return True
        bound = targets(lines.text(i))
        if bound is None or bound[1] or len(bound[0]) != 1 or lines.scopes[i] < 0:
            return False
        below = lines.below(lines.scopes[i])
        used = [j for j in lines.mentions(*bound[0]) if j != i and j in below]
        return all(lines.logical[j].word in _TESTS and lines.is_header(j) for j in used)

    def _draws_in(self, wanted: Sequence[int]) -> Iterator[re.Match[str]]:
        """What draws something in some statements, those that follow each other searched as one."""
        stretches: list[tuple[int, int]] = []
        for p in wanted:
            follows = bool(stretches) and stretches[-1][1] + 1 == p
            stretches.append((stretches.pop()[0] if follows else p, p))
        for first, last in stretches:
            yield from _in_rows(self._text, _DRAWING, _DRAWS, self._parts[first].start, self._parts[last].end)

    @cached_property
    def _draws(self) -> bool:
        return any(word in self._text for word in _DRAWING)

    def _drawn_in_class(self, cut: Cut, owner: int, functions: set[int]) -> None:
        """The methods of a class that draw, if they or what calls them have a GELU."""
        lines = cut.lines
        below = lines.below(owner)
        methods = [j for j in below if _is_def(cut, j)]
        held = self._held(cut, owner)
        said = {j: self._said(cut, j) for j in methods}
        wanted = {j for j in methods if self._marked(cut, j) or said[j] & held}
        drawn = {lines.defines(j) for j in functions}
        kept = {j for j in methods if j in wanted and (j in functions or said[j] & drawn)}
        for _ in range(2):  # and what calls them, or is called by them
            names = {lines.defines(j) for j in kept}
            inner = {name for j in kept for name in said[j]}
            kept |= {j for j in methods if said[j] & names or (j in functions and lines.defines(j) in inner)}
        for j in sorted(kept):
            self._whole(cut, j, FULL)

    def _marked(self, cut: Cut, header: int) -> bool:
        """Whether a line of a function is kept for its own sake."""
        return any(cut.kept.get(j, -1) >= LIGHT for j in (header, *cut.lines.below(header)))

    def _has_gelu(self, cut: Cut, function: int) -> bool:
        """Whether a function has a GELU, or mentions what a class around it holds one by."""
        if self._marked(cut, function):
            return True
        owner = next(cut.lines.enclosing(function, classes=True), -1)
        return owner >= 0 and not self._held(cut, owner).isdisjoint(self._said(cut, function))

    def _held(self, cut: Cut, owner: int) -> set[str]:
        """The attributes that a class binds in lines that are kept for their own sake."""
        lines = cut.lines
        kept = (j for j in lines.below(owner) if cut.kept.get(j, -1) >= LIGHT)
        return {name for j in kept for name in (targets(lines.text(j)) or ((), ()))[1]}

    def _said(self, cut: Cut, function: int) -> set[str]:
        """The attributes that a function mentions."""
        return {name for k in (function, *cut.lines.below(function)) for name in members(cut.lines.text(k))}

    def _compared(self) -> None:
        """Keep all of the functions that compare a GELU up to a tolerance, and of tests that take its gradient."""
        for p, cut in [*self._cuts.items()]:
            start, end = self._parts[p].start, self._parts[p].end
            if not any(self._text.find(word, start, end) >= 0 for word in _TESTED_WORDS):
                continue
            lines = cut.lines
            around: set[int] = set()
            for i in [*cut.kept]:
                at = i if lines.defines(i) else lines.scopes[i]
                if at >= 0 and "gelu" in code(lines.text(i)).lower():
                    while at >= 0:
                        around.add(at)
                        at = lines.scopes[at]
            for i in sorted(around):
                rows = self._rows_of(cut, i) if _is_def(cut, i) else ""
                close = any(word in rows for word in _COMPARES) and _CLOSE.search(rows)
                if close or (lines.defines(i).startswith("test") and _SLOPES.search(rows)):
                    self._whole(cut, i, FULL)
        self._drain()

    def _callers(self, name: str, marked: bool) -> bool:
        """Keep all of the functions that mention a name, if it has a GELU, or call it if they have; whether any has."""
        found = False
        for at in self._all(name):
            called = self._calls(at, name)
            kept = called and self._is_kept(bisect_right(self._starts, at) - 1)
            place = self._place(at) if marked or kept else None
            if place is None:
                continue
            cut, i = place
            around = next((s for s in cut.lines.enclosing(i, classes=False) if s >= 0 and _is_def(cut, s)), -1)
            own = around >= 0 and called and not cut.lines.defines(i) and self._has_gelu(cut, around)
            found = found or own
            if around >= 0 and (marked or own):
                self._whole(cut, around, FULL if own else LIGHT)
            elif marked:
                self._keep(cut, i, LIGHT)
        return found

    def _place(self, at: int) -> tuple[Cut, int] | None:
        """The line that holds an offset."""
        p = bisect_right(self._starts, at) - 1
        if p < 0:
            return None
        cut = self._cut(p)
        i = cut.lines.row_of(bisect_right(self._rows, at))
        return (cut, i) if i >= 0 else None

    def _cut(self, p: int) -> Cut:
        cut = self._cuts.get(p)
        if cut is None:
            scanned = self.statements.scan(p)
            self.unsure = self.unsure or not scanned.sure or len(scanned.statements) > 1
            cut = self._cuts[p] = Cut(scanned, self.statements.lines(p), self._parts[p].row - 1)
        return cut

    def _start(self, cut: Cut, i: int) -> int:
        """The offset of a line."""
        return self._rows[cut.lines.logical[i].row + cut.shift - 1]

    # What a needle means where it stands

    def _look(self, at: int, word: str = "", formula: bool = False) -> None:
        """Keep what matters because of the needle at an offset, or of ``word``, which stands for one."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        lines = cut.lines
        text = lines.text(i)
        inside = at - self._start(cut, i)
        quiet = self._quiet(cut, i, text, inside)
        if quiet and not quiet.startswith("#") and self._has_fields(cut, i, text):
            quiet = ""  # code may stand in fields of strings
        if quiet.startswith("#") or (quiet and word):
            return
        name = _identifier(text, inside)
        formula = formula or (
            not quiet and any(number in name or number in text[inside : inside + 7] for number in _NUMBERS)
        )
        question = (i, quiet or name, inside if lines.defines(i) else 0, bool(word), formula)
        if question in cut.asked:
            return
        cut.asked.add(question)
        if quiet:
            said = quiet.strip("\"'")
            if ALONE.fullmatch(text):
                owner = lines.parents[i]
                if owner >= 0 and i == owner + 1 and claim_of_text(said):
                    self._whole(cut, owner)
                return
            if not _NAME.fullmatch(said) or not claim(said):
                return
        if word.startswith(_TRUSTS):
            self._keep(cut, i, HEADER)
            return
        if formula:
            self._formula_at(cut, i)
        elif lines.logical[i].word in ("import", "from"):
            self._keep(cut, i, HEADER)
        elif lines.logical[i].word == "@":
            self._keep(cut, i, LIGHT)
            for j in lines.group(i):
                if lines.defines(j):
                    self._whole(cut, j)
        elif lines.defines(i):
            self._definition(cut, i, text, inside)
        elif lines.logical[i].word in ("if", "elif", "case") and lines.is_header(i):
            self._whole(cut, i)
        else:
            light = bool(word) or (not quiet and not _OPERATES.search(code(text)) and _used(code(text), name))
            light = light or (bool(quiet) and _OPTION.search(text, max(0, inside - _NEAR_BY), inside) is not None)
            full = word == _EXPORTS or _KEEPS.match(word) or _DECODES.match(word) or (light and _REPLACED.search(text))
            self._keep(cut, i, FULL if full else LIGHT if light else SEED)
            if light and "__init__(" in text:  # what a base is given counts where its methods run
                for owner in lines.enclosing(i, classes=True):
                    self._definition_only(cut, owner, LIGHT)
            if word and self._scripts and (targets(text) or ((), ()))[1]:
                self._owner(cut, i)
        if quiet and _BY_PART.search(text):
            self._before(cut, i)
        if not quiet and cut.kept.get(i, HEADER) > HEADER:
            self._gates(cut, i, text)
        self._choices(cut, i)
        self._falls(cut, i, text)
        self._give(cut, i, text, formula)

    def _falls(self, cut: Cut, i: int, text: str) -> None:
        """Keep all arms of the tests for names of activations around a line, and what is taken where none holds."""
        lines = cut.lines
        if not lines.defines(i):
            self._defaulted(cut, i, text)
        if cut.tests is None:
            last = cut.lines.logical[-1].end_row + cut.shift
            part = self._text[self._rows[cut.shift] : self._ends[last]]
            cut.tests = any(word in part for word in _TESTING) or bool(_in_rows(part, _TESTED_BY, _TESTED))
        if not cut.tests:
            return
        at = i
        while at >= 0 and not lines.defines(at):
            around = lines.parents[at]
            beside = (
                [j for j in lines.below(around) if lines.parents[j] == around] if around >= 0 else range(len(lines))
            )
            here = beside.index(at) if at in beside else -1
            first = last = here
            while first > 0 and _in_chain(lines, beside[first - 1]) and _goes_on(lines, beside, first - 1):
                first -= 1
            while last + 1 < len(beside) and _in_chain(lines, beside[last]) and _goes_on(lines, beside, last):
                last += 1
            chain = [beside[k] for k in range(first, last + 1)] if here >= 0 else []
            if len(chain) > 1 and any(_asks_name(lines, j) for j in chain):
                for j in chain:
                    self._whole(cut, j, LIGHT)
                    for k in (j, *lines.below(j)):
                        self._tables(cut, k)
                self._docstrings(cut, i)
            at = around

    def _defaulted(self, cut: Cut, i: int, text: str) -> None:
        """Keep the table that a line looks into with a default, and the lines that look into one that a line binds."""
        if ".get(" in text or " in " in text:
            self._tables(cut, i)
        bound = _BINDS_TABLE.match(text)
        if bound is None:
            return
        name = bound[1]
        for at in self._all(name):
            asked = self._text.startswith(".get(", at + len(name))
            tried = self._text.startswith("[", at + len(name)) and "except" in self._text[at : at + _HANDLED]
            among = self._text.endswith("in ", 0, at) and _IN.search(self._text, max(0, at - 4), at) is not None
            place = self._place(at) if asked or tried or among else None
            if place is None:
                continue
            other, j = place
            self._keep(other, j, LIGHT)
            around = other.lines.parents[j]
            if around >= 0 and other.lines.logical[around].word in ("try", "if"):
                for k in (around, *other.lines.group(around)):
                    self._whole(other, k, LIGHT)

    def _tables(self, cut: Cut, i: int) -> None:
        """Keep what binds the tables that a line looks into."""
        lines = cut.lines
        text = lines.text(i)
        found = _GETS.findall(text) if ".get(" in text or "[" in text else ()
        for name in [name for name, how in found if how != "[" or "act" in name.lower() or name.isupper()]:
            outside = lines.scopes[i] >= 0
            if (id(cut), name, outside) in self._tabled:
                continue
            self._tabled.add((id(cut), name, outside))
            for j in lines.bindings[0].get(name, ()):
                self._keep(cut, j, LIGHT)
            for at in self._all(name) if outside else ():
                place = self._place(at) if _BOUND.match(self._text, at + len(name)) else None
                if place is not None and (targets(place[0].lines.text(place[1])) or ((), ()))[0] == {name}:
                    self._keep(*place, LIGHT)

    def _owner(self, cut: Cut, i: int) -> None:
        """Keep what says whether the class around a line is a module, and how it is copied."""
        for owner in cut.lines.enclosing(i, classes=True):
            self._keep(cut, owner, FULL)
            for j in cut.lines.below(owner):
                if cut.lines.defines(j) in _PICKLES:
                    self._keep(cut, j, HEADER)

    def _gates(self, cut: Cut, i: int, text: str) -> None:
        """Keep the product that a GELU in a line is of, all of a unit named for its gate, and what chooses it."""
        lines = cut.lines
        at = i if lines.defines(i) else lines.scopes[i]
        while at >= 0:
            if says_glu(lines.defines(at)):
                self._whole(cut, at, FULL)
            self._arms_of(cut, at)
            at = lines.scopes[at]
        self._product(cut, i, text)
        bound = targets(text)
        if bound is None or self._hides(cut, text):
            return
        inner = lines.scopes[i]
        of_class = inner >= 0 and lines.logical[inner].word == "class"
        for name in bound[1] | (bound[0] if of_class else set()):
            for owner in lines.enclosing(i, classes=True):
                self._called(cut, name, self._others(cut, owner, name, i), ".")
        for name in bound[0] if not of_class else ():
            if inner >= 0:
                self._called(cut, name, self._others(cut, inner, name, i), "")
            elif not _needle_in(name) and (0, -1, "=" + name, -1) not in self._followed:
                self._followed.add((0, -1, "=" + name, -1))
                for found in self._all(name):
                    place = self._place(found)
                    if place is not None and place[0].lines.scopes[place[1]] >= 0:
                        self._called(place[0], name, [place[1]], "")

    def _hides(self, cut: Cut, text: str) -> bool:
        """Whether a line binds what an imported class or function makes of a GELU, which stands for that no more."""
        made = _MAKES.match(text)
        if made is None or _needle_in(made[1]) or made[1].rpartition(".")[2] in WRAPPERS:
            return False
        root, dot, _ = made[1].partition(".")
        if dot:
            return root not in ("self", "cls")
        own = root in cut.lines.bindings[0] or f"class {root}" in self._text or f"def {root}" in self._text
        return not own and all(self._parts[p].kind == "import" for p in self.statements.binders.get(root, ()))

    def _others(self, cut: Cut, owner: int, name: str, i: int) -> Sequence[int]:
        """The lines of a gated unit, other than line ``i``, that mention a name that this line binds.

        Asked for a third line that binds it there is nothing new: all of them have been told.
        """
        lines = cut.lines
        key = (id(cut), owner, name)
        self._told_of[key] = self._told_of.get(key, 0) + 1
        if self._told_of[key] > 2 or not self._gated(cut, owner):
            return ()
        below = lines.below(owner)
        return [j for j in lines.mentions(name) if j in below and j != i]

    def _arms_of(self, cut: Cut, owner: int) -> None:
        """Keep the lines in which branches choose a function or class that holds a GELU."""
        lines, name = cut.lines, cut.lines.defines(owner)
        key = (id(cut), owner, "?" + name, -1)
        if not name or key in self._followed or _needle_in(name) or name in _BEHAVIOUR or not one_way(name):
            return
        self._followed.add(key)
        scope, below = lines.scopes[owner], lines.below(owner)
        if scope >= 0:
            places = [(cut, j) for j in lines.mentions(name) if j in lines.below(scope)]
        else:
            spots = (at for at in self._all(name) if self._in_arm(at))
            places = [place for at in spots if (place := self._place(at)) is not None]
        for other, j in places:
            if (other is cut and (j in below or j == owner)) or j in other.kept:
                continue
            if self._chooses(other, j):
                self._keep(other, j, LIGHT)

    def _in_arm(self, at: int) -> bool:
        """Whether the row of an offset may be an arm of a choice, or come after one: what its indentation tells."""
        start = self._text.rfind("\n", 0, at) + 1
        row = self._text[start : self._text.find("\n", at)]
        indent = len(row) - len(row.lstrip())
        if (
            not indent
            or _TERNARY.search(row)
            or row.lstrip().startswith(("return", "else", "try", "except", "case", ")", "]", "}"))
        ):
            return True
        while start > 0:
            end, start = start - 1, self._text.rfind("\n", 0, start - 1) + 1
            above = self._text[start:end]
            lead = above.lstrip()
            if lead and not lead.startswith(("#", ")", "]", "}")) and len(above) - len(lead) < indent:
                return _HEADS.match(lead) is None  # else it stands in a function, class or loop
        return True

    def _chooses(self, cut: Cut, i: int) -> bool:
        """Whether a line may be an arm of a choice between ways to compute the same thing."""
        lines = cut.lines
        text, around = lines.text(i), lines.parents[i]
        if lines.logical[i].word in _IN_ARM or _TERNARY.search(text):
            return _switches(text)
        if around >= 0 and lines.logical[around].word in _IN_ARM:
            return any(
                lines.logical[j].word in ("try", "except") or _switches(lines.text(j))
                for j in (around, *lines.group(around))
            )
        if lines.logical[i].word != "return":
            return False
        beside = (j for j in range(max(around, 0), i) if lines.parents[j] == around)
        return any(lines.logical[j].word in _IN_ARM and _switches(lines.text(j)) for j in beside)

    def _called(self, cut: Cut, name: str, rows: Sequence[int], dot: str) -> None:
        """Keep the lines among ``rows`` that call a GELU by a name with a product."""
        for j in rows:
            text = cut.lines.text(j)
            at = re.search(rf"{re.escape(dot)}\b{name}\s*\(", text)
            if at is not None and (_takes_one(text, at.end()) or "approximate" in text):
                self._product(cut, j, text[at.end() - 1 :])

    def _product(self, cut: Cut, i: int, text: str) -> None:
        """Keep all that a line rests on if a product is in ``text``, or is bound to a name that is called with."""
        lines, scope = cut.lines, cut.lines.scopes[i]
        told = any(says_glu(lines.defines(owner)) for owner in lines.enclosing(i, classes=True))
        if (told or self._gated(cut, scope)) and self._has_product(cut, scope, code(text)):
            self._keep(cut, i, FULL)

    def _has_product(self, cut: Cut, scope: int, text: str) -> bool:
        """Whether a product is in a line of a scope, or is bound there to a name that the line calls something with."""
        if _PRODUCT.search(text):
            return True
        lines = cut.lines
        for name in _OF_NAME.findall(text) if scope >= 0 else ():
            key = (id(cut), scope, name)
            if key not in self._products:
                here = [j for j in lines.bindings[0].get(name, ()) if lines.scopes[j] == scope]
                self._products[key] = any(_PRODUCT.search(code(lines.text(j))) for j in here)
            if self._products[key]:
                return True
        return False

    def _gated(self, cut: Cut, scope: int) -> bool:
        """Whether the text of a function or class has names of a gated unit."""
        lines = cut.lines
        if scope not in cut.gated:
            below = lines.below(scope) if scope >= 0 else range(len(lines))
            first = lines.logical[max(scope, 0)].row + cut.shift - 1
            last = lines.logical[below[-1] if below else max(scope, 0)].end_row + cut.shift
            text = self._text[self._ends[first] : self._ends[last]]
            text = text.lower()
            cut.gated[scope] = any(word in text for word in _GATES) or bool(_in_rows(text, _GATING, _GATE))
        return cut.gated[scope]

    def _before(self, cut: Cut, i: int) -> None:
        """Keep the tests before a line that asks for part of a name, as far as they ask for the same: they may take
        out what else has that part."""
        lines = cut.lines
        said, around = words(code(lines.text(i))), lines.parents[i]
        first = i
        while first > 0 and lines.parents[first - 1] >= around:
            first -= 1
            beside = lines.parents[first] == around and lines.logical[first].word in ("if", "elif")
            if beside and not said.isdisjoint(words(code(lines.text(first)))):
                self._keep(cut, first, HEADER)

    def _asked(self, cut: Cut, i: int) -> None:
        """Keep what binds the names in a test, if it asks what the code runs on."""
        lines = cut.lines
        for name in loads(lines.text(i)):
            key = (id(cut), lines.scopes[i], name, -1)
            if key in self._followed:
                continue
            self._followed.add(key)
            binding = lines.bindings[0].get(name, ())
            for scope in lines.enclosing(i, classes=False):
                here = [j for j in binding if scope >= 0 and lines.scopes[j] == scope]
                if any(devices.may_ask(lines.text(j)) for j in here):
                    for j in here:
                        self._bound(cut, j, name, LIGHT)
                if here:
                    break
            else:
                parts = [self._parts[p] for p in self.statements.binders.get(name, ())]
                simple = [self._text[part.start : part.end] for part in parts if part.kind in ("simple", "compound")]
                if any(devices.may_ask(text) for text in simple):
                    self._want(name, LIGHT)

    def _makers(self, name: str, header: str) -> None:
        """Keep calls of a class with a GELU by default where an activation is taken and never mentioned again."""
        if not name or name in self._made or not any(chooses(word) == "activation" for word in WORD.findall(header)):
            return
        self._made.add(name)
        for at in self._all(name):
            p = max(bisect_right(self._starts, at) - 1, 0)
            in_class = self._text.find("class", self._parts[p].start, at) >= 0
            place = self._place(at) if in_class and self._text[at - 1 : at] != "." and self._may_lose(p) else None
            if place is None:
                continue
            cut, i = place
            lines = cut.lines
            for owner in lines.enclosing(i, classes=True):
                below = lines.below(owner)
                for j in below:
                    if lines.scopes[j] != owner or lines.defines(j) != "__init__":
                        continue
                    taken = [word for word in {*WORD.findall(lines.text(j))} if chooses(word) == "activation"]
                    if any(sum(k in below for k in lines.mentions(word)) == 1 for word in taken):
                        self._keep(cut, i, HEADER)
                        self._keep(cut, j, HEADER)

    def _may_lose(self, p: int) -> bool:
        """Whether a statement may take an activation that it mentions in but one line: told before it is cut."""
        if p not in self._losing:
            part = self._parts[p]
            start = self._text.find("__init__", part.start, part.end)
            one = part.kind == "class" and self._text.count("class ", part.start, part.end) == 1
            self._losing[p] = start >= 0 and (not one or self._mentions_once(start, part.end))
        return self._losing[p]

    def _mentions_once(self, start: int, end: int) -> bool:
        """Whether a stretch may mention an activation in no line but one; rows of comments are in no line."""
        places: dict[str, list[int]] = {}
        for stem in ("act", "non"):
            at = self._text.find(stem, start, end)
            while at >= 0:
                word = _identifier(self._text, at).rpartition(".")[2]
                if chooses(word) == "activation" and "#" not in self._text[self._text.rfind("\n", 0, at) + 1 : at]:
                    places.setdefault(word, []).append(at)
                at = self._text.find(stem, at + len(stem), end)
        return any(_HEADER_ENDS.search(self._text, found[0], found[-1]) is None for found in places.values())

    def _choices(self, cut: Cut, i: int) -> None:
        """Keep what the classes around a line are given: the header of ``__init__``, and fields that choose."""
        lines = cut.lines
        for owner in lines.enclosing(i, classes=True):
            if owner in cut.chosen:
                continue
            cut.chosen.add(owner)
            for j in lines.below(owner):
                if lines.scopes[j] != owner:
                    continue
                if lines.defines(j) in _GIVEN:
                    if self._is_given(cut, owner, lines.text(j)):
                        self._keep(cut, j, HEADER)
                elif lines.logical[j].word not in ("def", "class", "@"):
                    field = _FIELD.match(lines.text(j))
                    if field is not None and chooses(field[1]):
                        self._keep(cut, j, HEADER)

    def _is_given(self, cut: Cut, owner: int, header: str) -> bool:
        """Whether a header has a parameter that may choose a GELU: by its name, as a GELU that is wrapped, or as the
        settings of a block that has a width of its own."""
        kinds = {chooses(word) for word in WORD.findall(header)}
        if "flavour" in kinds or "activation" in kinds or "GELU" in header or "Gelu" in header:
            return True
        rows = self._rows_of(cut, owner)
        if "isinstance" in rows and "GELU" in rows:
            return True
        return "settings" in kinds and says_width(rows)

    def _rows_of(self, cut: Cut, header: int) -> str:
        """The text of the block that a header opens, itself included."""
        lines = cut.lines
        below = lines.below(header)
        first = lines.logical[header].row + cut.shift - 1
        last = lines.logical[below[-1] if below else header].end_row + cut.shift
        return self._text[self._ends[first] : self._ends[last]]

    def _quiet(self, cut: Cut, i: int, text: str, at: int) -> str:
        """The comment or string that an offset in a line stands in, "" where it is code."""
        if i not in cut.quiet:
            cut.quiet[i] = [found.span() for found in SILENT.finditer(text)]
        spans = cut.quiet[i]
        nearest = bisect_right(spans, (at, len(text))) - 1
        return text[slice(*spans[nearest])] if nearest >= 0 and at < spans[nearest][1] else ""

    def _has_fields(self, cut: Cut, i: int, text: str) -> bool:
        """Whether a line may hold an f-string; a long table is asked once for all of its strings."""
        if i not in cut.fields:
            cut.fields[i] = FIELDS.search(text) is not None
        return cut.fields[i]

    def _formula_at(self, cut: Cut, i: int) -> None:
        """All of the function that a formula stands in; of a class with a backward, all of it."""
        lines = cut.lines
        function = next(
            (s for s in lines.enclosing(i, classes=False) if s >= 0 and lines.logical[s].word != "class"), -1
        )
        for owner in lines.enclosing(i, classes=True):
            if owner not in cut.backwards:
                cut.backwards[owner] = any(backward(lines.defines(j)) for j in lines.below(owner) if lines.defines(j))
                if cut.backwards[owner]:
                    self._whole(cut, owner)
        if lines.defines(i) and lines.logical[i].word != "class":
            function = i
        if function >= 0:
            self._whole(cut, function)
        else:
            self._keep(cut, i, FULL)

    def _definition(self, cut: Cut, i: int, text: str, at: int) -> None:
        """A function or class with a needle in its header: in its name, among its bases, or in a default."""
        lines, name = cut.lines, cut.lines.defines(i)
        is_class = lines.logical[i].word == "class"
        in_name = at < text.find(name) + len(name)
        if claim(name) or (is_class and any(backward(lines.defines(j)) for j in lines.below(i))):
            self._whole(cut, i)
        elif not is_class:
            if in_name and backward(name):
                self._whole(cut, i)
            light = in_name or _used(code(text), _identifier(text, at))
            self._keep(cut, i, LIGHT if light else FULL)
            if name == "__init__" and lines.scopes[i] >= 0:
                self._makers(lines.defines(lines.scopes[i]), text)
        elif not in_name and len(lines.below(i)) <= _SHORT:
            self._whole(cut, i)
        elif not in_name:
            self._definition_only(cut, i, FULL)
            for j in lines.below(i):
                if "super(" in lines.text(j):
                    self._keep(cut, j, LIGHT)
        else:
            self._keep(cut, i, LIGHT)

    def _give(self, cut: Cut, i: int, text: str, formula: bool) -> None:
        """Look at what uses the names that a line gives to what a needle names."""
        lines = cut.lines
        if (i, formula) in cut.given or (lines.defines(i) and lines.logical[i].word != "class"):
            return
        cut.given.add((i, formula))
        given = {*_AS.findall(text)} if "as" in text else set()
        scope = lines.scopes[i]
        if "=" in text:
            given |= _given(text, formula and scope < 0, self._hands, self._draws and scope < 0)
        if lines.defines(i):
            given.add(lines.defines(i))
        for name in sorted(given):
            key = (id(cut) if scope >= 0 else 0, scope, name)
            if key in self._aliases or _needle_in(name):
                continue
            self._aliases.add(key)
            self._given.add(name)
            if scope < 0:
                self._marks += [(at, name, formula) for at in self._all(name)]
                continue
            below = lines.below(scope)
            for j in lines.mentions(name):
                if j in below and j not in cut.kept:
                    self._marks += [(at, name, formula) for at in self._places(cut, j, name)]
        held = targets(text) if formula else None
        if held is not None and held[1] and scope >= 0:
            for owner in lines.enclosing(i, classes=True):
                below = lines.below(owner)
                for j in sorted({j for name in held[1] for j in lines.mentions(name) if j in below}):
                    if not held[1].isdisjoint(members(lines.text(j))):
                        self._formula_at(cut, j)

    def _all(self, name: str) -> Sequence[int]:
        """Where a name stands in the text."""
        if len(self._given) < _FEW:
            return spots(self._text, name) if name else ()
        if self._words is None:
            self._words = {}
            for found in re.finditer(r"\w+", self._text):
                self._words.setdefault(found[0], []).append(found.start())
        return self._words.get(name, ())

    def _places(self, cut: Cut, i: int, name: str) -> list[int]:
        """Where a name stands in a line."""
        start = self._start(cut, i)
        return [start + found.start() for found in re.finditer(rf"\b{re.escape(name)}\b", cut.lines.text(i))]

    def _whole(self, cut: Cut, header: int, level: int = SEED) -> None:
        """Keep a header with its decorators and all that stands below it."""
        if cut.wholes.get(header, -1) >= level:
            return
        cut.wholes[header] = level
        decorators = [i for i in cut.lines.group(header) if cut.lines.logical[i].word == "@"]
        for i in (*decorators, header, *cut.lines.below(header)):
            self._keep(cut, i, level)

    def _keep(self, cut: Cut, i: int, level: int) -> None:
        """Keep a line with the headers around it, and with what must stand beside it."""
        lines = cut.lines
        waiting = [(i, level)]
        while waiting:
            i, level = waiting.pop()
            before = cut.kept.get(i, -1)
            if before >= level:
                continue
            cut.kept[i] = level
            if before < 0:
                if self._small:
                    waiting += [(j, SEED) for j in range(len(lines)) if j not in cut.kept]
                group = lines.group(i)
                if group and group[0] not in cut.groups:
                    cut.groups.add(group[0])
                    waiting += [(j, HEADER) for j in group]
                if lines.parents[i] >= 0:
                    waiting.append((lines.parents[i], HEADER))
            if before < 0 and level > HEADER and lines.parents[i] >= 0:
                around = lines.parents[i]
                if lines.logical[around].word in ("if", "elif"):
                    last = lines.below(around)[-1]
                    if lines.logical[last].word == "return" and lines.parents[last] == around:
                        waiting.append((last, HEADER))
            tests = before < 0 and not self.unmarked  # without a GELU nobody asks for choices
            if tests and (lines.logical[i].word in _TESTS or (level > HEADER and _TERNARY.search(lines.text(i)))):
                self._asked(cut, i)
            if level > HEADER:
                self._queue.append((cut, i, level))
                if level == SEED or "return" in lines.text(i):
                    self._docstrings(cut, i)

    def _docstrings(self, cut: Cut, i: int) -> None:
        """Keep what the functions and classes around a line say of what they give."""
        lines = cut.lines
        at = i if lines.defines(i) else lines.scopes[i]
        while at >= 0 and at not in cut.told:
            cut.told.add(at)
            if at + 1 < len(lines) and lines.parents[at + 1] == at and _STRING.match(lines.text(at + 1)):
                self._keep(cut, at + 1, HEADER)
            at = lines.scopes[at]

    # What names stand for

    def _drain(self) -> None:
        while self._marks or self._queue:
            if self._marks:
                self._look(*self._marks.pop())
                continue
            cut, i, level = self._queue.pop()
            text = cut.lines.text(i)
            for name in sorted(loads(text) if level > LIGHT else self._needed(text)):
                self._follow(cut, i, name, level)
            held = sorted(members(text)) if level >= FULL else _OF_SELF.findall(text) if "approximate" in text else ()
            for name in held:
                self._follow_member(cut, i, name)

    def _needed(self, text: str) -> set[str]:
        """The names that say which function a line uses, and how: where those of GELUs begin, what they are the first
        argument of, and what is handed to them. All names where the line names no GELU."""
        plain, bound = code(text), targets(text)
        chosen = "approximate" in plain
        several = bound is None and (";" in plain or _ONE_ROW.match(plain) is not None)
        if several or (bound is not None and any(map(_needle_in, bound[1]))):
            return loads(text)
        given = self._given - bound[0] if bound is not None else self._given
        names: set[str] = set()
        handed = len(plain)  # from where on all is handed to GELUs
        for found in _DOTTED.finditer(plain):
            for dotted, end in ((found[1] or "", found.end(1)), (found[2], found.end())):
                root = dotted.partition(".")[0]
                if root in given or _needle_in(dotted):
                    names |= {root, *words(found[1] or "")}
                    if chosen and found[1] and end == found.end():
                        handed = min(handed, end)  # partial(nn.GELU, approximate=…)
                    if plain.startswith("(", end) and not plain.startswith("()", end):
                        handed = min(handed, end)
        names |= loads(plain[handed:])
        if names and bound is not None and bound[1]:
            names |= loads(plain[: plain.find("=")])  # whether what is set is an attribute of a module
        return names or loads(text)

    def _follow(self, cut: Cut, i: int, name: str, level: int) -> None:
        """Keep what binds a name for the line that loads it."""
        lines = cut.lines
        key = (id(cut), lines.scopes[i], name, level)
        if key in self._followed:
            return
        self._followed.add(key)
        if lines.scopes[i] >= 0:
            binding = lines.bindings[0].get(name, ())
            for scope in lines.enclosing(i, classes=False):
                for j in binding if scope >= 0 else ():
                    if lines.scopes[j] == scope:
                        self._bound(cut, j, name, level)
                for j in lines.outer.get(name, ()):
                    self._keep(cut, j, HEADER)
                    for k in binding:
                        if lines.scopes[k] == lines.scopes[j]:
                            self._keep(cut, k, HEADER)
        self._want(name, level)

    def _bound(self, cut: Cut, i: int, name: str, level: int) -> None:
        """Keep a line that binds a name, or remember that it is nothing to rest on."""
        lines = cut.lines
        if lines.defines(i) == name:
            follows = level == SEED or (level == FULL and lines.logical[i].word != "class")
            follows = follows or (level == LIGHT and any(VALUES.search(lines.text(j)) for j in lines.below(i)))
            if self._small or (follows and len(lines.below(i)) <= _SHORT):
                self._whole(cut, i, FULL)
            elif level >= FULL:
                self._definition_only(cut, i, HEADER)
            else:
                cut.faint.setdefault(i, set()).add(name)
        elif i in lines.steps and level < FULL:
            pass
        elif level == NEAR:
            text = lines.text(i)
            self._keep(cut, i, LIGHT if _MOVES.search(text) or stands(text, lines.logical[i].word) else HEADER)
        elif i in lines.loose or worth_following(lines, i, level):
            self._keep(cut, i, min(level, FULL))
        else:
            cut.faint.setdefault(i, set()).add(name)

    def _definition_only(self, cut: Cut, i: int, level: int) -> None:
        """Keep a header, and those of the methods by which a class behaves."""
        self._keep(cut, i, level)
        for j in cut.lines.below(i):
            if cut.lines.scopes[j] == i and cut.lines.defines(j) in _BEHAVIOUR:
                self._keep(cut, j, HEADER)

    def _follow_member(self, cut: Cut, i: int, name: str) -> None:
        """Keep what sets an attribute of the class around, and its method of that name."""
        lines = cut.lines
        for owner in lines.enclosing(i, classes=True):
            key = (id(cut), owner, "." + name, FULL)
            if key in self._followed:
                continue
            self._followed.add(key)
            names, attributes = lines.bindings
            below = lines.below(owner)
            for j in (*attributes.get(name, ()), *names.get(name, ())):
                if j in below and (lines.scopes[j] == owner or (name in attributes and j in attributes[name])):
                    self._bound(cut, j, name, FULL)
        self._want(name, LIGHT, member=True)

    def _want(self, name: str, level: int, member: bool = False) -> None:
        """Keep what binds a name at the top level."""
        key = "." + name if member else name
        if self._wanted.get(key, -1) >= level:
            return
        self._wanted[key] = level
        for p in self.statements.binders.get(name, ()):
            part = self._parts[p]
            if member and part.kind != "simple":
                continue
            own = part.kind in ("def", "class") and defined(self._text[part.start : part.end]) == name
            if own and level < FULL and p not in self._cuts and not self._picks(part):
                self._faint.setdefault(p, set()).add(name)
                continue
            cut = self._cut(p)
            if part.kind == "import":
                self._keep(cut, 0, HEADER)
                continue
            declared = cut.lines.outer.get(name, ())
            for i in cut.lines.bindings[0].get(name, ()):
                if cut.lines.scopes[i] < 0:
                    self._bound(cut, i, name, level)
                elif any(cut.lines.scopes[i] == cut.lines.scopes[j] for j in declared):
                    self._keep(cut, i, HEADER)
            for i in declared:
                self._keep(cut, i, HEADER)
            if part.kind == "simple" and (cut.lines.bindings[1] or PATCHES.search(cut.lines.text(0))):
                self._keep(cut, 0, min(level, FULL))

    def _picks(self, part: Part) -> bool:
        """Whether a function may choose a flavour for whoever calls it."""
        text = self._text[part.start : part.end]
        return part.kind == "def" and text.count("\n") <= 2 * _SHORT and VALUES.search(text) is not None

    def _imports(self) -> None:
        """Keep imports of whatever a fix may use, and those that bind any name."""
        known = _packages()
        for p, part in enumerate(self._parts):
            text = self._text[part.start : part.end]
            if part.kind == "import":
                found = _TOP.match(text)
                tells = (found is not None and found[1] in known) or not known.isdisjoint(WORD.findall(text))
                if "*" in text or (tells and (text.count("\n") < _MANY_NAMES or not _is_aside(text))):
                    self._keep(self._cut(p), 0, HEADER)
            elif part.kind == "compound" and text.startswith("if") and "raise" in text and ASKS.search(text):
                cut = self._cut(p)
                for i in range(len(cut.lines)):
                    self._keep(cut, i, HEADER)

    def pieces(self) -> list[Piece]:
        """The parts that something is left of."""
        found: list[Piece] = []
        for p in sorted({*self._cuts, *self._faint}):
            part, cut = self._parts[p], self._cuts.get(p)
            text = self._text[part.start : part.end]
            names = self._faint.get(p, set())
            if cut is not None and (cut.kept or cut.faint):
                found.append(Piece(text, cut.scanned, cut.shift, lines_left(cut)))
            elif names:
                line = Logical(1, 1, 0, "del", "")
                found.append(Piece(text, Scan((0,), (line,), (), (), (), True), part.row - 1, {0: marker(names)}))
        return found


def _in_rows(
    text: str, words: Sequence[str], pattern: re.Pattern[str], first: int = 0, last: int = sys.maxsize
) -> list[re.Match[str]]:
    """What a pattern finds in the rows, of a stretch of them, that hold one of ``words``: searching these is faster
    than the pattern."""
    found: dict[int, re.Match[str]] = {}
    for word in words:
        at = text.find(word, first, last)
        while at >= 0:
            end = text.find("\n", at)
            end = end if end >= 0 else len(text)
            start = text.rfind("\n", 0, at) + 1
            found.update((match.start(), match) for match in pattern.finditer(text, start, end))
            at = text.find(word, end, last)
    return [found[at] for at in sorted(found)]


def _given(text: str, formula: bool, hands: bool, made: bool) -> set[str]:
    """The names that a line gives to what a needle in it names; a ``formula`` may be given a name, too, and, if asked
    for, what ``hands`` a GELU on, or what is ``made`` by a short call."""
    bound = targets(text)
    if bound is not None and not bound[0]:
        return set()
    plain = code(text)
    value = plain[plain.find("=") + 1 :]
    if bound is None:
        return {*_ASSIGNED.findall(plain)} if ";" in plain or _ONE_ROW.match(plain) else set()
    clear = OPAQUE.search(value) is None or TRANSPARENT.search(value) is not None or len(bound[0]) > 1
    clear = clear or formula or (hands and _HANDS.match(value) is not None)
    return bound[0] if clear or (made and _MADE.fullmatch(value.strip())) else set()


def _takes_one(text: str, at: int) -> bool:
    """Whether a call whose arguments begin at an offset has but one of them, as far as brackets tell."""
    depth = 0
    for found in _SIGN.finditer(text, at):
        sign = found[0]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif not depth:
            return _LAST.match(text, found.end()) is not None
    return True


def _switches(text: str) -> bool:
    """Whether a test may be one between ways to compute the same thing."""
    return _SWITCH.search(text) is not None or devices.may_ask(text)


def _looks_up(text: str) -> bool:
    """Whether a line may look up the name of an activation, or give it to what does."""
    return not _lookers().isdisjoint(WORD.findall(text)) or "Config" in text


def _asks_name(lines: Lines, i: int) -> bool:
    """Whether a line may ask for the name of an activation, or what is tried in it may."""
    rows = (i, *lines.below(i)) if lines.logical[i].word == "try" else (i,)
    return any(_BY_NAME.search(text) and _OF_ACTIVATION.search(text) for text in map(lines.text, rows))


def _in_chain(lines: Lines, i: int) -> bool:
    """Whether a line is an arm of a choice, or a warning between one and what is taken else."""
    return lines.logical[i].word in _IN_CHAIN or _WARNS.match(lines.text(i)) is not None


def _goes_on(lines: Lines, beside: Sequence[int], k: int) -> bool:
    """Whether what follows a line in its block is an arm of the same statement, or what is done where none is taken."""
    i, after = beside[k], beside[k + 1]
    if lines.logical[i].word not in ("if", "elif") or lines.logical[after].word in ("elif", "else"):
        return True
    direct = [j for j in lines.below(i) if lines.parents[j] == i]
    return _LEAVES.search(lines.text(direct[-1] if direct else i)) is not None


def _is_def(cut: Cut, i: int) -> bool:
    """Whether a line is the header of a function."""
    return bool(cut.lines.defines(i)) and cut.lines.logical[i].word != "class"


@lru_cache(maxsize=4096)
def _needle_in(name: str) -> bool:
    """Whether a name says for itself what it stands for."""
    lowered = name.lower()
    return any(needle in lowered for needle in NEEDLES)


def _identifier(text: str, at: int) -> str:
    """The identifier or number at an offset of a text."""
    start = end = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return text[start:end]


def _used(plain: str, name: str) -> bool:
    """Whether a line but calls or hands on what ``name`` (with dots) ends in: it does not bind that name."""
    last = name.rpartition(".")[2]
    for found in re.finditer(rf"(?<![\w.])([\w.]*)\b{re.escape(last)}\b(\s*\()?", plain):
        owner = found[1]
        if not found[2] and (not owner or owner in ("self.", "cls.")):
            return False
    return True


def _is_aside(text: str) -> bool:
    """Whether an import is one of names from a library of models that have nothing to do with a GELU."""
    found = _FROM.match(text)
    if found is None or found[1].partition(".")[0] in _FRAMEWORKS:
        return False
    names = WORD.findall(text, found.end())
    return _packages().isdisjoint(names) and prefixes().isdisjoint(f"{found[1]}.{name}" for name in names)


@cache
def _packages() -> frozenset[str]:
    """Packages whose functions fixes may use, and whose import tells what a file is for."""
    from gelu_lint.facts.table import callables, others, tensor_only

    tops = {name.split(".")[0] for name in (*callables(), *others(), *tensor_only(), *tensor_only().values())}
    return frozenset((*tops, "functools", "math", "scipy", "triton", "pallas", "numba", "taichi", "warp")) - {""}


@cache
def _lookers() -> frozenset[str]:
    """The words of what looks up the name of an activation: tables, functions, layers, and what makes models."""
    from gelu_lint.facts.settings import LOADERS, MAKER, tables
    from gelu_lint.facts.table import layers

    return frozenset((*tables(), *(name.rpartition(".")[2] for name in layers()), *LOADERS, MAKER))
