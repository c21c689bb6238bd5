# SPDX-License-Identifier: Apache-2.0
"""COALESCE, NULLIF, GREATEST, LEAST as C: every operand once, and only what is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gigastream.codegen.c_text import C_TYPE, Lines, zero
from gigastream.gsql.expressions import Expression, Operation
from gigastream.late_dataclass import dataclass

CHOICES = ("COALESCE", "NULLIF", "GREATEST", "LEAST")


class Written(Protocol):
    """A C expression, and the condition under which it is NULL."""

    @property
    def code(self) -> str: ...

    @property
    def null(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ChoiceWriter:
    """Writes them by how operands are written and compared."""

    lines: Lines
    value: Callable[[Expression], Written]
    compared: Callable[[str, list[str]], str]
    """Two values of the operands' type by an operator."""

    def chosen(self, e: Operation) -> tuple[str, str]:
        """Statements, and the variables that hold the value and whether it is NULL."""
        result, null = self.lines.name(), self.lines.name("n")
        self.lines.add(f"{C_TYPE[e.type]} {result} = {zero(e.type)};", f"bool {null} = 1;")
        if e.operator == "COALESCE":
            self._first(e, result, null)
        elif e.operator == "NULLIF":
            self._null_if(e, result, null)
        else:
            self._extreme(e, result, null)
        return result, null

    def _first(self, e: Operation, result: str, null: str) -> None:
        for operand in e.operands:
            with self.lines.block(f"if ({null})"):
                self._taken_if("", self.value(operand), result, null)

    def _null_if(self, e: Operation, result: str, null: str) -> None:
        value, other = map(self.value, e.operands)
        self._taken_if("", value, result, null)
        is_there = f"!({other.null}) && " if other.null else ""
        equal = self.compared("=", [result, other.code])
        self.lines.add(f"if (!{null} && {is_there}{equal}) {null} = 1;")

    def _extreme(self, e: Operation, result: str, null: str) -> None:
        sign = ">" if e.operator == "GREATEST" else "<"
        for operand in e.operands:
            value = self.value(operand)
            beyond = self.compared(sign, [value.code, result])
            self._taken_if(f"({null} || {beyond})", value, result, null)

    def _taken_if(self, condition: str, value: Written, result: str, null: str) -> None:
        conditions = [f"!({value.null})"] if value.null else []
        conditions += [condition] if condition else []
        head = f"if ({' && '.join(conditions)}) " if conditions else ""
        self.lines.add(f"{head}{{ {result} = {value.code}; {null} = 0; }}")
