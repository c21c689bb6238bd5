# SPDX-License-Identifier: Apache-2.0
"""`@name`: a property of the interface that a packet came from, a constant for each interface.

A configuration gives texts. Where each interface that has the property has a whole number, it is
one. Several interfaces make a CASE over the packet's `interface`; one alone makes a constant.
"""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.literals import constant
from gigastream.gsql.binder.names import Scope
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.expressions import INTERFACE_NAME, Constant, Expression, FieldRef
from gigastream.gsql.operations import arithmetic, conditions
from gigastream.gsql.operations.conversion import flexible_constant
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace

_MOST_DIGITS = 18


def interface_property(
    node: ast.InterfaceProperty, scope: Scope, context: BindingContext
) -> Expression | None:
    """What the property is of a packet's interface; NULL where that has none."""
    values = _values(node, context)
    interface = _interface(node, scope, context) if values is not None else None
    if values is None or interface is None:
        return None
    found = {name: _constant(values, text, node.span) for name, text in values.items()}
    known = context.properties or {}
    if found.keys() == known.keys() and len(set(values.values())) == 1:
        return next(iter(found.values()))
    branches: list[tuple[Expression | None, Expression | None]] = [
        (_is(interface, name, node.span, context), value) for name, value in found.items()
    ]
    otherwise: Expression | None = constant(Type.BOOL, None, node.span)
    if found.keys() == known.keys():
        _, otherwise = branches.pop()
    return arithmetic.choice(branches, otherwise, node.span, context.sink)


def _values(node: ast.InterfaceProperty, context: BindingContext) -> Mapping[str, str] | None:
    """By interface, the values; None after an error."""
    if context.properties is None:
        message = f"which interfaces there are, and what @{node.name} is of them, is not known"
        hint = "-c FILE.toml names a configuration with their properties, [interface.NAME]"
        context.sink.error("unknown-interface", message, node.span, hint)
        return None
    known = {name: {"name": name, **own} for name, own in context.properties.items()}
    values = {name: own[node.name] for name, own in known.items() if node.name in own}
    if not values:
        names = sorted({name for own in known.values() for name in own})
        hint = did_you_mean(node.name, names) or f"properties are {', '.join(names)}"
        message = f"no interface has a property {node.name}"
        context.sink.error("unknown-property", message, node.span, hint)
    return values or None


def _interface(
    node: ast.InterfaceProperty, scope: Scope, context: BindingContext
) -> FieldRef | None:
    """The field that says where a packet came from; an error over anything but packets."""
    qualifier = tuple(node.source.split(".")) if node.source else ()
    own = DiagnosticSink()
    columns = replace(scope, variables={}, aliases={})
    found = columns.resolve(ast.Name(qualifier, "interface", span=node.span), own)
    if isinstance(found, FieldRef):
        return replace(found, accessor=INTERFACE_NAME)
    wrong = [item for item in own.diagnostics if item.code != "unknown-column"]
    for item in wrong:
        context.sink.add(item)
    if wrong:
        return None
    if not all(source.is_known for source in scope.sources):
        return None
    message = f"@{node.name} is a property of packets' interfaces"
    hint = f"select it in a query that reads packets: @{node.name} AS {node.name}"
    context.sink.error("misplaced-property", message, node.span, hint)
    return None


def _constant(values: Mapping[str, str], text: str, span: Span) -> Constant:
    if all(v.isascii() and v.isdigit() and len(v) <= _MOST_DIGITS for v in values.values()):
        number = flexible_constant(int(text), span)
        return number or constant(Type.ULLONG, int(text), span)
    return constant(Type.STRING, text.encode(), span)


def _is(interface: FieldRef, name: str, span: Span, context: BindingContext) -> Expression | None:
    value = constant(Type.STRING, name.encode(), span)
    return conditions.comparison("=", interface, value, span, context.sink)
