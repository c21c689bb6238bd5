# SPDX-License-Identifier: Apache-2.0
"""A row of an input batch that goes on as it is, as C."""

from __future__ import annotations

from gigastream.codegen.c_text import C_TYPE, Lines
from gigastream.codegen.columns import opaque_cell, write_row
from gigastream.codegen.expressions import CValue
from gigastream.gsql.types import Schema, Type


def cell(type_: Type, batch: str, index: int, row: str) -> str:
    """C expression: the value of a column of a batch, a pointer, in a row."""
    at = f"{batch}->columns[{index}]"
    if type_ is Type.STRING:
        return f"gs_column_string(&{at}, {row})"
    if type_ is Type.BOOL:
        return f"(uint8_t)gs_bit_get({at}.values, {row})"
    if type_.is_opaque:
        return opaque_cell(type_, f"{at}.values", row)
    return f"((const {C_TYPE[type_]} *){at}.values)[{row}]"


def write_copy(lines: Lines, prefix: str, schema: Schema) -> None:
    """`<prefix>_copy`: a row of the input to the output, whose columns are the input's first."""
    head = (
        f"static void {prefix}_copy(struct gs_operator *op, const struct gs_batch *input, "
        "uint32_t row)"
    )
    with lines.block(head):
        values = []
        for index, column in enumerate(schema.columns):
            null = f"gs_column_is_null(&input->columns[{index}], row)" if column.nullable else ""
            values.append(CValue(cell(column.type, "input", index, "row"), null))
        write_row(lines, "op", "operator", schema, values, "return")
    lines.add("")
