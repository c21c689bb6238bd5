# SPDX-License-Identifier: Apache-2.0
"""C functions over whole columns that a shared object gives to who has no engine: their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gigastream.codegen.c_text import C_TYPE, Lines, constant
from gigastream.codegen.context import CodeContext
from gigastream.gsql.expressions import Constant
from gigastream.gsql.types import Type, size_of

HANDLES = "void *const *handles"


class Exports:
    """C functions by their names: what two aggregates need is there once."""

    def __init__(self) -> None:
        self._found: dict[str, Lines] = {}

    @contextmanager
    def function(self, result: str, name: str, parameters: Sequence[str]) -> Iterator[Lines]:
        """The body of a function."""
        self._found[name] = lines = Lines()
        lines.add('__attribute__((visibility("default")))')
        with lines.block(f"{result} {name}({', '.join(parameters)})"):
            yield lines
        lines.add("")

    def text(self) -> str:
        return "".join(lines.text() for lines in self._found.values())


def read_value(lines: Lines, type_: Type, name: str, values: str, row: str) -> None:
    """A value of one size, which need not be aligned there."""
    c_type = C_TYPE[type_]
    lines.add(
        f"{c_type} {name};",
        f"memcpy(&{name}, {values} + {row} * {size_of(type_)}, {size_of(type_)});",
    )


def read_argument(lines: Lines, type_: Type, index: int, columns: str = "values") -> None:
    """A row's value of a column, as `x` and its number."""
    if type_ is not Type.STRING:
        read_value(lines, type_, f"x{index}", f"{columns}[{index}]", "row")
        return
    at = f"offsets[{index}]"
    lines.add(
        f"const struct gs_string x{index} = {{{columns}[{index}] + {at}[row], "
        f"(uint32_t)({at}[row + 1] - {at}[row])}};"
    )


def put_value(lines: Lines, type_: Type) -> None:
    """A row's value into its column; strings only where there is room, but counted."""
    if type_ is not Type.STRING:
        lines.add(f"memcpy(values + row * {size_of(type_)}, &value, {size_of(type_)});")
        return
    lines.add("if (!valid[row]) value.length = 0;")
    with lines.block("if (value.length != 0 && used + value.length <= capacity)"):
        lines.add("memcpy(values + used, value.bytes, value.length);")
    lines.add("used += value.length;", "ends[row] = (int32_t)used;")


def write_handles(found: Exports, context: CodeContext) -> None:
    """All of them are made at once, and live as long as the process."""
    parameters = ("void **handles", "char *message", "size_t message_size")
    with found.function("int32_t", "gs_open_handles", parameters) as lines:
        lines.add("(void)handles, (void)message, (void)message_size;")
        for number, (suffix, argument) in enumerate(context.handles):
            assert isinstance(argument, Constant)
            made = f"gs_handle_{suffix}_new({constant(argument)}, message, message_size)"
            lines.add(f"handles[{number}] = {made};", f"if (handles[{number}] == NULL) return -1;")
        lines.add(f"return {len(context.handles)};")
    with found.function("int32_t", "gs_handle_count", ("void",)) as lines:
        lines.add(f"return {len(context.handles)};")
