# SPDX-License-Identifier: Apache-2.0
"""A plan as a person reads it: each query above and below the border, then what the set shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gigastream.plan.costs import cost, fields_of
from gigastream.plan.describe import NodeDescription, describe
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan
from gigastream.plan.text import expression_text

INDENT = "    "


def explain(plan: Plan) -> str:
    """The queries with their trees, the prefilter, and where fields are unpacked."""
    blocks = [_query(name, plan) for name in plan.texts]
    return "\n\n".join("\n".join(block) for block in [*blocks, list(_query_set(plan))])


# A query


def _query(name: str, plan: Plan) -> list[str]:
    top = next(node for node in plan.nodes if node.name == name and not node.is_output)
    own = plan.own_nodes(top)
    root: Node = next((node for node in plan.outputs if node.name == name), top)
    lines = [f"query {name}", *_indented(plan.texts[name].splitlines()), ""]
    if not root.is_low:
        lines += ["  high level", *_indented(_tree(root, own, plan))]
    low = [node for node in own if node.is_low]
    if low:
        lines += ["  ---- border ----", "  low level"]
        for node in low:
            lines += _indented(_node_lines(describe(node, plan)))
    return lines


def _tree(node: Node, own: Sequence[Node], plan: Plan) -> Iterator[str]:
    """A node, and below it its inputs, as far as they are this query's and above the border."""
    yield from _node_lines(describe(node, plan), "|  " if node.inputs else "   ")
    for position, child in enumerate(node.inputs):
        is_last = position == len(node.inputs) - 1
        lines = [_leaf(child, own)] if _is_leaf(child, own) else list(_tree(child, own, plan))
        yield f"`- {lines[0]}" if is_last else f"|- {lines[0]}"
        yield from ((("   " if is_last else "|  ") + line).rstrip() for line in lines[1:])


def _is_leaf(node: Node, own: Sequence[Node]) -> bool:
    return node.is_low or not _is_among(node, own)


def _leaf(node: Node, own: Sequence[Node]) -> str:
    is_own = _is_among(node, own)
    return f"LFTA {node.name}, below the border" if is_own else f"query {node.name}"


def _is_among(node: Node, own: Sequence[Node]) -> bool:
    return any(node is other for other in own)


def _node_lines(node: NodeDescription, rail: str = "   ") -> Iterator[str]:
    yield f"{node.title} {node.name}"
    width = max((len(label) for label, _ in node.details), default=0)
    for label, lines in node.details:
        for number, line in enumerate(lines):
            yield f"{rail}{'' if number else label:<{width}}  {line}"
    if node.columns:
        yield f"{rail}columns"
        yield from (f"{rail}  {line}" for line in _aligned(node.columns))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True) if w)
        yield "  ".join(cells).rstrip()


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return ((INDENT + line).rstrip() for line in lines)


# The query set


def _query_set(plan: Plan) -> Iterator[str]:
    yield "query set"
    if plan.prefilter:
        yield f"{INDENT}prefilter, once a packet"
        yield from _indented(f"  {line}" for line in _aligned(list(_prefilter(plan))))
    for label, names in _unpacking(plan):
        if names:
            yield f"{INDENT}{label}: {', '.join(names)}"
    if plan.pruned:
        yield f"{INDENT}left out, since no output needs them: {', '.join(plan.pruned)}"


def _prefilter(plan: Plan) -> Iterator[tuple[str, ...]]:
    for bit, predicate in enumerate(plan.prefilter):
        users = (node.name for node in plan.low if bit in node.signature)
        text = expression_text(predicate)
        yield f"bit {bit}", f"cost {cost(predicate)}", text, f"for {', '.join(users)}"


def _unpacking(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    read = fields_of(*plan.prefilter, *(e for node in plan.low for e in node.expressions))
    named = [field for field in read if not field.accessor.startswith("@")]
    early = [field.field for field in named if field.accessor in plan.early_fields]
    late = [field.field for field in named if field.accessor not in plan.early_fields]
    yield "unpacked early, for the whole burst", early
    yield "unpacked late, where an LFTA reads them", late
