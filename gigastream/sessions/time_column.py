# SPDX-License-Identifier: Apache-2.0
"""Which column tells the windows of a query apart."""

from __future__ import annotations

from gigastream.gsql.types import Schema, Type
from gigastream.plan.builders import first_temporal


def time_column(schema: Schema) -> int | None:
    """The first column whose bounds say of every row whether its window is over."""
    counted = {
        index
        for index, column in enumerate(schema.columns)
        if column.type.is_integer or column.type is Type.TIMESTAMP
    }
    return first_temporal(schema, counted)
