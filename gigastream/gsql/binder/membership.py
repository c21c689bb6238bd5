# SPDX-License-Identifier: Apache-2.0
"""`x IN [a, b]` and `x IN IP_VAL'10.0.0.0/8'`."""

from __future__ import annotations

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.literals import constant, prefix
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant, Expression, Operation, may_have_no_value
from gigastream.gsql.operations import conditions
from gigastream.gsql.operations.conversion import (
    common_of_types,
    common_type,
    converted,
    is_null,
    mapped,
    with_article,
)
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Temporal, Type

IPV4_BITS = 96
"""Of an INET that holds an IPv4 address, before it."""


def in_values(
    operand: Expression | None,
    items: list[Expression | None],
    span: Span,
    sink: DiagnosticSink,
) -> Expression | None:
    """Whether a value is one of a list of constants."""
    if operand is None or None in items:
        return None
    values = [item for item in items if item is not None]
    types = [_type_met(operand, value, sink) for value in values]
    if None in types:
        return None
    type_ = operand.type
    for met in types:
        type_ = common_of_types(type_, met or type_) or type_
    return _membership(converted(operand, type_), values, span)


def _type_met(operand: Expression, value: Expression, sink: DiagnosticSink) -> Type | None:
    """In which type a value of the list is compared; an error if there is none.

    A whole number is compared in the operand's type: one that it cannot hold is none of its values.
    """
    if is_null(value):
        sink.error("null-comparison", "nothing is equal to NULL", value.span, "write x IS NULL")
        return None
    if operand.type.is_integer and value.type.is_integer:
        return operand.type
    return conditions.comparable(operand, value, value.span, sink)


def _membership(operand: Expression, values: list[Expression], span: Span) -> Expression:
    typed = [converted(value, operand.type) for value in values]
    constants = tuple(value for value in typed if isinstance(value, Constant))
    if not constants:
        return _never(operand, span)
    return Operation(
        type=Type.BOOL,
        nullable=operand.nullable,
        operator="IN",
        operands=(operand, *constants),
        span=span,
    )


def _never(operand: Expression, span: Span) -> Expression:
    """The list holds no value of the type: false; of NULL it is NULL, and none where x has none."""
    if not operand.nullable and not may_have_no_value(operand):
        return constant(Type.BOOL, False, span)
    return Operation(
        type=Type.BOOL,
        nullable=operand.nullable,
        operator="<>",
        operands=(operand, operand),
        span=span,
    )


def in_prefix(
    operand: Expression | None, node: ast.SyntaxExpression, span: Span, context: BindingContext
) -> Expression | None:
    """Whether an address is in a prefix; an IPv4 one lies behind 96 bits of an INET.

    IPv4 addresses are in no prefix of IPv6, though their 16 bytes may begin as it does (`::/0`).
    """
    found = prefix(node, context)
    if operand is None or found is None:
        return None
    if not operand.type.is_address:
        message = f"IN and a prefix stand behind an address, not {with_article(operand.type)}"
        context.sink.error("wrong-type", message, operand.span)
        return None
    network, length = found
    met = common_type(operand, network) or Type.INET
    if met is not network.type and network.type is Type.IP:
        length += IPV4_BITS
    address = converted(operand, met)
    test = _begins_with(address, converted(network, met), length, span)
    ipv4 = Constant(type=met, temporal=Temporal.CONSTANT, value=mapped(0), span=span)
    if not _holds_ipv4(network, length):
        return test
    is_ipv4 = _begins_with(address, ipv4, IPV4_BITS, span)
    return conditions.logical("AND", (test, conditions.logical("NOT", (is_ipv4,), span)), span)


def _holds_ipv4(network: Constant, length: int) -> bool:
    """Whether a prefix of IPv6 begins as all IPv4 addresses do, ::ffff:0:0/96."""
    if not isinstance(network.value, bytes) or length >= IPV4_BITS:
        return False
    number, ipv4 = (int.from_bytes(found, "big") for found in (network.value, mapped(0)))
    return number >> (128 - length) == ipv4 >> (128 - length)


def _begins_with(address: Expression, network: Expression, length: int, span: Span) -> Operation:
    return Operation(
        type=Type.BOOL,
        nullable=address.nullable,
        operator="IS_PREFIX",
        operands=(address, network),
        prefix_length=length,
        span=span,
    )
