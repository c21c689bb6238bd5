# SPDX-License-Identifier: Apache-2.0
"""Checked expressions as C statements.

A value is a C expression and, where it may be NULL, a C condition. What has no value (division by
zero, overflow, a partial function) runs the writer's `fail` statement, which drops the tuple. AND,
OR and CASE evaluate only what they need, so that a guarded division is safe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from gigastream.codegen.c_text import C_TYPE, Lines, constant, zero
from gigastream.gsql.expressions import (
    Case,
    Cast,
    Constant,
    Expression,
    FunctionCall,
    Operation,
)
from gigastream.gsql.types import Type

COMPARISONS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
WIDEST = {
    Type.BOOL: "ullong",
    Type.USHORT: "ullong",
    Type.UINT: "ullong",
    Type.IP: "ullong",
    Type.ULLONG: "ullong",
    Type.INT: "llong",
    Type.LLONG: "llong",
    Type.TIMESTAMP: "llong",
    Type.FLOAT: "float",
}
CHECKED = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "modulo",
    "<<": "shift_left",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A C expression without side effects, and the condition under which it is NULL."""

    code: str
    null: str = ""


class ExpressionWriter:
    """Writes the statements that compute expressions into `lines`."""

    def __init__(
        self,
        lines: Lines,
        leaf: Callable[[Expression], Value],
        fail: str,
        handles: Callable[[FunctionCall], str],
        scratch: str,
    ) -> None:
        self.lines = lines
        self._leaf = leaf
        self._fail = fail
        self._handles = handles
        self._scratch = scratch

    def value(self, e: Expression) -> Value:
        """Statements for `e` and the value that they leave."""
        if isinstance(e, Constant):
            return Value(zero(e.type), "1") if e.value is None else Value(constant(e))
        if isinstance(e, Operation):
            return self._operation(e)
        if isinstance(e, Cast):
            return self._cast(e)
        if isinstance(e, Case):
            return self._case(e)
        if isinstance(e, FunctionCall):
            return self._call(e)
        return self._leaf(e)

    def truth(self, e: Expression) -> str:
        """A C condition: `e` is true (NULL is not)."""
        value = self.value(e)
        return f"(!({value.null}) && {value.code})" if value.null else value.code

    def local(self, e: Expression, name: str) -> Value:
        """The value of `e` in a variable called `name` (and `name`_null)."""
        value = self.value(e)
        self.lines.add(f"{C_TYPE[e.type]} {name} = {value.code};")
        if not value.null:
            return Value(name)
        self.lines.add(f"bool {name}_null = {value.null};")
        return Value(name, f"{name}_null")

    # -- NULL --

    def _guarded(self, e: Expression, values: list[Value], compute: Callable[[], str]) -> Value:
        """compute() where no operand is NULL, else NULL."""
        nulls = [value.null for value in values if value.null]
        if not nulls:
            return Value(compute())
        result, null = self.lines.name(), self.lines.name("n")
        self.lines.add(
            f"bool {null} = {' || '.join(nulls)};", f"{C_TYPE[e.type]} {result} = {zero(e.type)};"
        )
        with self.lines.block(f"if (!{null})"):
            code = compute()
            self.lines.add(f"{result} = {code};")
        return Value(result, null)

    # -- operations --

    def _operation(self, e: Operation) -> Value:
        if e.operator in ("AND", "OR"):
            return self._logical(e)
        if e.operator == "IS_NULL":
            return Value(self.value(e.operands[0]).null or "0")
        values = [self.value(operand) for operand in e.operands]
        return self._guarded(e, values, lambda: self._computed(e, [v.code for v in values]))

    def _computed(self, e: Operation, codes: list[str]) -> str:
        if e.operator == "NOT":
            return f"(!{codes[0]})"
        if e.operator == "~":
            return f"(({C_TYPE[e.type]})~{codes[0]})"
        if e.operator == "neg":
            return self._negated(e, codes[0])
        if e.operator == "IN":
            return self._in(e, codes)
        if e.operator == "IS_PREFIX":
            return _is_prefix(e, codes)
        if e.operator in COMPARISONS:
            return _compared(e.operator, e.operands[0].type, codes)
        return self._arithmetic(e, codes)

    def _negated(self, e: Operation, code: str) -> str:
        if e.checked and e.type is not Type.FLOAT:
            return self._checked("gs_checked_negate_llong", [code], Type.LLONG, e.type)
        return f"(-({C_TYPE[e.type]}){code})"

    def _in(self, e: Operation, codes: list[str]) -> str:
        type_ = e.operands[0].type
        tests = [_compared("=", type_, [codes[0], code]) for code in codes[1:]]
        return "(" + " || ".join(tests) + ")"

    def _arithmetic(self, e: Operation, codes: list[str]) -> str:
        if e.checked:
            return self._checked_arithmetic(e, codes)
        c_type = C_TYPE[e.type]
        left, right = (f"({c_type}){code}" for code in codes)
        if e.operator == ">>":
            wide = WIDEST[e.type]
            return f"(({c_type})gs_shift_right_{wide}({codes[0]}, (uint64_t){codes[1]}))"
        if e.operator == "<<":
            return f"(({c_type})((uint64_t){left} << {codes[1]}))"
        return f"(({c_type})({left} {e.operator} {right}))"

    def _checked_arithmetic(self, e: Operation, codes: list[str]) -> str:
        wide = WIDEST[e.type]
        wide_type = {"llong": Type.LLONG, "ullong": Type.ULLONG, "float": Type.FLOAT}[wide]
        if e.operator == ">>":
            return f"(({C_TYPE[e.type]})gs_shift_right_{wide}({codes[0]}, (uint64_t){codes[1]}))"
        function = f"gs_checked_{CHECKED[e.operator]}_{wide}"
        return self._checked(function, codes, wide_type, e.type)

    def _checked(self, function: str, codes: list[str], wide: Type, type_: Type) -> str:
        result = self.lines.name()
        arguments = ", ".join([*codes, f"&{result}"])
        self.lines.add(
            f"{C_TYPE[wide]} {result};",
            f"if (GS_UNLIKELY(!{function}({arguments}))) {self._fail}",
        )
        if C_TYPE[wide] == C_TYPE[type_]:
            return result
        return self._fitted(result, wide, type_)

    def _fitted(self, code: str, from_: Type, to: Type) -> str:
        result = self.lines.name()
        name = {Type.TIMESTAMP: "llong", Type.BOOL: "ushort", Type.IP: "uint"}.get(to)
        function = f"gs_cast_{WIDEST[from_]}_{name or to.name.lower()}"
        self.lines.add(
            f"{C_TYPE[to]} {result};",
            f"if (GS_UNLIKELY(!{function}({code}, &{result}))) {self._fail}",
        )
        return result

    def _logical(self, e: Operation) -> Value:
        """AND and OR of any number of operands, evaluated one after the other."""
        value = self.value(e.operands[0])
        for operand in e.operands[1:]:
            value = self._pair(e.operator, value, operand)
        return value

    def _pair(self, operator: str, left: Value, operand: Expression) -> Value:
        if not left.null and not operand.nullable and self._is_plain(operand):
            sign = "&&" if operator == "AND" else "||"
            return Value(f"({left.code} {sign} {self.value(operand).code})")
        return self._pair_in_steps(operator, left, operand)

    def _is_plain(self, e: Expression) -> bool:
        """True if no statement is needed for it, so that C's own && and || do."""
        if isinstance(e, FunctionCall | Case):
            return False
        if getattr(e, "checked", False):
            return False
        return not e.nullable and all(map(self._is_plain, e.children))

    def _pair_in_steps(self, operator: str, left: Value, operand: Expression) -> Value:
        """Three-valued logic: what decides the result alone spares the right side."""
        result, null = self.lines.name(), self.lines.name("n")
        decided = "0" if operator == "AND" else "1"
        self.lines.add(f"bool {result} = {left.code}, {null} = {left.null or '0'};")
        with self.lines.block(f"if ({null} || {result} != {decided})"):
            right = self.value(operand)
            right_null = right.null or "0"
            self.lines.add(
                f"bool decided = !({right_null}) && {right.code} == {decided};",
                f"{null} = !decided && ({null} || {right_null});",
                f"{result} = decided ? {decided} : !{decided};",
            )
        return Value(result, null if left.null or operand.nullable else "")

    # -- the rest --

    def _cast(self, e: Cast) -> Value:
        inner = self.value(e.operand)
        if e.operand.type is e.type:
            return inner
        return self._guarded(e, [inner], lambda: self._converted(e, inner.code))

    def _converted(self, e: Cast, code: str) -> str:
        from_, to = e.operand.type, e.type
        if from_ is Type.INET and e.checked:
            return self._of_family(code, to)
        if to in (Type.INET, Type.IPV6):
            return f"gs_inet_from_ip({code})" if from_ is Type.IP else code
        if to is Type.BOOL:
            return f"({code} != 0)"
        if e.checked:
            return self._fitted(code, from_, to)
        return f"(({C_TYPE[to]}){code})"

    def _of_family(self, code: str, to: Type) -> str:
        result = self.lines.name()
        self.lines.add(
            f"{C_TYPE[to]} {result};",
            f"if (GS_UNLIKELY(!gs_cast_inet_{to.name.lower()}({code}, &{result}))) {self._fail}",
        )
        return result

    def _case(self, e: Case) -> Value:
        result, null = self.lines.name(), self.lines.name("n")
        self.lines.add(f"{C_TYPE[e.type]} {result} = {zero(e.type)};", f"bool {null} = 0;")
        self._branches(e, list(e.branches), result, null)
        return Value(result, null if e.nullable else "")

    def _branches(
        self, e: Case, branches: list[tuple[Expression, Expression]], result: str, null: str
    ) -> None:
        if not branches:
            self._assign(e.otherwise, result, null)
            return
        condition, value = branches[0]
        with self.lines.block(f"if ({self.truth(condition)})"):
            self._assign(value, result, null)
        with self.lines.block("else"):
            self._branches(e, branches[1:], result, null)

    def _assign(self, e: Expression, result: str, null: str) -> None:
        value = self.value(e)
        self.lines.add(f"{result} = {value.code};")
        if value.null:
            self.lines.add(f"{null} = {value.null};")

    def _call(self, e: FunctionCall) -> Value:
        values = [
            Value(self._handles(e)) if index == e.handle else self.value(argument)
            for index, argument in enumerate(e.arguments)
        ]
        return self._guarded(e, values, lambda: self._called(e, [v.code for v in values]))

    def _called(self, e: FunctionCall, codes: list[str]) -> str:
        if e.type is Type.STRING:
            codes = [self._scratch, *codes]
        if not e.partial:
            return f"{e.symbol}({', '.join(codes)})"
        result = self.lines.name()
        arguments = ", ".join([*codes, f"&{result}"])
        self.lines.add(
            f"{C_TYPE[e.type]} {result};",
            f"if (GS_UNLIKELY(!{e.symbol}({arguments}))) {self._fail}",
        )
        return result


def _compared(operator: str, type_: Type, codes: list[str]) -> str:
    left, right = codes
    c = COMPARISONS[operator]
    if type_ in (Type.INET, Type.IPV6):
        if operator == "=":
            return f"gs_inet_equal({left}, {right})"
        return f"(gs_inet_compare({left}, {right}) {c} 0)"
    if type_ is Type.STRING:
        return f"(gs_string_compare({left}, {right}) {c} 0)"
    return f"({left} {c} {right})"


def _is_prefix(e: Operation, codes: list[str]) -> str:
    """An address is in a prefix: the masked bits are those of the constant."""
    address, prefix = e.operands[0].type, e.operands[1]
    assert isinstance(prefix, Constant)
    if address is Type.IP:
        mask = (0xFFFFFFFF << (32 - e.prefix_length)) & 0xFFFFFFFF
        return f"(({codes[0]} & UINT32_C(0x{mask:08x})) == ({codes[1]} & UINT32_C(0x{mask:08x})))"
    bits = ((1 << 128) - 1) ^ ((1 << (128 - e.prefix_length)) - 1)
    octets = bits.to_bytes(16, "big")
    words = [int.from_bytes(octets[at : at + 8], sys.byteorder) for at in (0, 8)]
    masks = ", ".join(f"UINT64_C(0x{word:x})" for word in words)
    return f"gs_inet_in_prefix({codes[0]}, {codes[1]}, (struct gs_inet){{{{{masks}}}}})"
