"""Fixing: what is written compiles, says the same but for what was asked, and leaves every other byte as it was."""

from __future__ import annotations

import ast
import io
import re
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint import fixer
from gelu_lint.fixer import Fixed, apply, fix
from gelu_lint.imports import import_edit, reach
from gelu_lint.model import Bound, Edit, FileSummary, Finding, Fix, Need, Project, Span
from gelu_lint.registry import enabled
from gelu_lint.source import decode

ALL = enabled(("GEL",), (), ())
CODES = ("GEL001", "GEL005")  # one writes an argument, the other wraps in a partial and needs an import
HEAD = "from functools import partial\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def mend(code: str | bytes, codes=CODES, delta: float = 0.0, unsafe: bool = True, policy: str = "") -> Fixed:
    data = code if isinstance(code, bytes) else code.encode()
    return fix(decode("m.py", data), Project(policy), codes, delta, unsafe)


class Undo(ast.NodeTransformer):
    """Takes out what the two fixes write: the argument, the partial around a reference, and the import."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = ast.unparse(node.func)
        written = [k for k in node.keywords if k.arg == "approximate" and ast.unparse(k.value) == "'none'"]
        if called in ("partial", "functools.partial") and len(node.args) == 1 and node.keywords == written:
            return node.args[0]
        node.keywords = [k for k in node.keywords if k not in written]
        return node


def meaning(code: str) -> str:
    tree = Undo().visit(ast.parse(code))
    tree.body = [n for n in tree.body if ast.unparse(n) not in ("from functools import partial", "import functools")]
    return ast.dump(tree)


def is_subsequence(old: str, new: str) -> bool:
    rest = iter(new)
    return all(character in rest for character in old)


def comments(code: str) -> list[str]:
    stream = tokenize.generate_tokens(io.StringIO(code).readline)
    return [t.string for t in stream if t.type == tokenize.COMMENT]


def holds(code: str) -> str:
    """Fixes ``code`` and checks what is true of every fix; the new text."""
    done = mend(code)
    assert done.reason == ""
    assert meaning(done.text) == meaning(code)
    assert is_subsequence(code, done.text)
    assert comments(done.text) == comments(code)
    again = mend(done.text)
    assert (again.text, again.gone) == (done.text, 0)
    assert sum(f.fix is not None for f in done.left) == 0
    return done.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("F.gelu(x)", 'F.gelu(x, approximate="none")'),
        ("F.gelu(x,)", 'F.gelu(x, approximate="none",)'),
        ("F.gelu( x )", 'F.gelu( x, approximate="none" )'),
        ("F.gelu(x , )", 'F.gelu(x , approximate="none", )'),
        ("F.gelu((x))", 'F.gelu((x), approximate="none")'),
        ("(F.gelu)(x)", '(F.gelu)(x, approximate="none")'),
        ("F . gelu (x)", 'F . gelu (x, approximate="none")'),
        ("nn.GELU()", 'nn.GELU(approximate="none")'),
        ("nn.GELU( )", 'nn.GELU(approximate="none" )'),
        ("nn.GELU(\n)", 'nn.GELU(approximate="none"\n)'),
        ("nn.GELU(  # why\n)", 'nn.GELU(approximate="none"  # why\n)'),
        ("F.gelu(F.gelu(x))", 'F.gelu(F.gelu(x, approximate="none"), approximate="none")'),
        ("F.gelu(F.gelu(F.gelu(x)))", "F.gelu(F.gelu(F.gelu(x{0}){0}){0})".format(', approximate="none"')),
        ("F.gelu(x) + F.gelu(y)", 'F.gelu(x, approximate="none") + F.gelu(y, approximate="none")'),
        ("F.gelu(*args)", 'F.gelu(*args, approximate="none")'),
        ("F.gelu(input=x)", 'F.gelu(input=x, approximate="none")'),
        ("F.gelu((i for i in x))", 'F.gelu((i for i in x), approximate="none")'),
        ("F.gelu([i for i in x])", 'F.gelu([i for i in x], approximate="none")'),
        ("F.gelu(lambda: x)", 'F.gelu(lambda: x, approximate="none")'),
        ("F.gelu(y := x)", 'F.gelu(y := x, approximate="none")'),
        ("F.gelu(\n    x\n)", 'F.gelu(\n    x,\n    approximate="none"\n)'),
        ("F.gelu(\n    x,\n)", 'F.gelu(\n    x,\n    approximate="none",\n)'),
        ("F.gelu(\n    x  # in\n)", 'F.gelu(\n    x, approximate="none"  # in\n)'),
        ("F.gelu(\n    x,  # in\n)", 'F.gelu(\n    x,  # in\n    approximate="none",\n)'),
        ("F.gelu(\n    x,  # in\n    # last\n)", 'F.gelu(\n    x,  # in\n    approximate="none",\n    # last\n)'),
        ("F.gelu(x\n)", 'F.gelu(x, approximate="none"\n)'),
        ("F.gelu(x,\n)", 'F.gelu(x, approximate="none",\n)'),
        ("F.gelu(x  # in\n)", 'F.gelu(x, approximate="none"  # in\n)'),
        ("F.gelu(\n\tx,\n)", 'F.gelu(\n\tx,\n\tapproximate="none",\n)'),
        ("F.gelu(x \\\n)", 'F.gelu(x, approximate="none" \\\n)'),
        ("F.gelu(\n    '''a\nb''',\n)", "F.gelu(\n    '''a\nb''',\n    approximate=\"none\",\n)"),
        ("f(act=nn.GELU)", 'f(act=partial(nn.GELU, approximate="none"))'),
        ("Mlp(nn.GELU, F.gelu)", 'Mlp(partial(nn.GELU, approximate="none"), partial(F.gelu, approximate="none"))'),
        ("f(act=(nn.GELU))", 'f(act=(partial(nn.GELU, approximate="none")))'),
        ("partial(nn.GELU)", 'partial(nn.GELU, approximate="none")'),
        ("f(act=nn.GELU, x=F.gelu(x))", 'f(act=partial(nn.GELU, approximate="none"), x=F.gelu(x, approximate="none"))'),
        ("lambda act=nn.GELU: act", 'lambda act=partial(nn.GELU, approximate="none"): act'),
        ('f"{F.gelu(x)}"', "f\"{F.gelu(x, approximate='none')}\""),
        ("f'{F.gelu(x)}'", "f'{F.gelu(x, approximate=\"none\")}'"),
        ('rf"""{F.gelu(x)!r:>{n}}"""', 'rf"""{F.gelu(x, approximate=\'none\')!r:>{n}}"""'),
        ("f'''{F.gelu(x)}'''", "f'''{F.gelu(x, approximate=\"none\")}'''"),
        ('f"""{f\'{F.gelu(x)}\'}"""', 'f"""{f\'{F.gelu(x, approximate="none")}\'}"""'),
        ("f'''{f\"{F.gelu(x)}\"}'''", "f'''{f\"{F.gelu(x, approximate='none')}\"}'''"),
        ("f'{g(act=nn.GELU)}'", "f'{g(act=partial(nn.GELU, approximate=\"none\"))}'"),
    ],
)
def test_what_is_written_where(old: str, new: str) -> None:
    assert holds(f"{HEAD}y = {old}\n") == f"{HEAD}y = {new}\n"


@pytest.mark.parametrize(
    "code",
    [
        "F.gelu(i for i in x)",  # no further argument may follow it
        "F.gelu(**x)",
        "nn.GELU(*x)",
        "partial(nn.GELU, **x)",
        "f'{f\"{F.gelu(x)}\"}'",  # no quote is free
        'F.gelu(x, approximate="none")',
        'nn.GELU("tanh")',
        "isinstance(x, nn.GELU)",
    ],
)
def test_what_is_left_alone(code: str) -> None:
    assert mend(f"{HEAD}y = {code}\n").text == f"{HEAD}y = {code}\n"


def test_no_quote_is_free() -> None:
    """Valid from Python 3.12 on; before, the file is left as it was."""
    code = f"{HEAD}y = f'{{f\"{{g(act=nn.GELU)}}\"}}'\n"
    compile(mend(code).text, "m.py", "exec")


def test_strings_take_the_quote_of_the_file() -> None:
    assert "approximate='none'" in mend(f"{HEAD}a = 'a'\nb = nn.GELU()\n").text
    assert 'approximate="none"' in mend(f'{HEAD}a = "a"\nb = nn.GELU()\n').text


CALLS = st.recursive(
    st.sampled_from(["x", "nn.GELU()", "g(nn.GELU)", "nn.GELU(\n)", "(i for i in x)", "'#'", "partial(F.gelu)"]),
    lambda inner: st.builds(
        lambda form, argument: form.format(argument),
        st.sampled_from(
            ["F.gelu({})", "F.gelu({},)", "F.gelu( {} )", "F.gelu(\n    {},\n    )",
             "F.gelu(\n        {}  # in\n    )",
             "F.gelu(  # open\n        {},  # in\n    )", "f(act=F.gelu, x={})", "[{}, nn.GELU()]",
             "(lambda a=F.gelu: {})", "F.gelu(*{})"]
        ),
        inner,
    ),
    max_leaves=4,
)  # fmt: skip
STATEMENTS = st.builds(
    lambda form, call: form.format(call),
    st.sampled_from(
        ["y = {}  # why\n", "class A(B):\n    act = F.gelu  # é\n    y = {}\n",
         "def f(a=nn.GELU, *b):\n    return {}\n",
         "if {}:  # 😀\n    pass\n", "y = {}; z = nn.GELU()\n", "with {} as y:\n\tz = F.gelu(y)\n", "\n", "# note\n"]
    ),
    CALLS,
)  # fmt: skip
HEADS = st.sampled_from(
    [HEAD, HEAD.partition("\n")[2], '"""Doc."""\n\n' + HEAD.partition("\n")[2], "#!x\n# coding: utf-8\n" + HEAD,
     "from __future__ import annotations\n" + HEAD.partition("\n")[2]]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(HEADS, st.lists(STATEMENTS, min_size=1, max_size=4))
def test_fixing_changes_nothing_but_what_it_says(head: str, body: list[str]) -> None:
    text = holds(head + "".join(body))
    assert not re.search(r"nn\.GELU\(\s*\)", text)


# --- Bytes -------------------------------------------------------------------------------------------------------


def test_line_ends_mark_and_encoding_stay() -> None:
    code = HEAD.partition("\n")[2] + "f(  # é\n    act=nn.GELU,\n)\ny = F.gelu(\n    x,\n)"
    want = mend(code).text
    assert want.startswith("from functools import partial\n") and not want.endswith("\n")
    assert mend(code.replace("\n", "\r\n")).text == want.replace("\n", "\r\n")
    for mark, encoding, cookie in (
        (b"\xef\xbb\xbf", "utf-8", ""),
        (b"", "latin-1", "# -*- coding: latin-1 -*-\n"),
        (b"", "cp1252", "# coding=cp1252\n"),
    ):
        source = decode("m.py", mark + (cookie + code).encode(encoding))
        assert source.encode(fix(source, Project(), CODES, 0.0, True).text) == mark + (cookie + want).encode(encoding)


def test_mixed_line_ends_stay_as_they_are() -> None:
    code = "import torch.nn.functional as F\r\nx = 1\ny = F.gelu(x)\r\nz = F.gelu(\r\n    x,\r\n)\n"
    assert mend(code).text == code.replace("(x)", '(x, approximate="none")').replace(
        "    x,\r\n", '    x,\r\n    approximate="none",\r\n'
    )


# --- Imports -----------------------------------------------------------------------------------------------------

USE = "f(act=nn.GELU)\n"
NN = "from torch import nn\n"
NEW = "from functools import partial\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NN, NEW + "\n" + NN),
        (f"'''Doc.'''\n{NN}", f"'''Doc.'''\n{NEW}\n{NN}"),
        (f"'''Doc.\n\nMore.\n'''\n\n{NN}", f"'''Doc.\n\nMore.\n'''\n\n{NEW}\n{NN}"),
        (f"# Header.\n\n{NN}", f"# Header.\n\n{NEW}\n{NN}"),
        (f"#!/usr/bin/env python\n# coding: utf-8\n{NN}", f"#!/usr/bin/env python\n# coding: utf-8\n{NEW}\n{NN}"),
        (f"from __future__ import annotations\n{NN}", f"from __future__ import annotations\n{NEW}\n{NN}"),
        (
            f"'''Doc.'''\nfrom __future__ import annotations\n\nimport os\n{NN}",
            f"'''Doc.'''\nfrom __future__ import annotations\n\n{NEW}import os\n{NN}",
        ),
        (f"import os\nx = 1\n{NN}", f"{NEW}import os\nx = 1\n{NN}"),
        (f"'''Doc.'''\nx = 1\n{NN}", f"'''Doc.'''\n\n{NEW}\nx = 1\n{NN}"),
        (f"if X:\n    import os\n{NN}", f"{NEW}\nif X:\n    import os\n{NN}"),
        ("try:\n    from torch import nn\nexcept ImportError:\n    nn = None\n",
         f"{NEW}\ntry:\n    from torch import nn\nexcept ImportError:\n    nn = None\n"),
        ("from __future__ import annotations\nif X:\n    import os\nimport torch.nn as nn\n",
         f"from __future__ import annotations\n\n{NEW}\nif X:\n    import os\nimport torch.nn as nn\n"),
        (f"import os; x = 1\n{NN}", f"{NEW}import os; x = 1\n{NN}"),
        (f"import (\\\n    os)\n{NN}".replace("(\\\n    os)", "os, \\\n    sys"), f"{NEW}import os, \\\n    sys\n{NN}"),
    ],
)  # fmt: skip
def test_import_goes_after_docstring_and_future_and_before_use(before: str, after: str) -> None:
    want = after + USE.replace("nn.GELU", 'partial(nn.GELU, approximate="none")')
    text = mend(before + USE).text
    compile(text, "m.py", "exec")
    assert text == want
    assert ast.get_docstring(ast.parse(text)) == ast.get_docstring(ast.parse(before))


def test_one_import_serves_all() -> None:
    head = NN + "import torch.nn.functional as F\n"
    text = mend(head + "f(act=nn.GELU)\ng(act=F.gelu)\nclass A:\n    act = F.gelu\n").text
    assert text.count("import partial") == 1
    assert text.count("partial(") == 3


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("from functools import partial\n", "partial("),
        ("from functools import partial as p\n", "p("),
        ("import functools\n", "functools.partial("),
        ("import functools as ft\n", "ft.partial("),
        ("def partial(f): ...\n", "functools.partial("),
        ("def g():\n    partial = 1\n", "functools.partial("),
        ("def g(partial): ...\n", "functools.partial("),
        ("g = lambda partial: 1\n", "functools.partial("),
        ("g = [partial for partial in x]\n", "functools.partial("),
        ("from mine import partial\n", "functools.partial("),
        ("if X:\n    from mine import partial\nelse:\n    from functools import partial\n", "functools.partial("),
        ("def g():\n    from mine import partial\n", "functools.partial("),
        ("functools = 1\n", "partial("),
        ("from functools import partial\ndef g(partial): ...\n", "functools.partial("),
        ("from functools import partial\ndel partial\n", "functools.partial("),
    ],
)
def test_a_name_is_used_only_where_it_means_the_function(head: str, name: str) -> None:
    text = mend(head + NN + USE).text
    assert f"act={name}nn.GELU" in text
    # It runs, with everything that the file does around it.
    seen = {}
    given = {"f": lambda act: seen.update(act=act), "X": True, "x": ()}
    stubs = "import sys, types\nsys.modules['mine'] = types.SimpleNamespace(partial=None)\n"
    exec(compile(stubs + text, "m.py", "exec"), given)
    assert seen["act"].keywords == {"approximate": "none"}
    __import__("sys").modules.pop("mine")


def test_no_fix_where_every_name_is_taken() -> None:
    code = NN + "def g(partial, functools): ...\n" + USE
    assert mend(code).text == code


def test_an_import_below_the_use_is_not_relied_on() -> None:
    text = mend(NN + USE + "from functools import partial\n").text
    exec(compile(text, "m.py", "exec"), {"f": lambda act: act})


def test_reach() -> None:
    empty = FileSummary("m.py")
    gelu, sqrt = "torch.nn.functional.gelu", "math.sqrt"
    assert reach(empty, gelu) == ("F.gelu", (Need("torch.nn.functional", alias="F"),))
    assert reach(empty, sqrt) == ("math.sqrt", (Need("math"),))
    assert reach(empty._replace(taken=("F",)), gelu) == ("gelu", (Need("torch.nn.functional", "gelu"),))
    assert reach(empty._replace(taken=("math",)), sqrt) == ("sqrt", (Need("math", "sqrt"),))
    taken = empty._replace(taken=("F", "gelu"))
    assert reach(taken, gelu) == ("torch.nn.functional.gelu", (Need("torch.nn.functional"),))
    assert reach(taken._replace(taken=("F", "gelu", "torch")), gelu) is None
    assert reach(taken._replace(bound=(Bound("t", "torch"),)), gelu) == ("t.nn.functional.gelu", ())
    assert reach(empty._replace(bound=(Bound("F", "mine.F"),)), gelu)[0] == "gelu"


def test_import_edit_is_one_edit_with_each_line_once() -> None:
    file = FileSummary("m.py", import_at=(3, 1, 1), newline="\r\n")
    needs = (Need("b", "c"), Need("a"), Need("b", "c"), Need("d", alias="e"))
    want = Edit(Span(3, 0, 3, 0), "\r\nimport a\r\nimport d as e\r\nfrom b import c\r\n\r\n")
    assert import_edit(file, needs) == want
    assert import_edit(file, ()) is None


# --- Which fixes, and how often -----------------------------------------------------------------------------------


def test_delta_and_reach_decide() -> None:
    local = Fix("", (Edit(Span(1, 0, 1, 0), ""),))
    changing, unbounded = local._replace(delta=4e-4), local._replace(delta=None)
    interface = local._replace(reach="interface")
    assert [f.safe for f in (local, changing, unbounded, interface)] == [True, False, False, False]
    assert [f.allowed(0.0, False) for f in (local, changing, unbounded, interface)] == [True, False, False, False]
    assert [f.allowed(5e-4, False) for f in (local, changing, unbounded, interface)] == [True, True, False, False]
    assert [f.allowed(3e-4, False) for f in (local, changing, unbounded, interface)] == [True, False, False, False]
    assert all(f.allowed(0.0, True) for f in (local, changing, unbounded, interface))


def test_policy_is_written_only_with_leave_to_change_values() -> None:
    code = HEAD + "a = nn.GELU()\n"
    assert mend(code, delta=0.0, unsafe=False, policy="tanh").text == code
    assert 'approximate="tanh"' in mend(code, delta=5e-4, unsafe=False, policy="tanh").text
    assert 'approximate="tanh"' in mend(code, unsafe=True, policy="tanh").text
    assert 'approximate="none"' in mend(code, unsafe=False, policy="erf").text


def test_interface_changes_need_unsafe() -> None:
    code = HEAD + USE + "a = nn.GELU()\n"
    done = mend(code, unsafe=False)
    assert done.text == code.replace("GELU()", 'GELU(approximate="none")')
    assert (done.gone, [f.code for f in done.left]) == (1, ["GEL005"])


def test_counts_only_what_is_gone() -> None:
    done = mend(HEAD + "a = nn.GELU()\nb = F.gelu(i for i in x)\nc = F.gelu(F.gelu(x))\n")
    assert done.gone == 3
    assert [(f.code, f.span.row) for f in done.left] == [("GEL001", 6)]
    assert mend(HEAD).gone == 0


def summary_of(source, complete=False, arrivals=()) -> FileSummary:
    return FileSummary(source.path)


def finding(edits: tuple[Edit, ...], needs: tuple[Need, ...] = (), row: int = 1) -> Finding:
    return Finding("GEL001", "m.py", Span(row, 0, row, 1), "", "info", Fix("", edits, needs))


def insert(column: int, text: str, end: int | None = None) -> Edit:
    return Edit(Span(1, column, 1, column if end is None else end), text)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (insert(0, "<"), insert(1, ">"), True),
        (insert(1, "<"), insert(1, ">"), False),  # the same place
        (insert(0, "<", 2), insert(2, ">"), False),  # touches its end
        (insert(2, "<"), insert(0, ">", 2), False),
        (insert(0, "<", 3), insert(1, ">", 2), False),  # inside
        (insert(0, "<", 2), insert(1, ">", 3), False),  # overlaps
        (insert(0, "<", 1), insert(2, ">", 3), True),
    ],
)
def test_edits_that_overlap_or_touch_wait(monkeypatch, first: Edit, second: Edit, both: bool) -> None:
    rounds = []

    def judge(summary: FileSummary, project: Project, codes, across=None) -> list[Finding]:
        rounds.append(1)
        return [finding((first,)), finding((second,))] if len(rounds) <= 2 else []

    monkeypatch.setattr(fixer, "summarise", summary_of)
    monkeypatch.setattr(fixer, "judge", judge)
    source = decode("m.py", b"# abcdef\n")
    wanted = apply(source, (first, second) if both else (first,))
    monkeypatch.setattr(fixer, "_compiles", lambda text: True)
    assert fix(source, Project(), CODES, 0.0, False).text == wanted


def test_a_fix_is_applied_as_a_whole_or_not_at_all(monkeypatch) -> None:
    found = [finding((insert(2, "a"),)), finding((insert(5, "b"), insert(2, "c")))]
    answers = [found, found, []]
    monkeypatch.setattr(fixer, "summarise", summary_of)
    monkeypatch.setattr(fixer, "judge", lambda *given, across=None: answers.pop(0))
    assert fix(decode("m.py", b"# xyzt\n"), Project(), CODES, 0.0, False).text == "# axyzt\n"


def test_ten_rounds_at_most(monkeypatch) -> None:
    monkeypatch.setattr(fixer, "summarise", summary_of)
    monkeypatch.setattr(fixer, "judge", lambda *given, across=None: [finding((insert(1, "#"),))])
    done = fix(decode("m.py", b"#\n"), Project(), CODES, 0.0, False)
    assert done.text == "#" * 11 + "\n"
    assert done.gone == 0


def test_text_that_would_not_compile_is_never_written(monkeypatch) -> None:
    monkeypatch.setattr(fixer, "judge", lambda *given, across=None: [finding((insert(0, "f'{f'{1}' '}"),))])
    code = "x = 1\n"
    done = fix(decode("m.py", code.encode()), Project(), CODES, 0.0, True)
    assert (done.text, done.gone) == (code, 0)
    assert "would not parse" in done.reason


@pytest.mark.parametrize("broken", ["def f(:\n", "print 'x'\n", "x = (\n", "'''\n", "\tx\n  y\n"])
def test_a_file_that_does_not_parse_is_left_as_it_is(broken: str) -> None:
    code = HEAD + "a = nn.GELU()\n" + broken
    done = mend(code, ALL)
    assert (done.text, done.gone) == (code, 0)
    assert done.reason or {finding.code for finding in done.left} == {"GEL900"}


def test_bad_parts_out_of_sight_of_check_count_too() -> None:
    """``check`` reads only what matters; ``fix`` must not touch a file that Python would not take."""
    code = HEAD + "a = nn.GELU()\n\n\ndef other():\n    return 1 1\n"
    done = mend(code, ALL)
    assert (done.text, done.gone) == (code, 0)
    assert done.reason == "it does not parse as a whole"
