"""The readers of JSON, YAML and TOML against the libraries that others read these files with: same values, true places.

Documents are drawn by hypothesis and written by json and PyYAML (and by a small writer of TOML here), then read back by
json, PyYAML's safe loader and tomllib, which are the truth.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Project, Span
from gelu_lint.sites.formats import Malformed
from gelu_lint.sites.formats import json as json_reader
from gelu_lint.sites.formats import toml as toml_reader
from gelu_lint.sites.formats import yaml as yaml_reader
from gelu_lint.sites.formats.document import Node, mappings
from gelu_lint.source import Source, decode, from_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn"), exclude_characters="\u2028\u2029"), max_size=12
)
_WORDS = st.sampled_from(
    ("gelu", "true", "no", "1", "0x1f", "1e3", "~", "null", "2020-01-01", "a: b", "# no", "- x", "'", '"', "a\nb")
)
_NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = _TEXT | _WORDS | _NUMBERS | st.booleans()
_KEYS = st.sampled_from(("hidden_act", "model_type", "a b", "é", "x.y", "1", "true", '"', "~", "")) | _TEXT
_SLOW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def documents(scalars: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12
    )


def plain(node: Node) -> object:
    """A document as the libraries give it; what is no literal is "?"."""
    if node.pairs is not None:
        return {pair.key: plain(pair.node) for pair in node.pairs}
    if node.items is not None:
        return [plain(item) for item in node.items]
    return node.value if node.literal else "?"


def scalars(root: Node) -> Iterator[Node]:
    for _, mapping in mappings(root):
        for pair in mapping.pairs or ():
            yield from [pair.node] if pair.node.pairs is None and pair.node.items is None else []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += [*(node.items or ()), *(pair.node for pair in node.pairs or ())]
        if node.items is None and node.pairs is None:
            yield node


def slice_of(source: Source, span: Span) -> str:
    return source.text[source.offset(*span[:2]) : source.offset(*span[2:])]


def same(a: object, b: object) -> bool:
    """Equal, and of one type: 1 is neither True nor 1.0."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


# JSON


@_SLOW
@given(
    documents(_SCALARS | st.none()), st.sampled_from((None, 2)), st.booleans(), st.sampled_from(("\n", "\r\n", "\r"))
)
def test_json_values_and_places(value: object, indent: int | None, ascii_: bool, newline: str) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_).replace("\n", newline)
    source = from_text("a.json", text)
    root = json_reader.document(source)
    assert root is not None and same(plain(root), json.loads(text))
    for node in scalars(root):
        assert same(json.loads(slice_of(source, node.span)), node.value)
    for _, mapping in mappings(root):
        assert slice_of(source, mapping.span)[0] + slice_of(source, mapping.span)[-1] == "{}"
        for pair in mapping.pairs or ():
            assert json.loads(slice_of(source, pair.key_span)) == pair.key


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a" 1}', '{"a": 1,}', "{'a': 1}", "nul", "[" * 100_000, "1" * 5000])
def test_json_that_is_none_says_where(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        json_reader.document(from_text("a.json", text))
    assert caught.value.row == 1


def test_json_lines_are_no_settings() -> None:
    assert json_reader.document(from_text("a.json", '{"hidden_act": "gelu"}\n{"hidden_act": "gelu"}\n')) is None


# YAML


def yaml_roots(text: str) -> list[Node]:
    return yaml_reader._Reader(from_text("a.yaml", text)).documents()


def by_text(value: object) -> object:
    """A document with its keys as text, and what is no literal as "?"."""
    if isinstance(value, dict):
        return {key: by_text(held) for key, held in value.items()}
    if isinstance(value, list):
        return [by_text(held) for held in value]
    known = value is None or isinstance(value, (str, int, float))
    return "?" if not known or (isinstance(value, float) and not math.isfinite(value)) else value


@_SLOW
@given(
    documents(_SCALARS | st.none()),
    st.sampled_from((None, True, False)),
    st.sampled_from((None, '"', "'")),
    st.sampled_from(("\n", "\r\n")),
    st.sampled_from((None, 20)),
)
def test_yaml_values_and_places(
    value: object, flow: bool | None, style: str | None, newline: str, width: int | None
) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, default_style=style, width=width, allow_unicode=True)
    text = text.replace("\n", newline)
    source = from_text("a.yaml", text)
    root = yaml_reader._Reader(source).documents()[0]
    truth = by_text(yaml.safe_load(text))
    assert same(plain(root), truth)
    for node in scalars(root):
        written = slice_of(source, node.span)
        if node.quote and not isinstance(node.value, str):
            continue  # a tag makes a number of what is quoted
        if node.literal and node.span.row == node.span.end_row and not written.startswith(("|", ">")):
            assert same(yaml.safe_load(written or "~"), node.value) or written == ""
        if node.quote:
            assert written[0] == written[-1] == node.quote


@pytest.mark.parametrize(
    "text",
    [
        "a: &x gelu\nb: *x\n",
        "a: &x {k: 1, l: [1, 2]}\nb: {<<: *x, k: 2}\n",
        "a: &x {k: 1}\nb: &y {k: 2, l: 3}\nc:\n  <<: [*x, *y]\n  m: 1\n",
        "a: !!str 1\nb: !!int '1'\nc: !!float 1\nd: ! 1\n",
        "a: 1:30\nb: 0o17\nc: 017\nd: 0b11\ne: 1_000\nf: .5\ng: +1\nh: yes\ni: Off\n",
        "? a\n: b\n? c\n",
        "a: >-\n  folded\n  text\nb: |+\n  kept\n\nc: x\n",
        "- - a\n  - b\n- {c: d, e: [f, {g: h}]}\n",
        "a: 'it''s'\nb: \"tab\\tx\"\nc: plain  # comment\nd: 'x' # y\n",
        "%YAML 1.1\n---\na: 1\n...\n",
    ],
)
def test_yaml_that_people_write(text: str) -> None:
    (root,) = yaml_roots(text)
    assert same(plain(root), yaml.safe_load(text))


@pytest.mark.parametrize(
    "text", ["a: !include b.yaml\n", "a: !!python/object/apply:os.system ['false']\n", "a: 2020-01-01\n", "a: ${b.c}\n"]
)
def test_yaml_constructs_nothing(text: str) -> None:
    (root,) = yaml_roots(text)
    held = root.get("a")
    assert held is not None and held.value is None and not held.literal


def test_yaml_of_several_documents_are_kept_apart() -> None:
    summary = summarise(from_text("a.yaml", "hidden_act: gelu\n---\nm:\n  hidden_act: gelu\n"))
    assert [entry.path for entry in summary.entries] == [("0",), ("1", "m")]


def test_an_alias_stands_where_it_is_written_and_merged_pairs_where_they_come_from() -> None:
    text = "base: &b\n  hidden_act: &a gelu\nmodel:\n  <<: *b\n  activation: *a\n"
    source = from_text("a.yaml", text)
    found = [(entry.key, slice_of(source, entry.span), entry.value) for entry in summarise(source).entries]
    assert found == [("hidden_act", "gelu", "gelu"), ("hidden_act", "gelu", "gelu"), ("activation", "*a", "gelu")]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("model:\n  hidden_act: gelu\n   fp16: [true\n", 3),
        ("hidden_act: gelu\nb: [1, 2\n", 3),
        ("hidden_act: 'gelu\n", 2),
        ("hidden_act: gelu\n\tb: 1\n", 2),
        ("hidden_act: *gelu_default\n", 1),
        ("hidden_act: gelu\nb: \x07\n", 2),
        ("hidden_act: gelu\nb: " + "[" * 500, 2),
        ("hidden_act: gelu\n" + "".join(f"{' ' * i}a:\n" for i in range(300)), 101),
    ],
)
def test_yaml_that_does_not_load_is_one_finding_at_its_place(text: str, row: int) -> None:
    found = judge(summarise(from_text("train.yaml", text)), Project(), ("GEL900",))
    assert [finding.code for finding in found] == ["GEL900"]
    assert abs(found[0].span.row - row) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "hidden_act: {{ act }}\n  broken: [\n",
        "{% if x %}\nhidden_act: gelu\n",
        "name: angelus\n  broken: [\n",
    ],
)
def test_templates_and_what_is_not_ours_are_silent(text: str) -> None:
    assert summarise(from_text("a.yaml", text)).faults == ()


def test_a_bomb_of_aliases_does_not_grow() -> None:
    text = "a0: &a0 {hidden_act: gelu}\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 40)
    )
    summary = summarise(from_text("a.yaml", text))
    assert len(summary.entries) == 1 and summary.faults == ()


def test_merges_of_merges_are_bounded() -> None:
    keys = ", ".join(f"k{i}: 1" for i in range(500))
    text = f"a0: &a0 {{hidden_act: gelu, {keys}}}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 40)
    )
    assert "merges" in summarise(from_text("a.yaml", text)).faults[0].message


def test_aliases_of_what_is_around_them_end() -> None:
    summary = summarise(from_text("a.yaml", "a: &a\n  hidden_act: gelu\n  self: *a\n  <<: *a\n"))
    assert [entry.key for entry in summary.entries] == ["hidden_act"]


# TOML

_TOML = documents(_SCALARS)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {as_toml(held)}" for key, held in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value) if re.search(r"[.e]", repr(value)) else f"{value}.0"
    return json.dumps(value)


def toml_text(value: dict[str, object], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Tables under headers, lists of tables under double ones, the rest in rows."""
    later = []
    for key, held in value.items():
        if isinstance(held, dict):
            later.append((key, [held], "[{}]"))
        elif isinstance(held, list) and held and all(isinstance(item, dict) for item in held):
            later.append((key, held, "[[{}]]"))
        else:
            yield f"  {json.dumps(key)} ={as_toml(held)}\t# {key!r}"
    for key, tables, header in later:
        for table in tables:
            yield header.format(" . ".join(json.dumps(part) for part in (*path, key)))
            yield from toml_text(table, (*path, key))


@_SLOW
@given(st.dictionaries(_KEYS, _TOML, max_size=5), st.sampled_from(("\n", "\r\n")))
def test_toml_values_and_places(value: dict[str, object], newline: str) -> None:
    text = newline.join(toml_text(value)) + newline
    try:
        truth = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # an integer that is too big, or the like
    source = from_text("a.toml", text)
    reader = toml_reader._Reader(source)
    root = reader.document()
    assert same(plain(root), by_text(truth))
    for node in scalars(root):
        assert same(tomllib.loads(f"v = {slice_of(source, node.span)}")["v"], node.value)
    for _, mapping in mappings(root):
        for pair in mapping.pairs or ():
            assert [*tomllib.loads(f"{slice_of(source, pair.key_span)} = 1")] == [pair.key]
    assert all(match[0].startswith("#") for match in reader.comments)


@pytest.mark.parametrize(
    "text",
    [
        "a.b.c = 1\na.b.d = 'x' # y\n[t.u]\nv = 1\n[t]\nw = [1, [2, # c\n 3],\n]\n",
        'a = """\n# no comment\nx"""\nb = \'\'\'a\'b\'\'\'\nc = """a"b"""""\n',
        "a = 1979-05-27 07:32:00\nb = 07:32:00\nc = 1_000\nd = 0xff\ne = inf\nf = [ { x = 1 }, { y.z = 'w' } ]\n",
        "[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\n[[a.c]]\nz = 1\n[[a.c]]\n",
        '"x y".\'z\' = {}\n[ "q" . r ]\n-bare_1 = []\n',
    ],
)
def test_toml_that_people_write(text: str) -> None:
    assert same(plain(toml_reader._Reader(from_text("a.toml", text)).document()), by_text(tomllib.loads(text)))


def test_toml_that_is_none_says_where() -> None:
    found = judge(summarise(from_text("a.toml", "[model]\nhidden_act = gelu\n")), Project(), ("GEL900",))
    assert [(finding.code, finding.span.row) for finding in found] == [("GEL900", 2)]
    assert summarise(from_text("a.toml", "hidden_act = " + "[" * 5000)).faults


# Comments


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "model_type: bert\nhidden_act: gelu_tanh  # gelu-lint: ignore[GEL101] ours\n"),
        ("a.yaml", "model_type: bert\nhidden_act: gelu_tanh  # noqa: GEL101\n"),
        ("a.yaml", "# gelu-lint: ignore-file[GEL101]\nmodel_type: bert\nhidden_act: gelu_tanh\n"),
        ("a.toml", "model_type = 'bert'\nhidden_act = 'gelu_tanh'  # gelu-lint: ignore[GEL101] ours\n"),
        ("a.toml", "model_type = 'bert'\nhidden_act = 'gelu_tanh' # noqa: GEL101\n"),
    ],
)
def test_comments_silence_findings(name: str, text: str) -> None:
    codes = ("GEL101", "GEL901", "GEL902")
    assert judge(summarise(from_text(name, text)), Project(), codes) == []
    bare = re.sub(r"#.*", "", text)
    assert [finding.code for finding in judge(summarise(from_text(name, bare)), Project(), codes)] == ["GEL101"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", 'model_type: bert\nhidden_act: gelu_tanh\nnote: "# noqa: GEL101"\n'),
        ("a.yaml", "model_type: bert\nhidden_act: gelu_tanh\nnote: |\n  # gelu-lint: ignore-file[GEL101]\n"),
        (
            "a.toml",
            "model_type = 'bert'\nhidden_act = 'gelu_tanh'\nnote = '''\n# gelu-lint: ignore-file[GEL101]\n'''\n",
        ),
    ],
)
def test_text_that_is_no_comment_silences_nothing(name: str, text: str) -> None:
    found = judge(summarise(from_text(name, text)), Project(), ("GEL101", "GEL901", "GEL902"))
    assert [finding.code for finding in found] == ["GEL101"]


def test_a_suppression_that_silences_nothing_is_unused() -> None:
    text = "a: |\n  x\n# gelu-lint: ignore[GEL101] why\nhidden_act: gelu  # gelu-lint: ignore[GEL106] why\n"
    found = judge(summarise(from_text("a.yaml", text)), Project(), ("GEL101", "GEL106", "GEL901"))
    assert [(finding.code, finding.span.row) for finding in found] == [("GEL901", 3), ("GEL901", 4)]


def test_a_bom_and_line_ends_move_nothing() -> None:
    source = decode("a.yaml", b"\xef\xbb\xbfmodel_type: bert\r\nhidden_act: gelu_tanh\r\n")
    (found,) = judge(summarise(source), Project(), ("GEL101",))
    assert slice_of(source, found.span) == "gelu_tanh"


def test_yaml_toml_and_families_are_loaded_where_they_are_needed(tmp_path) -> None:
    (tmp_path / "a.json").write_text('{"hidden_act": "gelu", "dim": 4}')
    (tmp_path / "b.yaml").write_text("name: x\n")
    script = (
        f"from gelu_lint.cli import main\nmain(['check', '--no-cache', {str(tmp_path)!r}])\nimport sys\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    loaded = set(done.stderr.split())
    assert "gelu_lint.sites.formats.json" in loaded
    assert not loaded & {"yaml", "gelu_lint.facts.families", "gelu_lint.facts.model_types", "libcst"}


@pytest.mark.parametrize(
    "text",
    [
        '{ // for an editor\n "cSpell.words": ["gelu"],\n}\n',
        '/* notes */ {"hidden_act": "gelu"}',
        '{"hidden_act": {{ act }}, "x": "gelu"}',
        '{"hidden_act": "gelu"}\n{"hidden_act": "gelu_new"}\n',
        '{"name": "angelus",}',
    ],
)
def test_what_is_meant_to_be_no_json_is_silent(text: str) -> None:
    assert summarise(decode("settings.json", text.encode())).faults == ()


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("a.json", '{"hidden_act": "gelu",\n\n', 1),
        ("a.yaml", "hidden_act: [gelu\n", 1),
        ("b.yaml", "hidden_act: 'gelu\n\n", 1),
    ],
)
def test_a_fault_at_the_end_shows_the_last_row_with_text(name: str, text: str, row: int) -> None:
    (fault,) = summarise(decode(name, text.encode())).faults
    assert fault.span.row == row
