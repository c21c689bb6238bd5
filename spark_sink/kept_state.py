# SPDX-License-Identifier: Apache-2.0
"""What of a query a checkpoint depends on: its state, and the form of its rows.

What comes behind the last operators that wait for time keeps nothing: a HAVING, an expression of
the SELECT list, a parameter in either may change from one micro-batch to the next. What is grouped
by and added up may not, since groups that are half full are of the old kind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gigastream.plan.nodes import Node, topological
from gigastream.plan.operators.output import Output
from gigastream.plan.plan import Plan
from gigastream.plan.to_json import node_to_json
from spark_sink.operators import operator_of
from spark_sink.window_complete.due import last_to_wait

Kept = Mapping[str, Mapping[str, str]]
"""By operator, the hashes of what it is made of; by the empty name, of the output's columns."""
_WORDS = {
    "groups": "its GROUP BY",
    "accumulators": "its aggregates",
    "predicates": "its WHERE",
    "pairs": "the times by which it joins",
    "inputs": "what it reads",
    "outputs": "its SELECT list",
    "having": "a HAVING below another aggregation or join",
    "schema": "its columns",
    "limit": "its LIMIT",
}


def kept_of(plan: Plan) -> dict[str, Kept]:
    """By output, what must stay."""
    return {node.name: _kept_of(node) for node in plan.outputs}


def what_changed(before: Kept, now: Kept) -> str:
    """Name what differs, for people."""
    if set(before) != set(now):
        return "which operators it is made of"
    for name in sorted(now):
        old, new = before[name], now[name]
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                of = f" ({name})" if name else ""
                return f"{_WORDS.get(key, key)}{of}"
    return "nothing"


def _kept_of(output: Output) -> Kept:
    last = list(last_to_wait(output))
    below = {node.name: node for top in last for node in topological((top,))}
    found = {name: _parts(node, is_last=node in last) for name, node in sorted(below.items())}
    return {**found, "": {"schema": _hash(_schema(output))}}


def _parts(node: Node, *, is_last: bool) -> dict[str, str]:
    """Of a stream from below the spool itself knows whether it is the same."""
    if node.is_low:
        return {"stream": _hash(node.name)}
    left_out = operator_of(node).behind_state if is_last else ()
    own = node_to_json(node)
    return {key: _hash(value) for key, value in own.items() if key not in left_out}


def _schema(node: Node) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in node.schema.columns]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
