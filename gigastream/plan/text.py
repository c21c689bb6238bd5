# SPDX-License-Identifier: Apache-2.0
"""Checked expressions as GSQL, for explain and for the comments of generated code."""

from __future__ import annotations

from gigastream.gsql.expressions import (
    AggregateRef,
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    FieldRef,
    FunctionCall,
    GroupRef,
    ListValue,
    Operation,
    PythonAggregateCall,
    PythonResult,
    SuperaggregateRef,
    SupergroupState,
    ports_of,
)
from gigastream.gsql.order.inference import Monotone, monotone
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace

_WORDS = {"AND", "OR"}
_CALLS = {"COALESCE", "NULLIF", "GREATEST", "LEAST"}


def expression_text(e: Expression) -> str:
    """The expression in GSQL, with parentheses where operators meet; implicit casts not shown.

    What it reads is named with its input, as S0.time, where that is not one alone.
    """
    return _text(_qualified(e) if len(ports_of(e)) > 1 else e)


def _qualified(e: Expression) -> Expression:
    if isinstance(e, FieldRef):
        return replace(e, field=f"S{e.port}.{e.field}")
    if isinstance(e, ColumnRef):
        return replace(e, name=f"S{e.port}.{e.name}")
    return e.with_children(tuple(map(_qualified, e.children)))


def _text(e: Expression) -> str:
    if isinstance(e, Constant):
        return e.name or constant_text(e)
    if isinstance(e, FieldRef):
        return e.field
    if isinstance(e, ColumnRef | GroupRef | AggregateRef | SuperaggregateRef):
        return e.name
    if isinstance(e, PythonAggregateCall):  # what is kept for it is called as it is
        return _text(e.arguments[0])
    if isinstance(e, PythonResult):
        return e.text
    if isinstance(e, Cast):
        return _text(e.operand)
    if isinstance(e, Operation):
        return _operation_text(e)
    if isinstance(e, FunctionCall):
        return _call_text(e)
    if isinstance(e, ListValue):
        return _list_text(e)
    assert isinstance(e, Case)
    branches = " ".join(f"WHEN {_text(c)} THEN {_text(v)}" for c, v in e.branches)
    return f"CASE {branches} ELSE {_text(e.otherwise)} END"


def constant_text(e: Constant) -> str:
    """A literal."""
    value = e.value
    if value is None:
        return "NULL"
    if e.type is Type.IP:
        from ipaddress import IPv4Address

        return f"IP_VAL'{IPv4Address(int(value))}'"
    if e.type in (Type.INET, Type.IPV6):
        from ipaddress import IPv6Address

        assert isinstance(value, bytes)
        return f"IPV6_VAL'{IPv6Address(value)}'"
    if isinstance(value, bytes):
        return "'" + value.decode("utf-8", "backslashreplace").replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else str(value)


def _operand(e: Expression) -> str:
    text = _text(e)
    inner = e
    while isinstance(inner, Cast):
        inner = inner.operand
    if not isinstance(inner, Operation) or inner.operator in _CALLS:
        return text
    return f"({text})" if len(inner.operands) > 1 else text


def _operation_text(e: Operation) -> str:
    if e.operator == "IS_PREFIX":
        network = _text(e.operands[1])[:-1]
        return f"{_operand(e.operands[0])} IN {network}/{e.prefix_length}'"
    if e.operator == "IN":
        items = ", ".join(map(_text, e.operands[1:]))
        return f"{_operand(e.operands[0])} IN [{items}]"
    if e.operator == "//":
        return f"floor({_operand(e.operands[0])}/{_operand(e.operands[1])})"
    if e.operator in _CALLS:
        return f"{e.operator.lower()}({', '.join(map(_text, e.operands))})"
    if e.operator == "IS_NULL":
        return f"{_operand(e.operands[0])} IS NULL"
    if len(e.operands) == 1:
        word = {"neg": "-", "NOT": "NOT "}.get(e.operator, e.operator)
        return f"{word}{_operand(e.operands[0])}"
    sign = f" {e.operator} " if e.operator in _WORDS or e.operator not in "*/%" else e.operator
    return sign.join(map(_operand, e.operands))


def _call_text(e: FunctionCall) -> str:
    written = (a for a in e.arguments if not isinstance(a, SupergroupState))
    arguments = ", ".join(map(_text, written))
    is_predicate = e.symbol.startswith("gs_predicate_")
    return f"{e.name}[{arguments}]" if is_predicate else f"{e.name}({arguments})"


def _list_text(e: ListValue) -> str:
    if e.column is not None:
        return f"{e.watchlist.name}.{e.watchlist.columns[e.column].name}"
    columns = (e.watchlist.columns[at].name for at in e.watchlist.keys)
    pairs = zip(map(_text, e.keys), columns, strict=True)
    return " AND ".join(f"{key} = {e.watchlist.name}.{column}" for key, column in pairs)


def progress_text(expression: Expression) -> str:
    """How a bound passes an expression, and back; empty if it is not temporal."""
    function = monotone(expression)
    return "" if function is None else punctuation_text(function)


def punctuation_text(function: Monotone) -> str:
    """`punctuation of time b -> b/60, inverse v -> 60*v`; bounds that fall are of negatives."""
    read = ", ".join(function.input_names)
    if function.is_identity:
        return f"punctuation of {read}"
    inverse = f", inverse {function.inverse_text}" if function.inverse_text else ""
    return f"punctuation of {read} {function.forward_text}{inverse}"
