"""What a test asks for: the device, a version, training, a faster path, the name of an activation, or a flavour."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gelu_lint.claims import words
from gelu_lint.facts import devices
from gelu_lint.facts.activation_names import NAMES
from gelu_lint.patterns import lazy
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import dotted, last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Attribute,
    BooleanOperation,
    Call,
    Comparison,
    ConcatenatedString,
    CSTNode,
    List,
    Name,
    Set,
    SimpleString,
    Subscript,
    Tuple,
)
from gelu_lint.tree.walk import Moment

_GELU = frozenset(("gelu", "gelus", "geglu"))
#: Words of what chooses a flavour, or an activation, by name.
_FLAVOUR = frozenset(
    (
        *("approx", "approximate", "approximated", "approximation", "tanh", "erf", "exact", "quick", "accurate"),
        *("precise", "flavour", "flavor", "variant", "sigmoid", "silu", "swish", "relu", "swiglu", "reglu", "glu"),
        *("act", "activ", "activation", "activations", "nonlinearity", "nonlin", "openai", "clip"),
    )
)
_ACTIVATION = frozenset(("act", "activ", "activation", "nonlinearity", "nonlin"))
#: Words of switches between ways to compute the same thing.
_SWITCH = frozenset(
    (
        *("fused", "fuse", "fusion", "fusing", "compiled", "compile", "compiling", "jit", "jitted", "script"),
        *(
            "scripted",
            "scripting",
            "scriptable",
            "torchscript",
            "traced",
            "tracing",
            "optimized",
            "optimised",
            "kernel",
        ),
        *("kernels", "native", "builtin", "triton", "xformers", "apex", "eager", "efficient", "flash", "onnx", "liger"),
        *(
            "export",
            "exporting",
            "exportable",
            "exported",
            "deploy",
            "inference",
            "extension",
            "vectorized",
            "inductor",
        ),
    )
)
#: Those that beside "gelu" say which one.
_PACE = frozenset(("fast", "faster", "slow"))
_TRAINING = frozenset(("training", "train", "requires", "grad", "deterministic", "eval"))
_LIBRARIES = frozenset(("torch", "pytorch", "tf", "tensorflow", "jax", "flax", "keras", "paddle", "library", "pkg"))
_GUARDS = ("hasattr", "getattr", "signature", "dir", "find_spec", "is_available")
_FLAG = lazy(r"_?(?:HAS|HAVE|SUPPORTS?)_[A-Z0-9_]+$|[A-Z0-9_]*_(?:GE|GT|LE|LT)_?[0-9][A-Z0-9_]*$")
_GREATER = lazy(r"is_(?:torch|tf|jax)_(?:greater|less)\w*|torch_[gl][et]|compare_versions")
_CLASS = lazy(r"[A-Z]\w*[a-z]")
_SIZED = frozenset(("size", "sizes", "dim", "width", "init", "initializer", "stride", "padding"))
#: Names of a parameter of a function for activations.
_PLAIN_SUBJECTS = ("name", "fn", "func", "function", "kind", "type", "s", "key", "fn_name", "fn_type")


def words_of(node: CSTNode) -> tuple[list[str], list[str]]:
    """The identifiers and the strings in an expression."""
    names: list[str] = []
    strings: list[str] = []
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name):
            names.append(item.value)
        elif isinstance(item, (SimpleString, ConcatenatedString)):
            strings += filter(None, [str(literal(item)[1] or "")])
        waiting.extend(children(item))
    return names, strings


def of_device(node: CSTNode) -> bool:
    """Whether an expression asks what it runs on."""
    names, strings = words_of(node)
    if any(not devices.WORDS.isdisjoint(words(text)) for text in (*names, *(s for s in strings if len(s) < 40))):
        return True
    return "default_backend" in names or (isinstance(node, Comparison) and dotted(node.left) == "os.name")


def kind_of(test: CSTNode, names: Names, moment: Moment) -> str:
    """What a test asks for, as in Arm; names are followed to what they are bound to where that asks for a device."""
    found, strings = words_of(test)
    guard = _guards(found)
    if any(_bound_to_device(item, names, moment) for item in _names_in(test)):
        return "device"
    if not guard and _by_flavour((*found, *strings)):
        return "flavour"
    if of_device(test):
        return "device"
    if guard:
        return "version"
    # A kernel of some size is that of a convolution, and a name in camel case that of a class.
    said = {word for name in found if not _CLASS.match(name) for word in words(name) if _SIZED.isdisjoint(words(name))}
    if "training" in said or said & {"train", "deterministic"} or {"requires", "grad"} <= said:
        return "training"
    if {"is", "grad", "enabled"} <= said or {"inference", "mode"} <= said:
        return "training"
    return "switch" if said & (_SWITCH | _PACE) else "other"


def _by_flavour(texts: Sequence[str]) -> bool:
    for text in texts:
        said = {*words(text)}
        if said & _FLAVOUR or (said & _GELU and not said & _SWITCH):
            return True
    return False


def _guards(names: Sequence[str]) -> bool:
    """Whether these identifiers ask what is installed."""
    for name in names:
        said = {*words(name)}
        if name in _GUARDS[:-1] or name == "__version__" or _FLAG.match(name) or _GREATER.fullmatch(name):
            return True
        if said & {"version", "versions"} and said & _LIBRARIES:
            return True
    return False


def _names_in(node: CSTNode) -> Iterator[Name]:
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name):
            yield item
        if isinstance(item, Attribute):
            waiting.append(item.value)
        else:
            waiting.extend(children(item))


def _bound_to_device(node: Name, names: Names, moment: Moment) -> bool:
    constant = names.constant(node, moment)
    return constant is not None and not isinstance(constant, Name) and of_device(constant)


# Names of activations


class Asked:
    """Which names of activations lead past a test, and whether something beyond single names does.

    merges    the test is by prefix, substring or several names at once; ``listed`` where it names them all
    unclear   names that nobody can list lead past it, too
    """

    __slots__ = ("listed", "merges", "names", "subject", "unclear")

    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        merges: bool = False,
        unclear: bool = False,
        subject: str = "",
        listed: bool = True,
    ) -> None:
        self.names, self.merges, self.unclear, self.subject = tuple(names), merges, unclear, subject
        self.listed = listed


def asked(test: CSTNode, names: Names, moment: Moment, around: str, others: bool) -> Asked:
    """What names of GELUs a test lets pass. ``around`` is the name of the function around, and ``others`` whether
    tests beside it name other activations."""
    if isinstance(test, BooleanOperation):
        if type(test.operator).__name__ != "Or":
            return Asked(unclear=True)
        left, right = (asked(part, names, moment, around, others) for part in (test.left, test.right))
        if left.subject != right.subject or left.unclear or right.unclear:
            return Asked(unclear=True)
        listed = left.listed and right.listed
        return Asked((*left.names, *right.names), merges=True, subject=left.subject, listed=listed)
    if isinstance(test, Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        operator = type(target.operator).__name__
        return _compared(test.left, operator, target.comparator, names, moment, around, others)
    if isinstance(test, Call):
        return _called(test, around, others)
    return Asked(unclear=True)


def _compared(
    left: CSTNode, operator: str, right: CSTNode, names: Names, moment: Moment, around: str, others: bool
) -> Asked:
    if operator == "Equal":
        return _equals(left, right, around, others) or _equals(right, left, around, others) or Asked(unclear=True)
    if operator == "In":
        held = names.constant(right, moment) if isinstance(right, Name) else None
        listed = held if held is not None else right
        if isinstance(listed, (Tuple, List, Set)):
            texts = [text_of(element.value) for element in listed.elements]
            if all(texts) and texts:
                return Asked(texts, merges=len(texts) > 1, subject=subject_of(left))
        elif text_of(left):
            return _holding(right, text_of(left), around, others)
    found = isinstance(left, Call) and isinstance(left.func, Attribute) and left.func.attr.value == "find"
    if found and isinstance(left, Call) and isinstance(left.func, Attribute) and left.args:
        then = (operator, literal(right)[1])
        if then in (("NotEqual", -1), ("GreaterThan", -1), ("GreaterThanEqual", 0)) and text_of(left.args[0].value):
            return _holding(left.func.value, text_of(left.args[0].value), around, others)
    return Asked(unclear=True)


def _equals(subject: CSTNode, value: CSTNode, around: str, others: bool) -> Asked | None:
    """``name == "gelu"``, ``name[:4] == "gelu"``, ``name.split("_")[0] == "gelu"``."""
    text = text_of(value)
    if not text:
        return None
    sliced = _first_letters(subject)
    if sliced is not None:
        if sliced[1] != len(text):
            return Asked(unclear=True)
        return _matching(sliced[0], lambda name: name.startswith(text), around, others)
    head = _head(subject)
    if head is not None:
        node, sign = head
        return _matching(node, lambda name: name.split(sign)[0] == text, around, others)
    return Asked((text,), subject=subject_of(subject))


def _holding(subject: CSTNode, text: str, around: str, others: bool) -> Asked:
    """``"gelu" in name``."""
    # Who asks for "gelu" anywhere in a name hardly thinks of quick_gelu, nor of any name that ends so.
    return _matching(subject, lambda name: text in name and name != "quick_gelu", around, others)


def _called(test: Call, around: str, others: bool) -> Asked:
    """``name.startswith("gelu")``, ``re.match("gelu", name)``, ``fnmatch(name, "gelu*")``."""
    last, args = last_name(test.func), [arg.value for arg in test.args]
    if last in ("startswith", "endswith") and isinstance(test.func, Attribute) and args:
        given = args[0].elements if isinstance(args[0], Tuple) else ()
        texts = [text_of(element.value) for element in given] if given else [text_of(args[0])]
        if all(texts):
            wanted = tuple(texts)
            return _matching(
                test.func.value,
                (lambda name: name.startswith(wanted))
                if last == "startswith"
                else (lambda name: name.endswith(wanted)),
                around,
                others,
            )
    if last in ("match", "search") and len(args) > 1 and re.fullmatch(r"\^?\w+(?:\.\*)?", text_of(args[0])):
        text = text_of(args[0]).lstrip("^").removesuffix(".*")
        anchored = last == "match" or text_of(args[0]).startswith("^")
        return _matching(
            args[1], (lambda name: name.startswith(text)) if anchored else (lambda name: text in name), around, others
        )
    if last in ("fnmatch", "fnmatchcase") and len(args) > 1 and re.fullmatch(r"\w+\*", text_of(args[1])):
        text = text_of(args[1])[:-1]
        return _matching(args[0], lambda name: name.startswith(text), around, others)
    return Asked(unclear=True)


def _matching(subject: CSTNode, matches: Callable[[str], bool], around: str, others: bool) -> Asked:
    found = [name for name in NAMES if matches(name)]
    if not found or not names_activation(subject, around, others):
        return Asked(unclear=True)
    return Asked(found, merges=True, subject=subject_of(subject), listed=False)


def names_activation(subject: CSTNode, around: str, others: bool) -> bool:
    """Whether an expression is the name of one activation, rather than a list of them or the name of something else."""
    while isinstance(subject, Call) and isinstance(subject.func, Attribute):
        if subject.func.attr.value not in ("lower", "strip", "casefold", "get"):
            return False
        if subject.func.attr.value == "get":
            texts = [text_of(arg.value) for arg in subject.args[:1]]
            return any(_singular(text) for text in texts)
        subject = subject.func.value
    if isinstance(subject, Call) and last_name(subject.func) == "getattr" and len(subject.args) > 1:
        return _singular(text_of(subject.args[1].value))
    if isinstance(subject, Subscript):
        index = getattr(subject.slice[0].slice, "value", None) if subject.slice else None
        return _singular(text_of(index))
    last = last_name(subject)
    if _singular(last):
        return True
    evident = others or not _ACTIVATION.isdisjoint(words(around)) or not _GELU.isdisjoint(words(around))
    return last in _PLAIN_SUBJECTS and evident


def _singular(name: str) -> bool:
    said = words(name)
    return not _ACTIVATION.isdisjoint(said) and name != name.upper() and "layer" not in said


def _first_letters(node: CSTNode) -> tuple[CSTNode, int] | None:
    """``name`` and 4 of ``name[:4]``."""
    if not isinstance(node, Subscript) or len(node.slice) != 1:
        return None
    part = node.slice[0].slice
    upper, lower = getattr(part, "upper", None), getattr(part, "lower", None)
    known, value = literal(upper) if upper is not None else (False, None)
    start = literal(lower)[1] if lower is not None else 0
    return (node.value, value) if known and isinstance(value, int) and start == 0 else None


def _head(node: CSTNode) -> tuple[CSTNode, str] | None:
    """``name`` and "_" of ``name.split("_")[0]`` or ``name.partition("_")[0]``."""
    if not isinstance(node, Subscript) or len(node.slice) != 1 or not isinstance(node.value, Call):
        return None
    call, index = node.value, getattr(node.slice[0].slice, "value", None)
    if index is None or literal(index) != (True, 0) or last_name(call.func) not in ("split", "partition"):
        return None
    text = text_of(call.args[0].value) if call.args else ""
    return (call.func.value, text) if text and isinstance(call.func, Attribute) else None


def subject_of(node: CSTNode) -> str:
    """What is tested, in words: two tests of one thing have the same."""
    while isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.attr.value in ("lower", "strip"):
        node = node.func.value
    names, strings = words_of(node)
    return " ".join((*names, *strings))
