# SPDX-License-Identifier: Apache-2.0
"""Calls of functions in Python as their batches need them: Arrow's types in the place of GSQL's."""

from __future__ import annotations

from gigastream.arrow_schema import arrow_type
from gigastream.batch_calls import BatchCall
from gigastream.group_calls import GroupCall, RowsCall
from gigastream.gsql.expressions import PythonAggregateCall, PythonCall, PythonRow


def batch_call(call: PythonCall) -> BatchCall | RowsCall:
    """What of a call its batches need."""
    if isinstance(call, PythonRow):
        return RowsCall(call.takes_null)
    needed = {
        "name": call.name,
        "result": arrow_type(call.type),
        "takes_null": call.takes_null,
        "may_be_null": call.may_be_null,
        "ends": call.ends,
        "code": call.code,
    }
    if not isinstance(call, PythonAggregateCall):
        return BatchCall(**needed)
    return GroupCall(
        **needed,
        types=tuple(map(arrow_type, call.row_types)),
        rows_take_null=call.rows_take_null,
        most_bytes=call.most_bytes,
    )
