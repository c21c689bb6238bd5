# SPDX-License-Identifier: Apache-2.0
"""Declarations of functions in definition files (GSQL.md §2): FUN, PRED, UDAF, EXTR, STATE, SFUN.

Each reader finds the cursor behind its keyword; a new kind is one reader and one line in KINDS.
"""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.diagnostics import did_you_mean, printable
from gigastream.gsql.source import Span
from gigastream.gsql.syntax.ast import (
    TypeName,
)
from gigastream.gsql.syntax.cursor import Cursor
from gigastream.gsql.syntax.declarations import (
    AggregateDeclaration,
    Declaration,
    ExtractorDeclaration,
    FunctionDeclaration,
    Modifier,
    ParameterType,
    PredicateDeclaration,
    StateDeclaration,
    StatefulFunctionDeclaration,
)
from gigastream.gsql.syntax.lexer import Token

MODIFIERS: dict[str, tuple[str, ...] | None] = {
    "LFTA_LEGAL": (),
    "LFTA_ONLY": (),
    "HFTA_ONLY": (),
    "COST": ("FREE", "LOW", "HIGH", "EXPENSIVE"),
    "PARTIAL": (),
    "SUBAGGR": None,
    "SUPERAGGR": None,
    "RUNNING": (),
    "HEADER": None,
}
"""The modifiers, and the values each takes: none, one of these, or a name (None)."""

KINDS = {
    "FUN": "functions",
    "UDAF": "aggregates",
    "EXTR": "extractors",
    "STATE": "states",
    "SFUN": "stateful_functions",
}
"""The keyword behind the result type, and the field of Definitions where the declaration goes."""


def parse_function(cursor: Cursor) -> Declaration:
    """Read `type KIND …`; the caller has seen the keyword behind the type."""
    mark = cursor.mark()
    result = cursor.type_name()
    keyword = cursor.advance().text.upper()
    return _READERS[keyword](cursor, mark, result)


def parse_predicate(cursor: Cursor) -> PredicateDeclaration:
    """Read `PRED [mods] p[type, …]`; the current token is PRED."""
    mark = cursor.mark()
    cursor.advance()
    modifiers = _modifiers(cursor)
    name = cursor.name("the name of a predicate")
    parameters = _parameters(cursor, "[", "]")
    return PredicateDeclaration(name.text, parameters, modifiers, **_spans(cursor, name, mark))


def _function(cursor: Cursor, mark: int, result: TypeName) -> Declaration:
    modifiers = _modifiers(cursor)
    name = cursor.name("the name of a function")
    parameters = _parameters(cursor, "(", ")")
    spans = _spans(cursor, name, mark)
    return FunctionDeclaration(name.text, parameters, modifiers, result=result, **spans)


def _aggregate(cursor: Cursor, mark: int, result: TypeName) -> Declaration:
    modifiers = _modifiers(cursor)
    name = cursor.name("the name of an aggregate")
    storage = cursor.type_name("the type that holds the aggregate's state")
    parameters = _parameters(cursor, "(", ")")
    spans = _spans(cursor, name, mark)
    return AggregateDeclaration(
        name.text, parameters, modifiers, result=result, storage=storage, **spans
    )


def _extractor(cursor: Cursor, mark: int, result: TypeName) -> Declaration:
    modifiers = _modifiers(cursor)
    name = cursor.name("the name of a function")
    aggregate = cursor.name_node("the aggregate that it reads")
    extractor = cursor.name_node("the function that reads the aggregate")
    parameters = _parameters(cursor, "(", ")")
    spans = _spans(cursor, name, mark)
    return ExtractorDeclaration(
        name.text,
        parameters,
        modifiers,
        result=result,
        aggregate=aggregate,
        extractor=extractor,
        **spans,
    )


def _state(cursor: Cursor, mark: int, storage: TypeName) -> Declaration:
    name = cursor.name("the name of a state")
    return StateDeclaration(name.text, (), (), storage=storage, **_spans(cursor, name, mark))


def _stateful(cursor: Cursor, mark: int, result: TypeName) -> Declaration:
    modifiers = _modifiers(cursor)
    name = cursor.name("the name of a stateful function")
    state = cursor.name_node("the state that it works on")
    parameters = _parameters(cursor, "(", ")")
    spans = _spans(cursor, name, mark)
    return StatefulFunctionDeclaration(
        name.text, parameters, modifiers, result=result, state=state, **spans
    )


_READERS: dict[str, Callable[[Cursor, int, TypeName], Declaration]] = {
    "FUN": _function,
    "UDAF": _aggregate,
    "EXTR": _extractor,
    "STATE": _state,
    "SFUN": _stateful,
}


def _spans(cursor: Cursor, name: Token, mark: int) -> dict[str, Span]:
    return {"name_span": cursor.span_of(name), "span": cursor.since(mark)}


# Parameters and modifiers


def _parameters(cursor: Cursor, opening: str, closing: str) -> tuple[ParameterType, ...]:
    cursor.expect(opening, f"'{opening}' and the types of the arguments")
    if cursor.accept(closing):
        return ()
    parameters = cursor.separated(lambda: _parameter(cursor))
    cursor.expect(closing, f"',' or '{closing}'")
    return parameters


def _parameter(cursor: Cursor) -> ParameterType:
    mark = cursor.mark()
    type_name = cursor.type_name("the type of an argument")
    handle = cursor.accept_word("HANDLE") is not None
    const = not handle and cursor.accept_word("CONST") is not None
    return ParameterType(type_name, handle, const, span=cursor.since(mark))


def _modifiers(cursor: Cursor) -> tuple[Modifier, ...]:
    if not cursor.accept("["):
        return ()
    modifiers = cursor.separated(lambda: _modifier(cursor))
    cursor.expect("]", "',' or ']'")
    return modifiers


def _modifier(cursor: Cursor) -> Modifier:
    mark = cursor.mark()
    token = cursor.name("a modifier")
    name = token.text.upper()
    if name not in MODIFIERS:
        message = f"'{printable(token.text)}' is not a modifier"
        hint = did_you_mean(name, MODIFIERS) or f"modifiers are {', '.join(MODIFIERS)}"
        raise cursor.error("unknown-modifier", message, cursor.span_of(token), hint)
    values = MODIFIERS[name]
    value = None if values == () else _modifier_value(cursor, name, values)
    return Modifier(name, value, span=cursor.since(mark))


def _modifier_value(cursor: Cursor, name: str, values: tuple[str, ...] | None) -> str:
    if values is None:
        what = "the C header" if name == "HEADER" else f"the aggregate that is the {name}"
        return cursor.name(what).text
    what = f"one of {', '.join(values)} behind {name}"
    if not cursor.is_word(*values):
        raise cursor.unexpected(what, did_you_mean(cursor.token.text, values))
    return cursor.advance().text.upper()
