# SPDX-License-Identifier: Apache-2.0
"""What the output formats must know of a plan's queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.outputs import OutputQuery, TimeColumn

if TYPE_CHECKING:
    from gigastream.gsql.types import Schema
    from gigastream.plan import Plan


def output_queries(plan: Plan) -> tuple[OutputQuery, ...]:
    """Return it, a query each."""
    from gigastream.arrow_schema import arrow_schema
    from gigastream.gsql.types import Type
    from gigastream.plan.nodes import quantities_of

    return tuple(
        OutputQuery(
            name=node.name,
            columns=tuple(column.name for column in node.schema.columns),
            numeric=tuple(column.type.is_numeric for column in node.schema.columns),
            times=tuple(column.type is Type.TIMESTAMP for column in node.schema.columns),
            quantities=quantities_of(node),
            arrow_schema=lambda schema=node.schema: arrow_schema(schema),  # type: ignore[misc]
            time_column=_time_column(node.schema),
        )
        for node in plan.outputs
    )


def _time_column(schema: Schema) -> TimeColumn | None:
    """Return the first column whose bounds say of every row whether its window is over."""
    from gigastream.gsql.types import Temporal, Type

    for place, column in enumerate(schema.columns):
        is_counted = column.type.is_integer or column.type is Type.TIMESTAMP
        if column.temporal.is_temporal and is_counted and not column.nullable:
            return TimeColumn(place, column.temporal is Temporal.DECREASING)
    return None
