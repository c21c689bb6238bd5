# SPDX-License-Identifier: Apache-2.0
"""Packets where rows are wanted, in a MERGE and in a UNION with a query: which of their fields."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.gsql.binder.columns import Origins
from gigastream.gsql.binder.names import PacketNames
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import OutputColumn
from gigastream.gsql.source import Span
from gigastream.gsql.types import Schema


def fields_like(
    names: PacketNames, like: Schema, span: Span, sink: DiagnosticSink
) -> tuple[OutputColumn, ...] | None:
    """The fields that are named as the columns of a query; an error where there is none.

    Rows of queries meet by their places; a packet's fields have none that anybody would count.
    """
    found = [(column.name, names.find(column.name, span)) for column in like.columns]
    for name, field in found:
        if field is None:
            hint = did_you_mean(name, names.names)
            hint = hint or f"let a query read the packets: SELECT … AS {name}"
            message = f"{names.shown} has no field {name}, which the query beside it has"
            sink.error("different-schemas", message, span, hint)
            return None
    return columns_of(names, ((name, field) for name, field in found if field is not None))


def columns_of(
    names: PacketNames, fields: Iterable[tuple[str, Expression]]
) -> tuple[OutputColumn, ...]:
    """Fields as the columns of a selection of them."""
    origins = Origins((names,))
    return tuple(origins.output(name, field) for name, field in fields)
