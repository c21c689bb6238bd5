# SPDX-License-Identifier: Apache-2.0
"""Reading and writing the columns of batches, and the tables that describe them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gigastream.codegen.c_text import C_TYPE, Lines, enum_of, string_literal
from gigastream.codegen.expressions import CValue
from gigastream.gsql.expressions import ColumnRef, Expression, walk
from gigastream.gsql.types import Column, Schema, Temporal, Type

_TEMPORAL = {Temporal.INCREASING: 1, Temporal.DECREASING: -1}


def write_schema(lines: Lines, prefix: str, stream: str, schema: Schema) -> None:
    """`prefix`_schema, the constant description of a stream's columns."""
    with lines.block(f"static const struct gs_field {prefix}_fields[] =", "};"):
        for column in schema.columns:
            lines.add(
                f"{{{string_literal(column.name.encode())}, "
                f"{string_literal(column.subtype.encode())}, {enum_of(column.type)}, "
                f"{int(column.nullable)}, {_TEMPORAL.get(column.temporal, 0)}, "
                f"{column.type.size}}},"
            )
    lines.add(
        f"static const struct gs_schema {prefix}_schema = "
        f"{{{string_literal(stream.encode())}, {len(schema.columns)}, {prefix}_fields}};",
        "",
    )


def write_inputs(lines: Lines, expressions: Iterable[Expression], *batches: str) -> None:
    """A typed pointer c<port>_<index> for each column that they read of a port's batch."""
    seen: dict[tuple[int, int], Type] = {}
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, ColumnRef):
                seen.setdefault((node.port, node.index), node.type)
    for (port, index), type_ in sorted(seen.items()):
        name, column = f"c{port}_{index}", f"{batches[port]}->columns[{index}]"
        if type_ in (Type.STRING, Type.BOOL) or type_.is_opaque:
            lines.add(f"const struct gs_column *{name} = &{column};")
        else:
            lines.add(f"const {C_TYPE[type_]} *{name} = {column}.values;")


def column_leaf(*rows: tuple[str, str]) -> Callable[[Expression], CValue]:
    """Reads ColumnRefs; `rows` are, by port, the batch of write_inputs and the row in it."""

    def leaf(e: Expression) -> CValue:
        assert isinstance(e, ColumnRef)
        batch, row = rows[e.port]
        name = f"c{e.port}_{e.index}"
        null = f"gs_column_is_null(&{batch}->columns[{e.index}], {row})" if e.nullable else ""
        if e.type is Type.STRING:
            return CValue(f"gs_column_string({name}, {row})", null)
        if e.type is Type.BOOL:
            return CValue(f"gs_bit_get({name}->values, {row})", null)
        if e.type.is_opaque:
            return CValue(opaque_cell(e.type, f"{name}->values", row), null)
        return CValue(f"{name}[{row}]", null)

    return leaf


def opaque_cell(type_: Type, values: str, row: str) -> str:
    """C expression: a row of a column of opaque values."""
    return f"gs_opaque_{type_.size}_at({values}, {row})"


def put(batch: str, index: int, column: Column, row: str, value: CValue) -> list[str]:
    """Statements that write one value; strings have been reserved before."""
    at = f"{batch}->columns[{index}]"
    if column.type is Type.STRING:
        lines = [f"gs_column_put_string(&{at}, {row}, {value.code});"]
    elif column.type is Type.BOOL:
        lines = [f"gs_bit_set({at}.values, {row}, {value.code});"]
    elif column.type.is_opaque:
        place = f"(uint8_t *){at}.values + (size_t){row} * {column.type.size}"
        lines = [f"memcpy({place}, {value.code}.bytes, {column.type.size});"]
    else:
        lines = [f"(({C_TYPE[column.type]} *){at}.values)[{row}] = {value.code};"]
    if column.nullable:
        lines.append(f"gs_bit_set({at}.validity, {row}, !({value.null or '0'}));")
    return lines


def write_row(
    lines: Lines, owner: str, level: str, schema: Schema, values: list[CValue], skip: str
) -> None:
    """Append a row to `owner`->output; `skip` is the statement where there is no memory for it."""
    lengths = {
        index: f"{value.code}.length"
        for index, (column, value) in enumerate(zip(schema.columns, values, strict=True))
        if column.type is Type.STRING
    }
    if lengths:
        lines.add(f"const uint32_t lengths[] = {{{', '.join(lengths.values())}}};")
    output = f"{owner}->output"
    full = [f"{output}->row_count == {output}->row_capacity"]
    full += [
        f"!gs_column_fits(&{output}->columns[{index}], {output}->row_count, {length})"
        for index, length in lengths.items()
    ]
    room = f"{owner}->host->{level}_room({owner}, {'lengths' if lengths else 'NULL'})"
    lines.add(
        f"if (GS_UNLIKELY({' || '.join(full)}) && !{room}) {skip};",
        f"struct gs_batch *out = {output};",
        "const uint32_t to = out->row_count++;",
    )
    for index, (column, value) in enumerate(zip(schema.columns, values, strict=True)):
        lines.add(*put("out", index, column, "to", value))
