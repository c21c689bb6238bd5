# SPDX-License-Identifier: Apache-2.0
"""Checked expressions as C statements.

A value is a C expression and, where it may be NULL, a C condition. What has no value (division by
zero, overflow, a partial function) runs the writer's `fail` statement, which drops the tuple. AND,
OR and CASE evaluate only what they need, so that a guarded division is safe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby

from gigastream.codegen.c_text import C_TYPE, Lines, bytes_differ, constant, zero
from gigastream.codegen.choices import CHOICES, ChoiceWriter
from gigastream.codegen.membership import among, is_long, within
from gigastream.gsql.expressions import (
    Case,
    Cast,
    Constant,
    Expression,
    FunctionCall,
    Operation,
    PythonResult,
    may_have_no_value,
)
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, replace

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


CHUNK = 32
"""Conditions in one C expression."""


@dataclass(frozen=True, slots=True)
class CValue:
    """A C expression without side effects, and the condition under which it is NULL."""

    code: str
    null: str = ""


@dataclass(frozen=True, slots=True)
class _Logic:
    """C variables of an AND or OR: its value, whether it is NULL, whether a value is missing."""

    result: str
    null: str
    missing: str
    decided: str
    """The value that decides alone."""

    @property
    def is_open(self) -> str:
        """C condition: nothing has decided yet."""
        return f"{self.result} != {self.decided}"


class ExpressionWriter:
    """Writes the statements that compute expressions into `lines`."""

    def __init__(
        self,
        lines: Lines,
        leaf: Callable[[Expression], CValue],
        fail: str,
        handles: Callable[[FunctionCall], str],
        scratch: str,
    ) -> None:
        self.lines = lines
        self._leaf = leaf
        self._fail = fail
        self._handles = handles
        self._scratch = scratch

    def value(self, e: Expression) -> CValue:
        """Statements for `e` and the value that they leave."""
        if isinstance(e, Constant):
            return CValue(zero(e.type), "1") if e.value is None else CValue(constant(e))
        if isinstance(e, Operation):
            return self._operation(e)
        if isinstance(e, Cast):
            return self._cast(e)
        if isinstance(e, Case):
            return self._case(e)
        if isinstance(e, FunctionCall):
            return self._call(e)
        if isinstance(e, PythonResult):
            return self._result(e)
        return self._leaf(e)

    def truth(self, e: Expression) -> str:
        """A C condition: `e` is true (NULL is not)."""
        value = self.value(e)
        return f"(!({value.null}) && {value.code})" if value.null else value.code

    def local(self, e: Expression, name: str) -> CValue:
        """The value of `e` in a variable called `name` (and `name`_null)."""
        value = self.value(e)
        self.lines.add(f"{C_TYPE[e.type]} {name} = {value.code};")
        if not value.null:
            return CValue(name)
        self.lines.add(f"bool {name}_null = {value.null};")
        return CValue(name, f"{name}_null")

    # -- NULL --

    def _guarded(self, e: Expression, values: list[CValue], compute: Callable[[], str]) -> CValue:
        """compute() where no operand is NULL, else NULL."""
        nulls = [value.null for value in values if value.null]
        if not nulls:
            return CValue(compute())
        result, null = self.lines.name(), self.lines.name("n")
        self.lines.add(
            f"bool {null} = {' || '.join(nulls)};", f"{C_TYPE[e.type]} {result} = {zero(e.type)};"
        )
        with self.lines.block(f"if (!{null})"):
            code = compute()
            self.lines.add(f"{result} = {code};")
        return CValue(result, null)

    # -- operations --

    def _operation(self, e: Operation) -> CValue:
        if e.operator in ("AND", "OR"):
            return self._logical(e)
        if e.operator in CHOICES:
            return self._chosen(e)
        if e.operator == "IS_NULL":
            return CValue(self.value(e.operands[0]).null or "0")
        # the constants of a long list go into a table, not into variables
        operands = e.operands[:1] if e.operator == "IN" and is_long(e.operands[1:]) else e.operands
        values = [self.value(operand) for operand in operands]
        return self._guarded(e, values, lambda: self._computed(e, [v.code for v in values]))

    def _chosen(self, e: Operation) -> CValue:
        type_ = e.operands[0].type
        writer = ChoiceWriter(self.lines, self.value, lambda op, c: _compared(op, type_, c))
        result, null = writer.chosen(e)
        return CValue(result, null if e.nullable else "")

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
        if is_long(e.operands[1:]):
            return among(self.lines, e.operands[1:], codes[0])
        type_ = e.operands[0].type
        tests = [_compared("=", type_, [codes[0], code]) for code in codes[1:]]
        return "(" + " || ".join(tests) + ")"

    def _arithmetic(self, e: Operation, codes: list[str]) -> str:
        if e.operator == "//":
            return f"gs_bound_floor_quotient({codes[0]}, {codes[1]})"
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

    def _logical(self, e: Operation) -> CValue:
        """AND and OR of any number of operands: those that always have a value come first.

        Of the others all but the last are asked whether they have one, since what comes behind
        may decide all the same; that of the last one is missing only where nothing has decided.
        """
        operands = sorted(e.operands, key=may_have_no_value)
        if any(map(may_have_no_value, operands[:-1])):
            return self._logical_with_gaps(e, operands)
        return self._logical_in_turn(e.operator, operands)

    def _logical_in_turn(self, operator: str, operands: list[Expression]) -> CValue:
        """One after the other; those that need no statements are one C expression."""
        value: CValue | None = None
        for is_plain, group in groupby(operands, self._is_plain):
            if is_plain and not (value and value.null):
                value = self._in_one(operator, value, list(group))
                continue
            for operand in group:
                value = (
                    self._pair_in_steps(operator, value, operand)
                    if value
                    else (self.value(operand))
                )
        assert value is not None
        return value

    def _logical_with_gaps(self, e: Operation, operands: list[Expression]) -> CValue:
        decided = "0" if e.operator == "AND" else "1"
        state = _Logic(self.lines.name(), self.lines.name("n"), self.lines.name("m"), decided)
        self.lines.add(f"bool {state.result} = !{decided}, {state.null} = 0, {state.missing} = 0;")
        for operand in operands[:-1]:
            self._asked(state, operand)
        with self.lines.block(f"if ({state.is_open})"):
            self._met(state, self.value(operands[-1]))
        self.lines.add(f"if (GS_UNLIKELY({state.missing} && {state.is_open})) {self._fail}")
        return CValue(state.result, state.null if e.nullable else "")

    def _asked(self, state: _Logic, operand: Expression) -> None:
        """An operand, if nothing has decided; where it has no value the others are asked."""
        with self.lines.block(f"if ({state.is_open})"):
            if not may_have_no_value(operand):
                self._met(state, self.value(operand))
                return
            without, after = self.lines.name("without"), self.lines.name("after")
            fail, self._fail = self._fail, f"goto {without};"
            value = self.value(operand)
            self._fail = fail
            self._met(state, value)
            self.lines.add(f"goto {after};", f"{without}: {state.missing} = 1;", f"{after}:;")

    def _met(self, state: _Logic, value: CValue) -> None:
        """Three-valued logic: NULL stays unless a later operand decides."""
        if value.null:
            self.lines.add(f"if ({value.null}) {state.null} = 1;", "else")
        self.lines.add(
            f"if ({value.code} == {state.decided}) "
            f"{{ {state.result} = {state.decided}; {state.null} = 0; }}"
        )

    def _in_one(self, operator: str, left: CValue | None, operands: list[Expression]) -> CValue:
        """C's own && and ||, side by side: a compiler's brackets nest only so deep."""
        codes = [left.code] if left else []
        rest, prefixes = _prefix_lists(operands) if operator == "OR" else (operands, [])
        codes += [self.value(operand).code for operand in rest]
        codes += [
            within(self.lines, group, self.value(group[0].operands[0]).code) for group in prefixes
        ]
        while len(codes) > CHUNK:
            codes = [self._together(operator, codes[:CHUNK]), *codes[CHUNK:]]
        return CValue(_joined(operator, codes))

    def _together(self, operator: str, codes: list[str]) -> str:
        """A part of a long chain in a variable: compilers are slow in long ones."""
        result = self.lines.name()
        self.lines.add(f"bool {result} = {_joined(operator, codes)};")
        return result

    def _is_plain(self, e: Expression) -> bool:
        """True if no statement is needed for it, so that C's own && and || do."""
        if isinstance(e, FunctionCall | Case | PythonResult):
            return False
        if getattr(e, "checked", False) or getattr(e, "operator", "") in CHOICES:
            return False
        return not e.nullable and all(map(self._is_plain, e.children))

    def _pair_in_steps(self, operator: str, left: CValue, operand: Expression) -> CValue:
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
        return CValue(result, null if left.null or operand.nullable else "")

    # -- the rest --

    def _cast(self, e: Cast) -> CValue:
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

    def _case(self, e: Case) -> CValue:
        """Branch behind branch, each leaving for the end: a thousand of them nest no deeper."""
        result, null, end = self.lines.name(), self.lines.name("n"), self.lines.name("case")
        self.lines.add(f"{C_TYPE[e.type]} {result} = {zero(e.type)};", f"bool {null} = 0;")
        for condition, value in e.branches:
            with self.lines.block(""), self.lines.block(f"if ({self.truth(condition)})"):
                self._assign(value, result, null)
                self.lines.add(f"goto {end};")
        with self.lines.block(""):
            self._assign(e.otherwise, result, null)
        self.lines.add(f"{end}:;")
        return CValue(result, null if e.nullable else "")

    def _assign(self, e: Expression, result: str, null: str) -> None:
        value = self.value(e)
        self.lines.add(f"{result} = {value.code};")
        if value.null:
            self.lines.add(f"{null} = {value.null};")

    def _call(self, e: FunctionCall) -> CValue:
        values = [
            CValue(self._handles(e)) if index == e.handle else self._handed(argument)
            for index, argument in enumerate(e.arguments)
        ]
        return self._guarded(e, values, lambda: self._called(e, [v.code for v in values]))

    def _result(self, e: PythonResult) -> CValue:
        value, given = self._leaf(e.value), self._leaf(e.given)
        self.lines.add(f"if (GS_UNLIKELY(!{given.code})) {self._fail}")
        return replace(value, null=value.null if e.nullable else "")

    def _handed(self, argument: Expression) -> CValue:
        """Of an opaque value a function is given a pointer to its bytes."""
        value = self.value(argument)
        return replace(value, code=f"{value.code}.bytes") if argument.type.is_opaque else value

    def _called(self, e: FunctionCall, codes: list[str]) -> str:
        if e.type is Type.STRING:
            codes = [self._scratch, *codes]
        if e.type.is_opaque:
            return self._filled(e, codes)
        if not e.partial:
            code = f"{e.symbol}({', '.join(codes)})"
            return self._finite(code) if e.may_be_infinite else code
        result = self.lines.name()
        arguments = ", ".join([*codes, f"&{result}"])
        self.lines.add(
            f"{C_TYPE[e.type]} {result};",
            f"if (GS_UNLIKELY(!{e.symbol}({arguments}))) {self._fail}",
        )
        return result

    def _filled(self, e: FunctionCall, codes: list[str]) -> str:
        """An opaque result: a function is given a pointer to as many bytes, all of them 0."""
        result = self.lines.name()
        call = f"{e.symbol}({', '.join([*codes, f'{result}.bytes'])})"
        self.lines.add(
            f"{C_TYPE[e.type]} {result} = {{{{0}}}};",
            f"if (GS_UNLIKELY(!{call})) {self._fail}" if e.partial else f"{call};",
        )
        return result

    def _finite(self, code: str) -> str:
        """What somebody's own function gives: an infinity and NaN are no value."""
        result = self.lines.name()
        self.lines.add(
            f"double {result} = {code};", f"if (GS_UNLIKELY(!isfinite({result}))) {self._fail}"
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
    if type_.is_opaque:
        return f"({bytes_differ(type_, left, right)} {c} 0)"
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


def _joined(operator: str, codes: list[str]) -> str:
    sign = " && " if operator == "AND" else " || "
    return codes[0] if len(codes) == 1 else f"({sign.join(codes)})"


def _prefix_lists(
    operands: list[Expression],
) -> tuple[list[Expression], list[list[Operation]]]:
    """What is no test of an address against prefixes, and long lists of those that are."""
    lists: dict[Expression, list[Operation]] = {}
    for e in operands:
        if isinstance(e, Operation) and e.operator == "IS_PREFIX":
            lists.setdefault(e.operands[0], []).append(e)
    long = [tests for tests in lists.values() if is_long(tests)]
    taken = {id(test) for tests in long for test in tests}
    return [e for e in operands if id(e) not in taken], long
