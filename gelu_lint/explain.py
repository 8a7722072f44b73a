"""Documentation of rules, made from the rule files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gelu_lint.rule import Rule


def explain(rule: Rule) -> Iterator[str]:
    """A rule's page: what it does and why, an example with its fix, and how safe the fix is."""
    title, _, body = rule.doc.partition("\n\n")
    yield f"{rule.code} {rule.name} ({_status(rule)})"
    yield ""
    yield title.strip()
    yield ""
    before, _, safety = body.strip().partition("## Fix safety")
    yield before.strip()
    example = next((example for example in rule.examples if example.at), None)
    if example is not None:
        yield ""
        yield "## Example"
        yield ""
        yield from (f"    {line}".rstrip() for line in example.code.rstrip().splitlines())
        if example.fixed is not None:
            yield ""
            yield "becomes"
            yield ""
            yield from (f"    {line}".rstrip() for line in example.fixed.rstrip().splitlines())
    yield ""
    yield "## Fix safety"
    yield ""
    yield safety.strip()


def _status(rule: Rule) -> str:
    words = [rule.severity, *(["policy"] if rule.policy else []), *(["opt-in"] if rule.opt_in else [])]
    return ", ".join(words)


def table(rules: tuple[Rule, ...], output: str) -> Iterator[str]:
    """All rules as text, markdown (the README's table) or json."""
    if output == "json":
        rows = [
            {
                "code": r.code, "name": r.name, "summary": r.summary, "fix": r.fix, "severity": r.severity,
                "policy": r.policy, "opt_in": r.opt_in,
            }
            for r in rules
        ]  # fmt: skip
        yield json.dumps(rows, indent=2)
    elif output == "markdown":
        yield "| code | name | reports | fix (change) |"
        yield "| --- | --- | --- | --- |"
        for r in rules:
            yield f"| {r.code} | {r.name} | {r.summary} ({_status(r)}) | {r.fix} |"
    else:
        width = max(len(r.name) for r in rules)
        for r in rules:
            yield f"{r.code}  {r.name:{width}}  {r.severity:7}  {r.summary}"
