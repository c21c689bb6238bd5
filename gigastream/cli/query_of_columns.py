# SPDX-License-Identifier: Apache-2.0
"""What the output formats must know of rows of which the columns alone are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigastream.outputs import OutputQuery

if TYPE_CHECKING:
    from gigastream.gsql.types import Schema


def query_of_columns(name: str, schema: Schema) -> OutputQuery:
    """Return it; which numbers are quantities, the columns do not say."""
    from gigastream.arrow_schema import arrow_schema
    from gigastream.gsql.types import Type

    columns = schema.columns
    return OutputQuery(
        name=name,
        columns=tuple(column.name for column in columns),
        numeric=tuple(column.type.is_numeric for column in columns),
        times=tuple(column.type is Type.TIMESTAMP for column in columns),
        quantities=(False,) * len(columns),
        arrow_schema=lambda: arrow_schema(schema),
    )
