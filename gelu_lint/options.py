"""Every option in one table: a new option is one row here, and one field of Settings where the run needs it."""

from __future__ import annotations

import os

from gelu_lint.discover import DEFAULT_EXCLUDE

FLAVOURS_OF_POLICY = {"none": "erf", "tanh": "tanh"}


_REPORTS = os.path.join(os.path.dirname(__file__), "reports")

#: A report format is a file in ``reports/``.
FORMATS = tuple(sorted({entry.split(".")[0] for entry in os.listdir(_REPORTS) if not entry.startswith("_")}))


class Option:
    """One option.

    kind      codes, list, flag, choice, text, integer, number, version or table (of lists, config only)
    config    whether [tool.gelu-lint] takes it; ``commands`` are the commands that take it as --name
    short     the letter that commands take for it, too
    """

    def __init__(
        self,
        name: str,
        kind: str,
        default: object,
        help: str,
        commands: tuple[str, ...] = (),
        config: bool = True,
        choices: tuple[str, ...] = (),
        metavar: str = "",
        short: str = "",
    ) -> None:
        self.name, self.kind, self.default, self.help = name, kind, default, help
        self.commands, self.config, self.choices, self.metavar = commands, config, choices, metavar
        self.short = short


_LINT = ("check", "fix")
_READ = ("check", "fix", "inventory", "checklist")
_TEXT = ("check", "fix", "inventory")
_FACTS = ("check", "inventory", "checklist")

OPTIONS = (
    Option("select", "codes", (), "codes or prefixes to run; GEL means all, opt-in rules too", _LINT, metavar="CODES"),
    Option("extend-select", "codes", (), "codes or prefixes to run beside the selection", _LINT, metavar="CODES"),
    Option("ignore", "codes", (), "codes or prefixes to leave out", _LINT, metavar="CODES"),
    Option("per-file-ignores", "table", {}, 'path patterns and the codes to leave out there: {"tests/*" = ["GEL001"]}'),
    Option("approximate", "choice", "", "the flavour that the project decided on", choices=("none", "tanh")),
    Option("min-torch", "version", "", "oldest torch to support; else what the project's dependencies declare"),
    Option("exclude", "list", DEFAULT_EXCLUDE, "path patterns to skip, instead of the default ones", _READ,
           metavar="PATTERNS"),
    Option("extend-exclude", "list", (), "path patterns to skip beside those", _READ, metavar="PATTERNS"),
    Option("force-exclude", "flag", False, "apply exclusions to files named on the command line too", _READ),
    Option("respect-gitignore", "flag", True, "skip what git ignores", _READ),
    Option("max-file-size", "integer", 2_000_000, "skip larger files, in bytes", _READ, metavar="BYTES"),
    Option("output-format", "choice", "text", "how to print", _READ, choices=FORMATS),
    Option("fail-on", "choice", "info", "lowest severity that makes the exit code 1", _LINT,
           choices=("info", "warning", "error")),
    Option("exit-zero", "flag", False, "exit with 0 even if there are findings", _LINT, config=False),
    Option("statistics", "flag", False, "print counts by code instead of findings", ("check",), config=False),
    Option("diff", "flag", False, "print a patch instead of writing files", ("fix",), config=False),
    Option("allow-delta", "number", 0.0, "apply local fixes that change values by at most this much", ("fix",),
           config=False, metavar="D"),
    Option("unsafe-fixes", "flag", False, "apply every fix, whatever it changes", ("fix",), config=False),
    Option("fix", "flag", False, "mend what changes no value, and say in the README which GELU it is", ("checklist",),
           config=False),
    Option("stdin-filename", "text", "", "read standard input, as the file of this name", _TEXT, config=False,
           metavar="FILE"),
    Option("cache", "flag", True, "remember what is found in directories from run to run", _FACTS),
    Option("cache-dir", "text", ".gelu_lint_cache", "where to remember it, below the project's root", _FACTS,
           metavar="DIR"),
    Option("jobs", "integer", 0, "worker processes; 0 means one a core", _READ, config=False, metavar="N"),
    Option("config", "text", "", "read this pyproject.toml instead of the nearest one", (*_READ, "config"),
           config=False, metavar="FILE"),
    Option("output", "text", "gelu.png", 'the picture to write, .png or .svg; "-" is standard output, as PNG',
           ("plot",), config=False, metavar="FILE", short="o"),
    Option("errors", "flag", False, "draw how far tanh, quick and SiLU are from erf", ("plot",), config=False),
    Option("finding", "text", "", "draw the function that is found at FILE:LINE, and the one that it should be",
           ("plot",), config=False, metavar="FILE:LINE"),
    Option("isolated", "flag", False, "ignore every pyproject.toml", (*_READ, "config"), config=False),
)  # fmt: skip
