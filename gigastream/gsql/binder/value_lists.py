# SPDX-License-Identifier: Apache-2.0
"""Aggregates whose answer is a text of the values that there were: of what, and what is between."""

from __future__ import annotations

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.binder.declared import built_in
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.queries import AggregateCall
from gigastream.gsql.types import Type
from gigastream.late_dataclass import replace

_SEPARATOR = b", "
"""Where the query names none."""


def has_text(type_: Type) -> bool:
    """Whether text(x) makes text of it, or it is one."""
    return type_.is_integer or type_.is_address or type_ is Type.STRING


def of_texts(
    aggregate: AggregateCall, separator: Expression | None, context: BindingContext
) -> AggregateCall | None:
    """The same of texts, with what stands between them; None, and an error, where that varies."""
    assert aggregate.argument is not None
    text: Expression | None = aggregate.argument
    if aggregate.argument.type is not Type.STRING:
        text = built_in(context, "text", [aggregate.argument], aggregate.argument.span)
    if separator is None:
        return replace(aggregate, argument=text, separator=_SEPARATOR)
    value = separator.value if isinstance(separator, Constant) else None
    if isinstance(value, bytes) and separator.type is Type.STRING:
        return replace(aggregate, argument=text, separator=value)
    message = f"the separator of {aggregate.function} is a constant text"
    hint = "a literal, a $parameter or a #define"
    context.sink.error("wrong-arguments", message, separator.span, hint)
    return None
