# SPDX-License-Identifier: Apache-2.0
"""A plan as a graph for Graphviz: data flows upwards, across the border."""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.plan.describe import describe
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan


def to_dot(plan: Plan) -> str:
    """The text for `dot -Tsvg`."""
    numbers = {id(node): number for number, node in enumerate(plan.nodes)}
    lines = ["digraph plan {", "  rankdir=BT;", "  node [shape=box, fontname=monospace];"]
    for label, is_low in (("low level", True), ("high level", False)):
        nodes = [node for node in plan.nodes if node.is_low == is_low]
        lines += _level(label, nodes, plan, numbers)
    for node in plan.nodes:
        lines += (f"  n{numbers[id(c)]} -> n{numbers[id(node)]};" for c in node.inputs)
    return "\n".join([*lines, "}"])


def _level(label: str, nodes: list[Node], plan: Plan, numbers: dict[int, int]) -> Iterator[str]:
    yield f"  subgraph cluster_{label.split()[0]} {{"
    yield f"    label={_quoted([label])}; style=dashed;"
    for node in nodes:
        yield f"    n{numbers[id(node)]} [label={_quoted(_label(node, plan))}];"
    yield "  }"


def _label(node: Node, plan: Plan) -> list[str]:
    described = describe(node, plan)
    details = (f"{label}: {line}" for label, lines in described.details for line in lines)
    return [f"{described.title} {described.name}", *details]


def _quoted(lines: list[str]) -> str:
    r"""A label whose lines begin at the left (\l)."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "".join(f"{line}\\l" for line in escaped) + '"'
