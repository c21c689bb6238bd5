# SPDX-License-Identifier: Apache-2.0
"""A plan as plain data: the form in which it leaves this process.

The Spark back end reads it and the spool keeps its hash, so it is complete and stable: all that
decides an answer is in it, and nothing else (no places in the text, no costs, no names that only
print). Nodes and their inputs go by name, and inputs come first; an expression is an object with
its `kind`, its types and its children.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.queries import QueryOptions
from gigastream.gsql.types import Schema, Type
from gigastream.late_dataclass import fields, is_dataclass
from gigastream.plan.nodes import Node
from gigastream.plan.plan import Plan

FORMAT = 1
"""Goes up when a reader of the form before would misread it."""

_AS_THEY_ARE = frozenset((type(None), bool, int, float, str))
KEYS = {"port": "source"}
"""What form 1 calls an input; spools hold its hash."""
_WHERE_THERE_IS_ONE = frozenset(("filter",))
"""Attributes that came later than spools that hold the hash of a node without them."""
_LEFT_OUT = frozenset(
    ("span", "is_chosen", "asked_at", "flexible", "why_high", "cost", "include", "code", "table_of")
)

_WHERE_GIVEN = frozenset(("decapsulation", "reassembly"))
"""Newer than spools that hold the hash of what has none."""


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as dicts, lists, texts, numbers and None; equal plans give equal data.

    Bytes (strings, IPV6 and INET addresses) are in hexadecimal.
    """
    return {
        "format": FORMAT,
        "queries": dict(plan.texts),
        "prefilter": [value_to_json(predicate) for predicate in plan.prefilter],
        "early_fields": list(plan.early_fields),
        "nodes": [node_to_json(node) for node in plan.nodes if not node.is_output],
        "outputs": [{"query": node.name, "input": node.input.name} for node in plan.outputs],
    }


def node_to_json(node: Node) -> dict[str, Any]:
    """A node; its inputs by their names."""
    own = {
        item.name: value_to_json(getattr(node, item.name))
        for item in fields(node)
        if item.name not in ("input", "parts", "left", "right", *_LEFT_OUT)
        and not (item.name in _WHERE_THERE_IS_ONE and getattr(node, item.name) is None)
    }
    inputs = [child.name for child in node.inputs]
    bounds = [_bound(function) for function in node.bounds]
    return {"kind": node.kind, "inputs": inputs, **own, "bounds": bounds}


def _bound(function: Monotone | None) -> dict[str, Any] | None:
    """How punctuation comes to a column; the reader makes the function from the expression."""
    if function is None:
        return None
    return {
        "temporal": function.temporal.value,
        "inputs": [value_to_json(item) for item in function.inputs],
        "forward": function.forward_text,
        "inverse": function.inverse_text,
    }


def value_to_json(value: Any) -> Any:
    """A part of a node, as `to_json` has it."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Monotone):
        return _bound(value)
    if isinstance(value, Type):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Schema):
        return [value_to_json(column) for column in value.columns]
    if isinstance(value, QueryOptions):
        return value.given
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): value_to_json(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [value_to_json(item) for item in value]
    return _object(value) if is_dataclass(value) else value


def _object(value: Any) -> dict[str, Any]:
    shown = {
        KEYS.get(item.name, item.name): value_to_json(getattr(value, item.name))
        for item in fields(value)
        if item.name not in _LEFT_OUT
        and not (item.name in _WHERE_GIVEN and getattr(value, item.name) is None)
    }
    return {"kind": type(value).__name__, **shown}
