# SPDX-License-Identifier: Apache-2.0
"""DEFINE { outer_default zero; }: what an absent side of an outer join has, as TigonSQL gave it."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.binder.join_rows import JoinedRows, Read, Seen
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Case, ColumnRef, Constant, ConstantValue, Expression
from gigastream.gsql.operations.conditions import conjunction, null_test
from gigastream.gsql.types import Temporal, Type

_ZEROS: dict[Type, ConstantValue] = {
    Type.BOOL: False,
    Type.FLOAT: 0.0,
    Type.STRING: b"",
    Type.IPV6: bytes(16),
    Type.INET: bytes(16),
}


def with_zeros(rows: JoinedRows) -> Seen:
    """What names mean where an absent side is 0 and ''; a NULL that a side has stays one."""

    def seen(reads: Sequence[Expression]) -> Expression:
        column = rows.joined(reads)
        if not column.nullable or column.type.is_opaque:
            return column
        assert isinstance(column, ColumnRef)
        return _zero_where_absent(rows, column)

    return seen


def _zero_where_absent(rows: JoinedRows, column: ColumnRef) -> Expression:
    """Zero where all of the sides are absent that the column may come from."""
    origins = rows.origins(column.index)
    present = [_presence(rows, read) for read in origins]
    if not all(side.nullable for side in present):
        return column
    tests = [null_test(side, column.span) for side in present]
    absent = conjunction("AND", tests, column.span, DiagnosticSink())
    nullable = any(read.nullable for read in origins)
    return _zero_where(absent, column, nullable=nullable)


def _presence(rows: JoinedRows, read: Read) -> ColumnRef:
    """A column that is NULL where the FROM item of `read` is absent, and nowhere else."""
    told = rows.presence(read.port) if read.nullable else None
    return rows.column([told or read], own=True)


def _zero_where(absent: Expression | None, column: ColumnRef, *, nullable: bool) -> Expression:
    assert absent is not None
    zero = Constant(
        type=column.type,
        temporal=Temporal.CONSTANT,
        value=_ZEROS.get(column.type, 0),
        span=column.span,
    )
    return Case(
        type=column.type,
        nullable=nullable,
        branches=((absent, zero),),
        otherwise=column,
        span=column.span,
    )
