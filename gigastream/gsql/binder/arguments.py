# SPDX-License-Identifier: Apache-2.0
"""What the functions of the language ask of their arguments."""

from __future__ import annotations

from gigastream.gsql.binder.context import BindingContext
from gigastream.gsql.expressions import Constant, Expression
from gigastream.gsql.syntax import ast

Bound = list[Expression | None]
"""Arguments; None is one that was wrong, and reported."""


def has_arguments(context: BindingContext, call: ast.Call, count: int, shape: str) -> bool:
    """Whether there are so many; an error with the shape of a good call where not."""
    if len(call.args) == count and not call.star and not call.distinct:
        return True
    noun = "argument" if count == 1 else "arguments"
    message = f"{call.name} takes {count} {noun}"
    context.sink.error("wrong-arguments", message, call.span, f"write {shape}")
    return False


def known(arguments: Bound) -> list[Expression] | None:
    """The arguments, if none of them was wrong."""
    good = [argument for argument in arguments if argument is not None]
    return good if len(good) == len(arguments) else None


def constant_text(expression: Expression) -> str | None:
    """The text that an expression is; None for all else."""
    value = expression.value if isinstance(expression, Constant) else None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None
