"""The records that flow through gelu-lint: facts about a file, and what rules say of them.

Facts hold only str, int, float, bool, None and tuples of them, so that one codec can serve the process pool and a
cache. Rows are 1-based; columns are 0-based and count code points (reports print columns from 1).
"""

from __future__ import annotations

import os

from gelu_lint.named import NamedTuple

#: A literal as it stands in source; what no literal can say is not a Value.
Value = str | int | float | bool | None

#: The delta of a fix that computes the same function in exact arithmetic: last bits may differ.
ROUNDING = 1e-6

SEVERITIES = ("info", "warning", "error")


class Span(NamedTuple):
    """A stretch of text from (row, column) up to, not including, (end_row, end_column)."""

    row: int
    column: int
    end_row: int
    end_column: int


class Edit(NamedTuple):
    """Replace the text of ``span`` by ``content``; an empty span inserts."""

    span: Span
    content: str


class Need(NamedTuple):
    """An import that a fix relies on: ``from module import name``, or ``import module`` (as alias) without a name."""

    module: str
    name: str = ""
    alias: str = ""


class Fix(NamedTuple):
    """Text edits, with what they change.

    ``delta`` is the largest change of any value over all real inputs (None: unbounded, 0: bit-identical, or today's
    code raises). ``reach`` is "local" for a value that is spelled out, "interface" where the kind of an object changes.
    ``imports`` are the edits that ``needs`` come to if this fix alone is applied.
    """

    message: str
    edits: tuple[Edit, ...]
    needs: tuple[Need, ...] = ()
    delta: float | None = 0.0
    reach: str = "local"
    imports: tuple[Edit, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether plain ``fix`` applies it."""
        return self.delta == 0 and self.reach == "local"

    def allowed(self, delta: float, unsafe: bool) -> bool:
        """Whether ``fix --allow-delta DELTA`` (or with ``--unsafe-fixes``) applies it."""
        return unsafe or (self.reach == "local" and self.delta is not None and self.delta <= delta)


class Finding(NamedTuple):
    """What a rule reports. ``statement`` holds the first and last row of the statement around it."""

    code: str
    path: str
    span: Span
    message: str
    severity: str
    fix: Fix | None = None
    data: tuple[tuple[str, Value], ...] = ()
    related: tuple[tuple[str, Span, str], ...] = ()
    statement: tuple[int, int] = (0, 0)
    noqa_row: int = 0
    cell: int | None = None


class Argument(NamedTuple):
    """One argument of a call as written; ``star`` is "", "*" or "**"."""

    span: Span
    value_span: Span
    keyword: str
    star: str
    literal: bool
    value: Value
    text: str


class Slot(NamedTuple):
    """Where a keyword argument can be added to a call: ``before`` + argument + ``after`` goes to ``span``."""

    span: Span
    before: str
    after: str


class Formula(NamedTuple):
    """What is known of a GELU that is typed by hand.

    nearest    the flavour that a near miss is one edit away from, that a clipped, squared or tempered GELU derives
               from, or whose derivative a backward should be
    why        what is off, in words; ``right`` is the constant that would be right, if a constant is off, and
               ``wrong`` where it stands, if that is one place
    at         where the error is largest
    several    the same code computes other flavours in other branches, or a parameter chooses
    atom       source of what it is a function of, "" where that cannot be written at its place
    deltas     what changes if a built-in takes its place: max |new − old| over all real x, by flavour
    rewrite    what such a call replaces, "return " before it where that is a whole body; None where none can
    casts      dtypes that the unknown is cast to inside
    kernel     the function is compiled for an accelerator, which has no built-in to call
    tied       no built-in can simply take its place: the file assigns to it or is for a framework that lacks it, or
               the function has a backward of its own
    deliberate the docstring says why the built-in is not used
    hazards    where its arithmetic fails: ("half", x), ("cuda_autocast", x): NaN gradient from x on; ("float32", x),
               ("float64", x): NaN from x on, ("both float32", x): and on the other side; ("tail", x): exactly 0 in
               half precision from x on
    """

    nearest: str = ""
    why: str = ""
    right: float | None = None
    wrong: Span | None = None
    at: float = 0.0
    several: bool = False
    atom: str = ""
    deltas: tuple[tuple[str, float | None], ...] = ()
    rewrite: tuple[Span, str] | None = None
    casts: tuple[str, ...] = ()
    kernel: bool = False
    tied: bool = False
    deliberate: bool = False
    hazards: tuple[tuple[str, float], ...] = ()

    def delta(self, flavour: str) -> float | None:
        """What changes if the built-in of ``flavour`` takes its place; rounding counts as 1e-6, None: no bound."""
        found = dict(self.deltas).get(flavour)
        return None if found is None else max(found, ROUNDING)

    def hazard(self, kind: str) -> float | None:
        """Where the arithmetic fails, None if it does not or is not known."""
        return dict(self.hazards).get(kind)


class Site(NamedTuple):
    """One place that claims to be, or turns out to be, a GELU.

    spelling   call, reference, string (a layer is given the name of its activation), graph (in an ONNX file) (formula,
               config, module, prose come with their recognisers)
    form       how it is spelled: call, partial, super; formula, backward; base (of a class), argument, default,
               attribute, variable, table, element, return, import; in a graph operator (one node is the GELU) or chain
               (several nodes come to one; ``value`` is then the opset)
    key        the name it is given under: keyword, parameter, attribute, table key or variable; "" without one
    consumer   the last name of the call that it is handed to, "" where there is none
    place      what holds it: the form a reference would have there, "" where it is used on the spot
    tested     names and strings in the tests of the branches around it, within its function
    callee     the canonical public name of what is called or referred to; ``written`` is the text in the file
    flavour    erf, tanh, quick, … of this site as written; unknown where only the run decides or where it raises
    claims     what it is given out for: names of functions, classes, variables, keys, and "docstring"
    claimed    the flavours that its nearest claim allows, () where nothing claims a GELU
    told       the flavour whose formula the docstring gives, ""
    given      how the choosing argument is given: absent, literal, constant (a name for a literal), dynamic, unsure
               (stars may hold it), misplaced (by position, where only the keyword works), fixed (the callable has
               no such argument), or hidden (a string names the GELU, and the layer that it is given to chooses)
    guard      try, hasattr, version, raises or "": what protects the site from a name or value that does not exist
    """

    spelling: str
    form: str
    framework: str
    callee: str
    written: str
    flavour: str
    given: str
    value: Value
    span: Span
    callee_span: Span
    arguments: tuple[Argument, ...]
    slot: Slot | None
    key: str
    consumer: str
    place: str
    tested: tuple[str, ...]
    symbol: str
    guard: str
    statement: tuple[int, int]
    quote: str
    error: float | None = None
    parameter: float | None = None
    claims: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
    told: str = ""
    formula: Formula | None = None

    @property
    def explicit(self) -> bool:
        """Whether the flavour is stated where the function is used."""
        return self.given not in ("absent", "unsure", "hidden")


class Use(NamedTuple):
    """Something that a file does around GELUs.

    kind       absent (``callee`` does not exist), refused (it refuses the value ``detail``), number (it refuses a
               Python number; ``detail`` is the function that takes one), compare (something is compared with it),
               key (``detail`` is a name that a table or a test has for a GELU), probe (somebody asks whether a GELU is
               there), tail (a Φ whose small values matter is computed as ``detail``, 1 + …), gate (a GELU, of flavour
               ``detail``, that gates wrongly: ``form`` says where it stands), fused (a fused GELU, ``callee``, that is
               another on other devices)
    form       call, reference, import (``callee`` is the last of several names) or sole (the only name of its import);
               of a gate product (it takes the product of gate and value) or split (both halves, before the split)
    """

    kind: str
    callee: str
    written: str
    detail: str
    span: Span
    callee_span: Span
    arguments: tuple[Argument, ...]
    slot: Slot | None
    form: str
    symbol: str
    guard: str
    statement: tuple[int, int]
    quote: str


#: How a name of another module is marked of which only what it gives matters, and a member of a class.
MADE, MEMBER = "!", "#"
#: What marks a function or "Class.method" of which it matters what other files hand to it.
HANDED = "^"


class Context(NamedTuple):
    """Something that makes code run in fp16.

    kind       half (tensors are fp16), cuda_autocast (some operations are lifted to float32) or unread (the file
               cannot be read, and may have any)
    path       the file that it stands in, "" for the file that it is a fact of
    written    its source, shortened
    rows       the stretches of rows of this file that may run under it
    made       the rows of this file where objects are made that may run under it
    leads      what may run under it of other modules: full names of imports, relative ones with their dots
    """

    kind: str
    path: str
    written: str
    span: Span
    symbol: str
    statement: tuple[int, int]
    rows: tuple[tuple[int, int], ...] = ()
    made: tuple[tuple[int, int], ...] = ()
    leads: tuple[str, ...] = ()

    def covers(self, row: int, module: bool) -> bool:
        """Whether what stands in a row of this file may run under it: a call, or a ``module`` that is made there."""
        where = (*self.rows, *self.made) if module else self.rows
        return any(first <= row <= last for first, last in where)


class Arrival(NamedTuple):
    """Names of a file at which a context of another file leads into it."""

    context: Context
    names: tuple[str, ...]


class Export(NamedTuple):
    """A model that is exported to ONNX with a stated opset.

    callee    the canonical public name of what exports; ``written`` is the text in the file
    opset     the opset, which stands at ``number`` where it is a literal there (``literal``)
    dynamo    which exporter is asked for: "True", "False", or "" where nothing known is said
    gelus     where the GELUs of this file stand that are in the model
    span      the argument that says the opset
    """

    callee: str
    written: str
    opset: int
    literal: bool
    number: Span
    dynamo: str
    gelus: tuple[Span, ...]
    span: Span
    symbol: str
    guard: str
    statement: tuple[int, int]


class Held(NamedTuple):
    """A GELU that something keeps as an object.

    keeper   layer, checkpoint (what torch.save writes) or attribute (of a module)
    callee   the canonical public name of the layer or of the call that keeps it, "" for an attribute
    key      the argument, table key or attribute that it is given under
    form     what it is: module (an object), class, function, partial, lambda or scripted
    gelu     the canonical public name of the GELU, or of the function or class of this file that computes one
    flavour  erf, tanh, … of the object; unknown where only the run decides
    decides  what the arguments that decide over a fast path are, by name; "?" where that is not known
    rebuilt  it stands in a class that derives from another: who stores an object of it may store its arguments alone
    made     the call that makes the object, ``span`` where there is none
    inline   ``span`` is the argument that gives it, and not a dict or a partial that holds it
    copied   the canonical public name of what copies the layer, "" where nothing is seen to, or where that is harmless
    """

    keeper: str
    callee: str
    written: str
    key: str
    form: str
    gelu: str
    flavour: str
    decides: tuple[tuple[str, Value], ...]
    rebuilt: bool
    made: Span
    inline: bool
    text: str
    span: Span
    symbol: str
    guard: str
    statement: tuple[int, int]
    quote: str
    copied: str = ""


class Mask(NamedTuple):
    """A product of a GELU with a mask that is drawn anew in each call.

    drawn    the canonical public name, or the method, that draws the mask
    factor   where the GELU stands
    known    the factor is surely a GELU; where it is not, a site may say so
    guard    names in the tests that decide whether it is drawn, "" where nothing does
    scaled   something divides or multiplies the product by what is kept
    """

    drawn: str
    factor: Span
    known: bool
    guard: str
    scaled: bool
    span: Span
    symbol: str
    statement: tuple[int, int]


class Arm(NamedTuple):
    """One way that a choice can go.

    kind     what its test asks for: device, version, training, switch (fused, compiled, …), name (of an activation),
             flavour (a parameter says which GELU), other, or "" where no test leads to it
    test     the test as written
    names    names of activations that lead to it and to no arm before it
    flavour  what it computes, "" where that is not known
    span     where it computes it, and ``statement`` the rows of that statement
    """

    kind: str
    test: str
    names: tuple[str, ...]
    flavour: str
    span: Span
    statement: tuple[int, int]


class Choice(NamedTuple):
    """Branches, or entries of a table, of which one is taken: ``arms`` in the order in which they are tried.

    form    branch, ternary, try, argument (what is chosen is an argument of the GELU at ``span``) or table
    named   a name around it says GELU: it offers several, where the file does
    """

    form: str
    arms: tuple[Arm, ...]
    span: Span
    symbol: str
    statement: tuple[int, int]
    named: bool


class Fallback(NamedTuple):
    """What becomes of the name of an activation that no test and no table knows.

    form      branch, ternary, match, table (a look-up with a default), attribute (getattr with one) or try
    names     the names that are known, as far as they are told
    whole     they are all that are known: no test is for part of a name, and no table is beyond the file
    flavour   what the fallback computes: a flavour, silu, relu, …, identity
    gelus     the flavours that known names lead to
    told      who says that it happens: warning, default (that of a parameter), docstring, checked (others are refused
              before), "" for nobody
    """

    form: str
    names: tuple[str, ...]
    whole: bool
    flavour: str
    gelus: tuple[str, ...]
    told: str
    written: str
    span: Span
    symbol: str
    statement: tuple[int, int]


class Directive(NamedTuple):
    """A comment that silences findings.

    kind    noqa (its codes may belong to other tools too), ignore, file, or text (flake8 sees a noqa inside a string)
    codes   what it names, each with its span; none for a bare noqa
    rows    the physical rows it covers
    span    the directive itself; ``cut`` what to delete, and ``rest`` what to leave there, to remove it
    fault   why it does not do what it seems to, "" where it does
    idle    codes that silenced nothing although their rules ran; filled in once they have
    """

    kind: str
    codes: tuple[tuple[str, Span], ...]
    rows: tuple[int, int]
    span: Span
    cut: Span
    rest: str = ""
    fault: str = ""
    idle: tuple[str, ...] = ()


class Bound(NamedTuple):
    """A name that the top level of a file binds by an unconditional import (or alias), and to what."""

    name: str
    target: str


class Fault(NamedTuple):
    """A part of a file that could not be read, and why."""

    span: Span
    message: str


class Parameter(NamedTuple):
    """A parameter, or a field of a dataclass or Flax module, by which somebody chooses a GELU.

    kind     flavour (``approximate``), activation (``act_layer``), settings (``config``) or module (a GELU to wrap)
    default  its default, if that is a literal (``literal``)
    fate     read; unread (nothing loads it, or calls the module); stored (only kept as the attribute ``held``, which
             nothing reads); or overwritten (``held``, of its name, is set to the literal ``text`` instead)
    waived   the text around it says that it is ignored
    """

    name: str
    kind: str
    span: Span
    statement: tuple[int, int]
    literal: bool
    default: Value
    fate: str
    held: str
    text: str
    waived: bool


class Def(NamedTuple):
    """A function or class whose callers choose a GELU, as far as the choice goes.

    kind        function, method, init, fields (of a dataclass or Flax module) or lambda
    symbol      its dotted name; ``owner`` is the name of the class around, ``rows`` and ``owner_rows`` are where they
                stand
    first       the name of its first parameter
    decorators  the last names of the decorators of a function
    known_base  the class derives from nothing that may read its attributes
    keys        what is read of its settings, in the class
    sight       key or none: whether the class of the settings, in this file, has a key for the activation; read if the
                file reads one elsewhere; away if the class comes from a file that nothing is known of; else ""
    calls       classes of the file that are made in the class (or function)
    approximates  an attribute such as ``.approximate`` is read in the class (or function)
    """

    kind: str
    symbol: str
    owner: str
    span: Span
    statement: tuple[int, int]
    rows: tuple[int, int]
    owner_rows: tuple[int, int]
    parameters: tuple[Parameter, ...]
    first: str
    decorators: tuple[str, ...]
    known_base: bool
    keys: tuple[str, ...]
    sight: str
    calls: tuple[str, ...]
    approximates: bool


class Swap(NamedTuple):
    """Something takes the place of a GELU.

    kind      patch (``subject`` is the public name that ``made`` is bound to), swap (``subject`` is what a branch has
              found to be a GELU, and ``made`` stands there) or helper (``made`` computes for the class ``subject``)
    made      what takes its place, as written; if this file defines it, ``rows`` says where and ``named`` is its name
    accepts   whether it takes the argument that chooses
    keeps     the choice of what it replaces is looked at
    """

    kind: str
    subject: str
    made: str
    span: Span
    statement: tuple[int, int]
    symbol: str
    rows: tuple[int, int]
    named: Span
    accepts: bool
    keeps: bool


class Entry(NamedTuple):
    """A key of some settings that has to do with an activation or with half precision, and its value.

    form        json, yaml or toml; in Python keyword (of a call), default (of a parameter), field (of a class), item
                (of a dict), option (of argparse) or lookup (in the table that ``key`` names); in a README prose (a
                statement, ``key`` is the heading above it) or mention (words that name another activation, or one that
                no statement is sure of)
    path        the keys (and places in lists, from 0) that lead to the mapping it stands in, outermost first
    value       its value, where that is a literal (``literal``)
    flavour     what a statement in prose says that the GELU is, "" where it says GELU and no more, and elsewhere
    group       the mapping that it stands in, by a number: entries of one mapping have the same
    registry    the table that the value is looked up in, "" where that is not known
    model_type  what the mapping says of its model family, or what the class that is called is for
    owner       the class that the settings are for or that is called: a name as written, "" where nothing says; of a
                dict that a call is given, the class that is called
    flow        the mapping is written in braces (in JSON always)
    key_span    where the key stands; ``span`` is where the value stands, quotes included
    quote       the quote around the value, "" for a bare word
    slot        where a key can be added to its mapping, None where that is not certain
    shared      other mappings hold the same value, as by merge keys and aliases of YAML: to change it changes them too
    slot        where a key can be added behind it, None where that is not known
    """

    form: str
    key: str
    path: tuple[str, ...]
    literal: bool
    value: Value
    flavour: str
    group: int
    registry: str
    model_type: str
    owner: str
    flow: bool
    key_span: Span
    span: Span
    quote: str
    symbol: str
    statement: tuple[int, int]
    slot: Slot | None = None
    shared: bool = False


class Section(NamedTuple):
    """A section of a README that is about the architecture, or (without a ``title``) all of the README.

    ``slot`` is where a statement can be added to it, with a heading where there is none, and None where it would not be
    read as one (behind a fence that is never closed); ``rows`` are those of its heading (of the first, for all of it).
    """

    title: str
    slot: Slot | None
    rows: tuple[int, int]


class Default(NamedTuple):
    """An activation that settings of a class have unless they are given another: the value of ``key``, at ``span``."""

    key: str
    value: str
    span: Span
    statement: tuple[int, int]


class Settings(NamedTuple):
    """A class of settings that a class with a GELU takes.

    name        the class; ``path`` is the file that defines it, "" for the file that it is a fact of
    pretrained  it derives from the configurations of transformers: a name of an activation means what it does there
    model_type  the family that it is for, "" where it does not say
    """

    name: str
    path: str
    pretrained: bool
    model_type: str
    defaults: tuple[Default, ...]


class Taker(NamedTuple):
    """A class with a GELU, or that mentions classes of its file with one, and what may configure it.

    name    the class, and ``rows`` where it stands
    makes   classes of this file that it mentions
    config  the parameter or field that takes its settings, "" where it has none
    of      the class of these, as its full name (relative ones begin with dots) or, of this file, its name; "" unknown
    reads   who asks settings for an activation: own (the class, one that it is made of, or a function of the file;
            of such a class nothing more is told), file (another class) or ""
    takes   it has a parameter that chooses an activation
    others  it, or a class that it is made of, has other activations, too
    """

    name: str
    rows: tuple[int, int]
    makes: tuple[str, ...]
    config: str
    of: str
    reads: str
    takes: bool
    others: bool
    model_type: str


class Load(NamedTuple):
    """A file of settings that code reads by a literal name, and the class of its file that is given what it holds.

    beside  the name is relative to the file of the code
    path    the keys of what is given, outermost first
    """

    file: str
    beside: bool
    taker: str
    path: tuple[str, ...]


class Comparison(NamedTuple):
    """A GELU is compared with something else that should compute the same, up to a tolerance.

    unit      what ``absolute`` is: tolerance, places or decimals (as in facts/comparing.py), or bound (on the largest
              difference)
    absolute  the value that is given, or its default; ``tolerance`` is what it comes to, beside the ``relative`` one
    either    the larger of both tolerances counts, not their sum
    spans     where ``absolute`` and ``relative`` stand as literals, None where they do not
    flavours  what is known of the flavours of the GELUs
    points    where it is compared with typed numbers, and ``numbers`` these: () where both sides are computed
    """

    written: str
    unit: str
    absolute: float
    tolerance: float
    relative: float
    either: bool
    spans: tuple[Span | None, Span | None]
    flavours: tuple[str, ...]
    points: tuple[float, ...]
    numbers: tuple[float, ...]
    span: Span
    symbol: str
    statement: tuple[int, int]


class Trial(NamedTuple):
    """A test of the gradient of a GELU.

    name     its own name; ``symbol`` is the dotted one
    inputs   literal (all points are typed), random (all are drawn) or "" where something else may be among them
    points   the points that are typed
    silent   nothing in it can fail but by an error
    passes   the functions that pass all that it asserts; () where that is not known
    fixture  it asks for the fixture of the pytest plugin
    """

    name: str
    inputs: str
    points: tuple[float, ...]
    silent: bool
    passes: tuple[str, ...]
    fixture: bool
    span: Span
    symbol: str
    statement: tuple[int, int]


class Loop(NamedTuple):
    """Where a file trains something: ``kind`` is torch, jax, tensorflow, keras, lightning or transformers."""

    kind: str
    written: str
    span: Span
    symbol: str
    statement: tuple[int, int]


class FileSummary(NamedTuple):
    """All that rules and fixes may know of one file.

    taken      every name that is bound anywhere in the file, at any level
    bound      names at hand at module level (imports that nothing rebinds)
    import_at  where a new import line goes: row (0: no place is safe), and the blank lines before and after it
    newline    the line end that most rows have
    joins      ranges of rows that flake8 reads as one line when it looks for a noqa
    watched    code of it names the spread of a GELU's output: gelu_output_std, or the monitor of this package
    exported   rows of statements that export to ONNX, told from the text alone, where training was asked for
    inner      its path from the root of its project, with slashes; "" where that is not known
    """

    path: str
    sites: tuple[Site, ...] = ()
    uses: tuple[Use, ...] = ()
    directives: tuple[Directive, ...] = ()
    bound: tuple[Bound, ...] = ()
    taken: tuple[str, ...] = ()
    import_at: tuple[int, int, int] = (1, 0, 0)
    newline: str = "\n"
    joins: tuple[tuple[int, int], ...] = ()
    faults: tuple[Fault, ...] = ()
    contexts: tuple[Context, ...] = ()
    held: tuple[Held, ...] = ()
    masks: tuple[Mask, ...] = ()
    choices: tuple[Choice, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    defs: tuple[Def, ...] = ()
    swaps: tuple[Swap, ...] = ()
    entries: tuple[Entry, ...] = ()
    sections: tuple[Section, ...] = ()
    takers: tuple[Taker, ...] = ()
    settings: tuple[Settings, ...] = ()
    loads: tuple[Load, ...] = ()
    exports: tuple[Export, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    trials: tuple[Trial, ...] = ()
    loops: tuple[Loop, ...] = ()
    watched: bool = False
    exported: tuple[int, ...] = ()
    inner: str = ""

    @property
    def place(self) -> str:
        """Where it lies in its project, as far as that is known: what the folders above are called says nothing."""
        return self.inner or self.path

    def placed(self, root: str) -> FileSummary:
        """The same as a file of the project at ``root``, "" where there is none."""
        if not root:
            return self
        return self._replace(inner=os.path.relpath(os.path.abspath(self.path), root).replace(os.sep, "/"))


class Requirement(NamedTuple):
    """A place where a project says which versions of a package it takes: floor ≤ version ≤ ceiling, < if ``open``.

    written  the requirement, which stands at ``span``
    bound    the one clause of it that sets the floor, and no more than that (">=1.8", "^1.8"), which stands at
             ``bound_span``; "" where there is no such clause
    """

    path: str
    written: str
    span: Span
    bound: str
    bound_span: Span
    floor: tuple[int, ...] | None
    ceiling: tuple[int, ...] | None
    open: bool


class Project(NamedTuple):
    """What the project decided and declared.

    ``anchors`` are the paths of the files that speak for all of it, by name, in a run that sees all of it: README,
    pyproject.toml, setup.cfg, setup.py. ``torch`` are the places that say which versions of torch it takes, in such a
    run, too.
    ``probed``: pytest is told there which models its plugin is to test.
    ``root`` is its directory, "" where that is not known.
    """

    policy: str = ""
    declared: tuple[tuple[str, tuple[int, ...] | None, tuple[int, ...] | None, bool], ...] = ()
    anchors: tuple[tuple[str, str], ...] = ()
    torch: tuple[Requirement, ...] = ()
    probed: bool = False
    root: str = ""

    def floor(self, package: str) -> tuple[int, ...] | None:
        """The lowest version of ``package`` that the project accepts, None where it does not say."""
        return next((low for name, low, _, _ in self.declared if name == package), None)

    def ceiling(self, package: str) -> tuple[tuple[int, ...] | None, bool]:
        """The highest version accepted, and whether that version itself is left out."""
        return next(((high, open_) for name, _, high, open_ in self.declared if name == package), (None, True))
