"""READMEs: which sentences, items and rows say which GELU the project has, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.computed import mentioned, stated
from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import apply
from gelu_lint.model import Edit, FileSummary, Finding, Project, Span
from gelu_lint.registry import all_rules, enabled
from gelu_lint.sites.formats.markup import document
from gelu_lint.source import Source, decode, from_text

HEAD = "# net\n\n## Architecture\n\n"
CODES = enabled(("GEL",), (), ())


def read(text: str, name: str = "README.md") -> FileSummary:
    return summarise(from_text(name, text))


def said(text: str, name: str = "README.md") -> list[tuple[str, str, bool]]:
    """(flavour, the words themselves, certain) of each statement; the words are read back from its span."""
    source = from_text(name, text)
    found = []
    for entry in stated(summarise(source)):
        span = entry.span
        words = source.text[source.offset(*span[:2]) : source.offset(*span[2:])]
        found.append((entry.flavour, words, entry.literal))
    return found


@pytest.mark.parametrize(
    ("line", "flavour", "words"),
    [
        ("Activation: GELU (tanh approximation)", "tanh", "GELU (tanh approximation)"),
        ("- **Activation function**: QuickGELU", "quick", "QuickGELU"),
        ("- **Activation**: GELU (exact, not approximate)", "erf", "GELU (exact, not approximate)"),
        ("* __Activation:__ `gelu_pytorch_tanh`", "tanh", "gelu_pytorch_tanh"),
        ("1. Activation = nn.GELU(approximate='none')", "erf", "nn.GELU(approximate='none')"),
        ('- `hidden_act`: "gelu_new"', "tanh", "gelu_new"),
        ("FFN activation: exact GELU", "erf", "exact GELU"),
        ("Activation function: GELU, tanh approximation.", "tanh", "GELU, tanh approximation"),
        ("Activation: GELU (QuickGELU, x * sigmoid(1.702 x))", "quick", "GELU (QuickGELU, x * sigmoid(1.702 x))"),
        ("Non-linearity — the [GELU](https://arxiv.org/abs/1606.08415) (erf)", "erf",
         "GELU](https://arxiv.org/abs/1606.08415) (erf)"),
        ("Activation: GELU (no tanh approximation)", "erf", "GELU (no tanh approximation)"),
        ("Activation: jax.nn.gelu(approximate=True)", "tanh", "jax.nn.gelu(approximate=True)"),
        ("- GELU activation (tanh approximation)", "tanh", "GELU activation (tanh approximation)"),
        ("- Uses the exact (erf) GELU", "erf", "exact (erf) GELU"),
        ("激活函数：GELU（tanh 近似）", "tanh", "GELU（tanh 近似"),
        ("We use the exact GELU.", "erf", "exact GELU"),
        ("By default, the network uses the tanh approximation of GELU, as in GPT-2.", "tanh",
         "tanh approximation of GELU"),
        ("Unlike BERT, which uses the tanh GELU, we use the erf GELU.", "erf", "erf GELU"),
        ("We apply the exact GELU rather than its tanh approximation.", "erf", "exact GELU"),
        ("BERT uses erf; we use the tanh-approximated GELU.", "tanh", "tanh-approximated GELU"),
        ("All blocks use the *exact* GELU everywhere.", "erf", "exact* GELU"),
        ("net uses QuickGELU.", "quick", "QuickGELU"),
        ("The GELU implementation uses the exact error-function form.", "erf",
         "GELU implementation uses the exact error-function"),
        ("The activation function is GELU (tanh\napproximation).", "tanh", "GELU (tanh\napproximation)"),
    ],
)  # fmt: skip
def test_statements(line: str, flavour: str, words: str) -> None:
    assert said(HEAD + line + "\n") == [(flavour, words, True)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("- **Activation**: GELU", "GELU"),
        ("The feed-forward sublayer uses the GELU activation:", "GELU"),
        ("- **Activation**: GELU (Gaussian Error Linear Unit)", "GELU"),
        ("| Activation | GELU |", None),  # no table: its first row is missing
    ],
)
def test_gelu_alone_does_not_say_which(line: str, words: str | None) -> None:
    assert said(HEAD + line + "\n") == ([("", words, True)] if words else [])


@pytest.mark.parametrize(
    "line",
    [
        "- Vision activation: QuickGELU",
        "| Decoder activation | GELU (erf) |",
        "Built with GELU (tanh approximation), 12 of them.",
        "Here QuickGELU is used.",
    ],
)
def test_what_may_be_about_a_part_is_not_certain(line: str) -> None:
    table = "| what | which |\n| --- | --- |\n" if line.startswith("|") else ""
    assert [certain for _, _, certain in said(HEAD + table + line + "\n")] == [False]


@pytest.mark.parametrize(
    "line",
    [
        "BERT uses the exact GELU.",
        "Other networks use the tanh approximation of GELU, or SiLU.",
        "Activation: GELU/ReLU",
        "- Activation: GELU (exact) or SiLU",
        "Activation: GELU (hidden layers), tanh (output)",
        "Activation: GELU → SwiGLU",
        "You can use the tanh GELU with `approximate='tanh'`.",
        "If `fast` is set, the model uses the tanh approximation of GELU.",
        "We tried the exact GELU.",
        "We replaced the exact GELU by SiLU.",
        "Previously the model used the exact GELU.",
        "We compare the exact GELU with its tanh approximation.",
        "Is the model using the exact GELU? No.",
        "- QuickGELU activation differs from standard GELU.",
        "The original model uses the exact GELU.",
        "~~Activation: GELU (exact)~~",
        "> Activation: GELU (exact)",
        "![Activation: GELU (exact)](act.png)",
        "    Activation: GELU (exact)",
        "<!-- Activation: GELU (exact) -->",
        "<!--\n\nActivation: GELU (exact)\n\n-->",
        "```\nActivation: GELU (exact)\n```",
        "~~~yaml\nactivation: gelu_new\n~~~",
        "- Activations: see `gelu_lint/facts`, exact or not",
        "Activation checkpointing: GELU (exact) is recomputed.",
        "Attention logit cap: 50 (tanh), GELU off",
    ],
)
def test_no_statements(line: str) -> None:
    assert said(HEAD + line + "\n") == []


@pytest.mark.parametrize(
    "title",
    ["Related work", "Changelog", "Comparison with BERT", "References", "Usage", "Available activations", "Ablations",
     "Why GELU?", "v1.2 release notes", "TODO", "Benchmarks"],
)  # fmt: skip
def test_sections_about_something_else(title: str) -> None:
    line = "\n\nActivation: GELU (exact)\n\nWe use the exact GELU.\n"
    assert said(f"# net\n\n## {title}{line}") == []
    assert said(f"# net\n\n## {title}\n\n### Details{line}") == []
    assert len(said(f"# net\n\n## {title}\n\nText.\n\n## Model{line}")) == 2


def table(*rows: str) -> str:
    head, *rest = rows
    return HEAD + "\n".join((head, "|".join(["---"] * head.count("|")).join("||"), *rest)) + "\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (table("| | |", "| Layers | 12 |", "| Activation | GELU (tanh approx) |"), ["tanh"]),
        (table("| Setting | Value |", "| **Activation** | `gelu_new` |"), ["tanh"]),
        (table("| Setting | Value | Notes |", "| Activation | exact GELU | as torch has it |"), ["erf"]),
        (table("| Component | GPT | Ours |", "| Activation | GELU (tanh) | SwiGLU |"), []),
        (table("| Component | Original BERT (2018) | ModernBERT |", "| Activation | GELU (erf) | GeGLU |"), []),
        (table("| Feature | Before | After |", "| Activation | QuickGELU | exact GELU |"), []),
        (table("| Setting | Value |", "| Activation | GELU/ReLU |"), []),
        (table("| a | b |", "| x | the exact GELU |"), []),
        (table("| Setting | Value |", "| Act \\| non-linearity | GELU (erf) |"), []),
    ],
)
def test_rows_of_tables(text: str, found: list[str]) -> None:
    assert [flavour for flavour, _, certain in said(text) if certain] == found


REST = """\
===
net
===

Architecture
------------

:Activation: GELU (tanh approximation)

* Activation: ``gelu_new``

.. note:: Activation: GELU (exact)

   Activation: GELU (exact)

.. Activation: GELU (exact)

Like this::

    Activation: GELU (exact)

Related work
------------

We use the exact GELU.
"""


def test_restructured_text() -> None:
    assert said(REST, "README.rst") == [
        ("tanh", "GELU (tanh approximation)", True),
        ("tanh", "gelu_new", True),
    ]


def test_plain_text() -> None:
    assert said("net\n===\n\nActivation: GELU (erf)\n", "README.txt") == [("erf", "GELU (erf)", True)]


def test_the_heading_is_the_key_and_the_path_those_above() -> None:
    (entry,) = read("# net\n\n## Model\n\n### Blocks\n\nActivation: GELU (erf)\n").entries
    assert (entry.key, entry.path, entry.value, entry.form) == ("Blocks", ("Model", "Blocks"), "GELU (erf)", "prose")


def test_front_matter_is_no_prose() -> None:
    assert said("---\nactivation: gelu_new\n---\n# net\n\nActivation: GELU (erf)\n") == [("erf", "GELU (erf)", True)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_row_end(newline: str) -> None:
    text = (HEAD + "Text.\n\n- Activation: GELU (erf)\n").replace("\n", newline)
    assert said(text) == [("erf", "GELU (erf)", True)]
    (entry,) = read(text).entries
    assert entry.span == Span(7, 14, 7, 24)


# --------------------------------------------------------------------------------- where more could be said


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "## Architecture\n\nSTATED\n"),
        ("# net", "# net\n\n## Architecture\n\nSTATED\n"),
        ("# net\n", "# net\n\n## Architecture\n\nSTATED\n"),
        ("# net\n\nText.\n\n", "# net\n\nText.\n\n\n## Architecture\n\nSTATED\n"),
        ("# net\n\n## Architecture", "# net\n\n## Architecture\n\nSTATED\n"),
        ("# net\n\n## Architecture\n", "# net\n\n## Architecture\n\nSTATED\n"),
        ("# net\n\n## Architecture\n\n", "# net\n\n## Architecture\n\nSTATED\n"),
        ("# net\n\n## Architecture\n\nText", "# net\n\n## Architecture\n\nSTATED\n\nText"),
        ("# net\n\n## Architecture\nText\n", "# net\n\n## Architecture\n\nSTATED\n\nText\n"),
        ("# net\n\nModel architecture\n---\n\nText\n", "# net\n\nModel architecture\n---\n\nSTATED\n\nText\n"),
        (
            "# The architecture\n\nText\n",
            "# The architecture\n\nText\n\n## Architecture\n\nSTATED\n",
        ),  # the title of all of it
        ("```\n## Architecture\n```\n", "```\n## Architecture\n```\n\n## Architecture\n\nSTATED\n"),
    ],
)
def test_slots(text: str, after: str) -> None:
    source = from_text("README.md", text)
    section = max(summarise(source).sections, key=lambda section: section.title)
    slot = section.slot
    assert apply(source, [Edit(slot.span, slot.before + "STATED" + slot.after)]) == after


@pytest.mark.parametrize(
    "text",
    [
        "# net\n\n```sh\npip install net\n",
        "# net\n\n~~~\n\n## Architecture\n\nText\n",
        "# net\n\n<!-- to be written\n",
        "# net\n\n## Related architectures\n\nText\n",
        "# net\n\n# Related work\n\nText\n",
    ],
)
def test_no_slot_where_what_is_added_would_not_be_read(text: str) -> None:
    assert min(read(text).sections, key=lambda section: not section.title).slot is None


@pytest.mark.parametrize(
    "line",
    [
        "Activation: SiLU",
        "- Activation function: ReLU",
        "Our model uses SiLU activations.",
        "net uses Mish.",
        "- ReLU",
        "We replaced ReLU with the tanh-approximated GELU.",
        "Some blocks have the exact GELU.",
    ],
)
def test_what_may_say_another_activation_is_mentioned(line: str) -> None:
    summary = read(HEAD + line + "\n")
    assert stated(summary) == ()
    assert [(entry.value, entry.literal) for entry in mentioned(summary)] == [(line.removeprefix("- "), False)]


@pytest.mark.parametrize(
    "line", ["Activation: GELU (erf)", "We use GELU.", "Attention uses softmax.", "SiLU is common.", "```\nSiLU\n```"]
)
def test_what_mentions_no_other(line: str) -> None:
    assert mentioned(read(HEAD + line + "\n")) == ()


# ------------------------------------------------------------------------------------------------ directives


def left(text: str, row: int, name: str = "README.md") -> list[str]:
    """The codes of what is left of a finding of GEL502 at a row, and of what is said about the directives."""
    summary = read(text, name)
    finding = Finding("GEL502", name, Span(row, 0, row, 1), "", "warning", statement=(row, row))
    return [f.code for f in judge(summary, Project(), CODES, across=[finding])]


@pytest.mark.parametrize(
    "text",
    [
        "# net\n\nActivation: GELU <!-- gelu-lint: ignore[GEL502] the port differs -->\n",
        "# net\n<!-- gelu-lint: ignore[GEL502] the port differs -->\nActivation: GELU\n",
        "# net <!-- gelu-lint: ignore-file[GEL502] -->\n\nActivation: GELU\n",
    ],
)
def test_directives_in_comments(text: str) -> None:
    assert left(text, 3) == []


def test_directives_in_restructured_text() -> None:
    assert left(".. gelu-lint: ignore[GEL502] the port differs\n\nActivation: GELU\n", 3, "README.rst") == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("```\n<!-- gelu-lint: ignore[GEL502] why -->\n```\nActivation: GELU\n", ["GEL502"]),
        ("`<!-- gelu-lint: ignore[GEL502] why -->`\n\n\nActivation: GELU\n", ["GEL502"]),
        ("<!-- gelu-lint: ignore -->\n\n\nActivation: GELU\n", ["GEL902", "GEL502"]),
        ("Write `# noqa: GEL502` behind it.\n\n\nActivation: GELU\n", ["GEL502"]),
        ("<!-- gelu-lint: ignore[GEL001] why -->\n\n\nActivation: GELU\n", ["GEL901", "GEL502"]),
    ],
)
def test_what_is_no_directive(text: str, codes: list[str]) -> None:
    assert left(text, 4) == codes


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("# net\n\n<!-- gelu-lint: ignore[GEL001] why -->\nActivation\n", "# net\n\nActivation\n"),
        ("# net\n\nActivation <!-- gelu-lint: ignore[GEL001] why -->\n", "# net\n\nActivation\n"),
        ("# net\n\n<!-- gelu-lint: ignore[GEL001] --> Activation\n", "# net\n\n Activation\n"),
        ("# net\n\na <!-- gelu-lint: ignore[GEL001] --> b\n", "# net\n\na  b\n"),
    ],
)
def test_removing_an_unused_directive_removes_nothing_else(text: str, after: str) -> None:
    source = from_text("README.md", text)
    (found,) = judge(summarise(source), Project(), CODES, across=[])
    assert found.code == "GEL901"
    assert apply(source, found.fix.edits) == after


# --------------------------------------------------------------------------------------------------- any text

LINES = st.sampled_from(
    ["# net", "## Architecture", "---", "===", "```", "~~~", "<!--", "-->", "<!-- gelu-lint: ignore[GEL502] x -->", "",
     "| a | b |", "|---|---|", "| Activation | GELU (erf) |", "- Activation: **GELU** (tanh", "> GELU", "    code",
     "[x](y) ![GELU](z", "`GELU", "1. We use the exact GELU", ".. note::", "::", "  more text)", "*GELU*", "\t| GELU",
     "unlike GELU, which", "((((GELU", "not the tanh GELU", "\x0c", "é GELU (erf)", "x \\| y | GELU"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(LINES, max_size=14), st.sampled_from(["README.md", "README.rst", "README.txt"]))
def test_any_text_can_be_read(lines: list[str], name: str) -> None:
    source: Source = from_text(name, "\n".join(lines))
    for piece in document(name, source.text, source.rows).pieces:
        assert len(piece.text) == len(piece.offsets)
        for shown, at in zip(piece.text, piece.offsets, strict=True):
            assert shown == source.text[at] or shown in " \t"
    summary = summarise(source)
    for entry in summary.entries:
        words = source.text[source.offset(*entry.span[:2]) : source.offset(*entry.span[2:])]
        assert "gelu" in words.lower() or entry.form == "mention"
    for section in summary.sections:
        if section.slot is not None:
            before = len(stated(summary))
            added = section.slot.before + "Activation: GELU (erf)" + section.slot.after
            again = apply(source, [Edit(section.slot.span, added)])
            assert len(stated(read(again, name))) > before, "what is added is read again"


def test_long_and_hostile_texts_are_read_in_time() -> None:
    """Each takes quadratic or exponential time where a pattern may try again and again."""
    for text in (
        "![" * 100_000 + "GELU",
        "Activation: " + "tanh approx " * 3000 + "GELU",
        "Activation: " + ", " * 5000 + "GELU x",
        "<!--" * 100_000 + " GELU",
        "[" * 100_000 + "GELU" + "]" * 100_000,
        "a." * 100_000 + "GELU",
        ("# x\n\nGELU\n\n" * 20_000),
        "| GELU " * 30_000 + "|\n|---|---|\n" + "| GELU |\n" * 3000,
        "unlike " * 30_000 + "GELU",
        "*" * 200_000 + "GELU",
    ):
        assert all(not entry.flavour for entry in read(text).entries)


@pytest.mark.parametrize(
    "sentence",
    [
        "The model uses GELU and exact match as its metric.",
        "The model uses GELU with an exact learning rate of 1e-3.",
        "The model uses GELU activations and quick sort.",
        "The model uses GELU and is quick.",
        "Our model uses GELU, quick to train.",
        "The library is fast with GELU and error function tables.",
        "This repo implements GELU, without tanh layers.",
        "The network uses GELU, whose exact form is x·Φ(x).",
        "The model uses GELU (exact) before v2; since then the tanh form.",
        "The code uses erf GELU only on CPU.",
    ],
)
def test_words_that_belong_to_something_else_contradict_nothing(sentence: str) -> None:
    readme = summarise(decode("README.md", f"# p\n\n{sentence}\n".encode()))
    code = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x, approximate='tanh')\n"
    rule = next(rule for rule in all_rules() if rule.code == "GEL502")
    project = Project(anchors=(("README", "README.md"),))
    assert [*rule.across((readme, summarise(decode("m.py", code.encode()))), project)] == []


def test_a_sentence_about_the_model_contradicts_it() -> None:
    readme = summarise(decode("README.md", b"# p\n\nThe model uses the exact GELU.\n"))
    code = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x, approximate='tanh')\n"
    rule = next(rule for rule in all_rules() if rule.code == "GEL502")
    project = Project(anchors=(("README", "README.md"),))
    assert [f.path for f in rule.across((readme, summarise(decode("m.py", code.encode()))), project)] == ["README.md"]
