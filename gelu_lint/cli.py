"""The command line: the only place that reads argv, prints, writes files and decides exit codes."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import re
import sys
from collections import Counter

from gelu_lint import __version__
from gelu_lint.config import BadConfig, check_codes, did_you_mean, forget, marked_root, settings_for
from gelu_lint.options import OPTIONS, Option
from gelu_lint.runner import Outcome, Run, codes_at, in_force, run, run_text
from gelu_lint.source import Unreadable, decode, unified_patch, write

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

CLEAN, FINDINGS, FAILED = 0, 1, 2

_EXIT = """
exit codes: 0 nothing to report; 1 findings (fix: findings remain, fix --diff: something would change);
2 the job could not be done (bad option, missing path, broken configuration)
"""
_COMMANDS = {
    "check": "report findings",
    "fix": "apply fixes; plain `fix` applies those that change no value",
    "inventory": "list every GELU: where it is, which function, whether that is stated",
    "checklist": "go through the release checklist of a project: code, config, test, monitoring, deployment, docs",
    "plot": "draw the functions that go by the name GELU, or what is wrong with one",
    "probe": "run a model and list the activations that it really computes (needs torch)",
    "explain": "explain a rule",
    "rules": "list the rules",
    "config": "print the resolved settings and where each came from",
}


class _Parser(argparse.ArgumentParser):
    """argparse that hints at what was meant, and takes options between paths.

    Arguments go into ``words`` and ``options``: for one that is in no group argparse makes a help formatter, and loads
    what finds the terminal's width.
    """

    def __init__(self, **about: Any) -> None:
        shape = argparse.RawDescriptionHelpFormatter
        super().__init__(epilog=_EXIT, formatter_class=shape, add_help=False, **about)
        self.words = self.add_argument_group("positional arguments")
        self.options = self.add_argument_group("options")
        self.options.add_argument("-h", "--help", action="help", help="show this help message and exit")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Known arguments only: an unknown one is an error of the command that it was given to."""
        known, rest = super().parse_known_args(args, namespace)
        option = next((word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"), "")
        if option:
            self.error(f"no option {option}{did_you_mean(option, self._option_string_actions)}")
        if rest and not hasattr(known, "paths"):
            self.error(f"unexpected argument {rest[0]!r}")
        if rest:  # paths that follow an option
            known.paths += rest
        return known, []

    def error(self, message: str) -> NoReturn:
        hint = ""
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        if wrong:
            hint = did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2]))
            if not hint and "argument command" in message and os.path.exists(wrong[1]):
                hint = f" (did you mean `gelu-lint check {wrong[1]}`?)"
        self.exit(FAILED, f"{_plain(f'{self.prog}: {message}{hint}')}\n")


def _options(argv: Sequence[str]) -> dict[str, Any]:
    """The options by name, and the command. Only the parser of the command that is asked for is made, if one is."""
    if argv and argv[0] in _COMMANDS:
        parser = _Parser(prog=f"gelu-lint {argv[0]}", **_about(argv[0]))
        _teach(parser, argv[0])
        return {"command": argv[0], **vars(parser.parse_args(argv[1:]))}
    parser = _Parser(
        prog="gelu-lint", description="Which GELU is this? A linter and fixer for the GELU activation in model code."
    )
    parser.options.add_argument("--version", action="version", version=f"gelu-lint {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", parser_class=_Parser)
    for name, text in _COMMANDS.items():
        _teach(commands.add_parser(name, help=text, **_about(name)), name)
    options = vars(parser.parse_args(argv))
    if options["command"] is None:
        parser.error(f"a command is needed: {', '.join(_COMMANDS)}; `gelu-lint --help` says more")
    return options


def _about(command: str) -> dict[str, Any]:
    text = _COMMANDS[command]
    return {"description": f"{text[0].upper()}{text[1:]}.", "allow_abbrev": False}


def _teach(parser: _Parser, command: str) -> None:
    """Add what the command takes."""
    if command in ("check", "fix", "inventory"):
        text = 'files and directories (default: "."); "-" is standard input'
        parser.words.add_argument("paths", nargs="*", help=text)
    elif command == "checklist":
        parser.words.add_argument("path", nargs="?", default=".", help='directory of the project (default: ".")')
    elif command == "probe":
        text = "what builds the model: MODULE:FACTORY or FILE.py:FACTORY; it gives a model, or (model, inputs)"
        parser.words.add_argument("target", metavar="MODULE:FACTORY", help=text)
        parser.options.add_argument("--output-format", choices=("text", "json"), default="text")
    elif command == "explain":
        parser.words.add_argument("code", help="a code such as GEL001, or a rule's name")
    elif command == "rules":
        parser.options.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    for option in OPTIONS:
        if command in option.commands:
            _add(parser, option)


def _add(parser: _Parser, option: Option) -> None:
    flags: dict[str, Any] = {"help": option.help, "default": argparse.SUPPRESS, "dest": option.name}
    names = [f"-{option.short}"] * bool(option.short) + [f"--{option.name}"]
    if option.kind == "flag":
        action = argparse.BooleanOptionalAction if option.config else "store_true"
        parser.options.add_argument(*names, action=action, **flags)
        return
    if option.choices:
        flags["choices"] = option.choices
    else:
        flags["metavar"] = option.metavar
    kinds: dict[str, Callable[[str], object]] = {"codes": _codes, "list": _list, "integer": _count, "number": _delta}
    if option.kind in kinds:
        flags["type"] = kinds[option.kind]
    action = "extend" if option.kind in ("codes", "list") else "store"
    parser.options.add_argument(*names, action=action, **flags)


def _list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _codes(text: str) -> list[str]:
    return [item.upper() for item in _list(text)]


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _delta(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value


def entry() -> NoReturn:
    """The console script."""
    import gc

    gc.set_threshold(500_000)  # what a file leaves behind is small, and looking for it in all there is costs a tenth
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    if sys.stdout is None:
        _say("gelu-lint: standard output is closed")
        return FAILED
    for stream in (sys.stdout, sys.stderr):
        # Paths need not be valid text; what cannot be printed is escaped.
        try:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        except AttributeError:
            pass
    try:
        code = _command(_options(argv))
        sys.stdout.flush()
        return code
    except BadConfig as fault:
        _say(f"gelu-lint: {fault}")
        return FAILED
    except BrokenPipeError:
        # The reader has seen enough; keep Python from complaining while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except OSError as fault:
        # Standard streams that are closed or full, a working directory that is gone.
        try:
            _say(f"gelu-lint: {fault.strerror or fault}")
        except (OSError, ValueError, AttributeError):
            pass
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except KeyboardInterrupt:
        _say("gelu-lint: interrupted")
        return 130


def _command(options: dict[str, Any]) -> int:
    command = options.pop("command")
    if command == "explain":
        return _explain(options["code"])
    if command == "probe":
        return _probe(options["target"], options["output_format"])
    if command == "rules":
        from gelu_lint.explain import table
        from gelu_lint.registry import all_rules

        _print(table(all_rules(), options["output_format"]))
        return CLEAN
    if command == "plot":
        return _plot(options)
    overrides = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items() if k not in ("path", "paths")}
    if command == "checklist":
        return _checklist(options["path"], overrides)
    if command == "config":
        return _config(overrides)
    result, data = _run(options["paths"], overrides, command)
    for problem in (*result.problems, *result.notes):
        _say(f"gelu-lint: {problem}")
    if result.passed_over:
        kinds = ", ".join(sorted({os.path.splitext(name)[1].lower() for name in result.passed_over}))
        count = len(result.passed_over)
        _say(f"gelu-lint: {count} named file{'s' * (count != 1)} passed over: {kinds} files are not read yet")
    if command == "inventory":
        from gelu_lint.inventory import render

        _print(render(result, result.settings.values["output-format"]))
        skipped = [finding for outcome in result.outcomes for finding in outcome.findings]
        for finding in skipped:  # what could not be read: nothing else is judged here
            _say(f"gelu-lint: {finding.path}:{finding.span.row}: {finding.message}")
        return FAILED if result.problems else FINDINGS if skipped else CLEAN
    code = _fix(result, overrides, data) if command == "fix" else _check(result)
    return FAILED if result.problems else code


def _run(paths: list[str], overrides: dict[str, Any], command: str) -> tuple[Run, bytes | None]:
    """The run, and the bytes of standard input where that was read."""
    name = overrides.get("stdin-filename")
    if paths == ["-"] or (name and not paths):
        if sys.stdin is None:
            raise BadConfig("standard input is closed")
        data = sys.stdin.buffer.read()
        return run_text(name or "-", data, overrides, command), data
    if name or "-" in paths:
        raise BadConfig("standard input cannot be combined with other paths")
    return run(paths or ["."], overrides, command, _progress()), None


def _progress() -> Callable[[int, int], None]:
    """A counter on the terminal for long work, nothing anywhere else."""
    if sys.stderr is None or not sys.stderr.isatty():
        return lambda done, total: None

    def show(done: int, total: int) -> None:
        if total > 100 and (done % 20 == 0 or done == total):
            text = f"\r{done}/{total} files" if done < total else "\r" + " " * 30 + "\r"
            sys.stderr.write(text)
            sys.stderr.flush()

    return show


def _check(result: Run) -> int:
    if result.settings.values["statistics"]:
        _print(_statistics(result))
    elif result.files or result.outcomes or not result.problems:
        _render(result)
    return _verdict(result)


def _verdict(result: Run) -> int:
    """The exit code for the findings of a run, as --fail-on and --exit-zero have it."""
    values = result.settings.values
    if values["exit-zero"] or not result.outcomes:
        return CLEAN
    from gelu_lint.model import SEVERITIES

    lowest = SEVERITIES.index(values["fail-on"])
    failing = any(SEVERITIES.index(f.severity) >= lowest for outcome in result.outcomes for f in outcome.findings)
    return FINDINGS if failing else CLEAN


def _render(result: Run) -> None:
    _print(_report(result.settings.values["output-format"]).render(result, _colour()))


def _report(name: str) -> Any:
    return importlib.import_module(f"gelu_lint.reports.{name}")


def _colour() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _statistics(result: Run) -> Iterable[str]:
    from gelu_lint.registry import rule

    counts = Counter(finding.code for outcome in result.outcomes for finding in outcome.findings)
    fixable = Counter(f.code for outcome in result.outcomes for f in outcome.findings if f.fix and f.fix.safe)
    if result.settings.values["output-format"] == "json":
        import json

        yield json.dumps([{"code": c, "count": n, "safe_fixes": fixable[c]} for c, n in counts.most_common()], indent=2)
        return
    for code, count in counts.most_common():
        known = rule(code)
        safe = f"  [{fixable[code]} mended by plain fix]" if fixable[code] else ""
        yield f"{count:>6}  {code}  {known.name if known else ''}{safe}"


def _fix(result: Run, overrides: dict[str, Any], data: bytes | None) -> int:
    changed = [outcome for outcome in result.outcomes if outcome.text is not None]
    for outcome in result.outcomes:
        if outcome.reason:
            _say(f"gelu-lint: {outcome.path}: left as it is: {outcome.reason}")
    gone = sum(outcome.gone for outcome in changed)
    left = sum(len(outcome.findings) for outcome in result.outcomes)
    if overrides.get("diff"):
        for outcome in changed:
            _bytes(unified_patch(_relative(outcome.path), outcome.before, _after(outcome)))
        _say(f"Would fix {_counted(gone, len(changed))}; {left} would remain.")
        return FINDINGS if changed and not overrides.get("exit-zero") else CLEAN
    failed: list[Outcome] = []
    if data is not None:
        _bytes(_after(changed[0]) if changed else data)
        for line in _report("concise").render(result, False):
            _say(line)
    else:
        failed = [outcome for outcome in changed if not _write(outcome)]
        written = tuple(outcome for outcome in result.outcomes if outcome not in failed)
        _render(Run(written, result.files, result.problems, result.settings, result.passed_over, result.notes))
    back = sum(outcome.gone for outcome in failed)
    _say(f"Fixed {_counted(gone - back, len(changed) - len(failed))}; {left + back} remain.")
    return FAILED if failed else _verdict(result)


def _counted(findings: int, files: int) -> str:
    return f"{findings} finding{'s' * (findings != 1)} in {files} file{'s' * (files != 1)}"


def _after(outcome: Outcome) -> bytes:
    return decode(outcome.path, outcome.before).encode(outcome.text or "")


def _relative(path: str) -> str:
    """The path as a patch names it: like git, from the top of the work tree that we are in, else from here."""
    here = top = os.getcwd()
    while not os.path.lexists(os.path.join(top, ".git")) and top != os.path.dirname(top):
        top = os.path.dirname(top)
    start = top if os.path.lexists(os.path.join(top, ".git")) else here
    folder, name = os.path.split(path)
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), start).replace(os.sep, "/")


def _bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def _write(outcome: Outcome) -> bool:
    try:
        write(decode(outcome.path, outcome.before), outcome.text or "")
    except Unreadable as fault:
        _say(f"gelu-lint: {outcome.path}: not written: {fault.message}")
        return False
    return True


def _checklist(path: str, overrides: dict[str, Any]) -> int:
    from gelu_lint.checklist import FAIL, PROSE, asked_for, render, verdicts
    from gelu_lint.reports.text import plural

    mend = overrides.pop("fix", False)
    if not os.path.isdir(path):
        what = "not a directory" if os.path.exists(path) else "no such directory"
        raise BadConfig(f"{path}: {what}; a checklist is of a whole project")
    forget()
    root = marked_root(path)
    if root and root != os.path.abspath(path):
        raise BadConfig(f"{path}: a part of the project in {root}; `gelu-lint checklist {root}` looks at all of it")
    settings = settings_for(path, overrides)
    ignored = settings.codes("ignore")
    extended = (*settings.codes("extend-select"), *(code for code in asked_for() if not code.startswith(ignored)))
    if mend:
        gone = _mended(path, {**overrides, "extend-select": extended, "ignore": (*ignored, "GEL9")})
        gone += _mended(path, {**overrides, "select": (PROSE,), "extend-select": (), "unsafe-fixes": True})
    overrides["extend-select"] = extended
    result = run([path], overrides, "check", _progress())
    for problem in result.problems:
        _say(f"gelu-lint: {problem}")
    own = [summary for summary in result.summaries if _belongs(summary.path, path)]
    findings = [f for outcome in result.outcomes if _belongs(outcome.path, path) for f in outcome.findings]
    found = verdicts(own, findings, functools.partial(codes_at, path, overrides), path)
    output = settings.values["output-format"]
    _print(render(found, output, _colour() and output != "json", not _can_print("✔✘–")))
    below = {marked_root(os.path.dirname(summary.path) or ".") for summary in result.summaries if summary not in own}
    if below:
        shown = ", ".join(sorted(os.path.relpath(other) for other in below))
        _say(f"Projects below have checklists of their own: {shown}.")
    failing = [verdict.layer for verdict in found if verdict.state == FAIL]
    if mend:
        _say(f"Fixed {plural(gone, 'finding')}; left: {', '.join(failing) or 'nothing'}.")
    return FAILED if result.problems else FINDINGS if failing else CLEAN


def _belongs(name: str, path: str) -> bool:
    """Whether a file is of the project in a directory, and not of another one below it."""
    return marked_root(os.path.dirname(name) or ".") == marked_root(path)


def _mended(path: str, overrides: dict[str, Any]) -> int:
    """How many findings of a project are gone once the fixes are written."""
    outcomes = [o for o in run([path], overrides, "fix", _progress()).outcomes if _belongs(o.path, path)]
    for outcome in outcomes:
        if outcome.reason:
            _say(f"gelu-lint: {outcome.path}: left as it is: {outcome.reason}")
    return sum(outcome.gone for outcome in outcomes if outcome.text is not None and _write(outcome))


def _can_print(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _plot(options: dict[str, Any]) -> int:
    from gelu_lint.runtime import lookup, plots
    from gelu_lint.runtime.canvas import NoMatplotlib, Unwritable, encoded, format_of, save

    path, place = options.get("output", "gelu.png"), options.get("finding")
    if place is not None and "errors" in options:
        raise BadConfig("--errors and --finding are two pictures; ask for one")
    try:
        form = "png" if path == "-" else format_of(path)
        if place is not None:
            found = lookup.find(place)
            made = plots.against(found.function, found.wanted, title=found.title, slope=found.slope)
        else:
            made = plots.errors() if "errors" in options else plots.flavours()
        if path == "-":
            _bytes(encoded(made, form))
        else:
            save(made, path)
            _say(f"gelu-lint: wrote {path}")
    except (NoMatplotlib, Unwritable, lookup.NothingThere) as fault:
        raise BadConfig(str(fault)) from fault
    return CLEAN


def _probe(target: str, output: str) -> int:
    import contextlib
    import json

    from gelu_lint.runtime.factory import FactoryError, load

    with contextlib.redirect_stdout(sys.stderr):  # standard output is for results: code that is run may print
        try:
            built = load(target)
        except FactoryError as fault:
            raise BadConfig(str(fault)) from fault
        from gelu_lint.runtime.probe import ProbeError, probe  # now torch is known to be there

        try:
            report = probe(built.model, *built.args, **built.kwargs)
        except ProbeError as fault:
            raise BadConfig(f"{target}: {fault}") from fault
    if not built.has_inputs and not report.activations:
        raise BadConfig(
            f"{target}: without inputs only activation modules are seen, and it has none: write a factory that returns "
            "the model and its inputs, such as `return Model(), torch.randn(2, 8)`"
        )
    for note in report.notes:
        _say(f"gelu-lint: {target}: {note}")
    _print([json.dumps(report.rows(), indent=2)] if output == "json" else [report.text()])
    return FINDINGS if report.problems else CLEAN


def _explain(code: str) -> int:
    from gelu_lint.explain import explain
    from gelu_lint.registry import all_rules, rule

    found = rule(code)
    if found is None:
        names = [name for known in all_rules() for name in (known.code, known.name)]
        family = [known.code for known in all_rules() if known.code.startswith(code.upper())]
        if code and family:
            raise BadConfig(f"{code} is a prefix of {', '.join(family)}; explain one of these")
        raise BadConfig(f"no rule {code!r}{did_you_mean(code, names)}; `gelu-lint rules` lists them")
    _print(explain(found))
    return CLEAN


def _config(overrides: dict[str, Any]) -> int:
    import json

    from gelu_lint.registry import all_codes

    forget()
    settings = settings_for(".", overrides)
    check_codes(settings, all_codes())
    for option in OPTIONS:
        if option.config:
            value = settings.values[option.name]
            value = list(value) if isinstance(value, tuple) else value
            _print([f"{option.name} = {json.dumps(value)}  # {settings.origin.get(option.name, 'default')}"])
    codes, floor = in_force(settings)
    _print([f"# rules that run: {', '.join(codes)}"])
    if floor:
        _print([f"# oldest torch: {floor}"])
    return CLEAN


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _say(message: str) -> None:
    if sys.stderr is None:
        return
    print(_plain(message), file=sys.stderr)


def _plain(message: str) -> str:
    from gelu_lint.reports.text import printable

    return printable(message)
