# SPDX-License-Identifier: Apache-2.0
"""gigastream functions: what can be called in a query."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gigastream.cli.arguments import add_definitions, add_python
from gigastream.cli.errors import UsageError
from gigastream.cli.fields import print_columns

if TYPE_CHECKING:
    from gigastream.gsql.catalog.catalog import Function


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A function's name, and definitions of one's own."""
    parser.add_argument("function", nargs="?", metavar="NAME", help="only this one")
    add_definitions(parser)
    add_python(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the functions and predicates, each overload on a line, and the aggregates.

    GsqlError of definitions that a query could not be checked with either.
    """
    from gigastream.gsql.binder.own_names import check_own_names
    from gigastream.gsql.catalog.build import load_catalog
    from gigastream.gsql.diagnostics import DiagnosticSink

    catalog, sink = load_catalog(arguments.definitions), DiagnosticSink()
    check_own_names(catalog, sink)
    sink.raise_if_errors()
    rows = [*map(_row, catalog.all_functions), *_of_the_language(), *_aggregates()]
    rows += [_row(each, "an aggregate") for each in catalog.all_aggregates]
    rows += [_row(each, "a stateful function") for each in catalog.all_stateful]
    chosen = _named(rows, arguments.function) if arguments.function else rows
    print_columns([("function", "gives", "is"), *chosen])
    return 0


_Row = tuple[str, str, str]


def _named(rows: list[_Row], name: str) -> list[_Row]:
    names = [re.split(r"[(\[]", row[0])[0] for row in rows]
    found = [row for row, own in zip(rows, names, strict=True) if own.lower() == name.lower()]
    if not found:
        from gigastream.gsql.diagnostics import did_you_mean

        hint = did_you_mean(name, names) or "`gigastream functions` lists them"
        raise UsageError(f"there is no function '{name}'", hint)
    return found


def _row(function: Function, what: str = "") -> _Row:
    remarks = [what] if what else list(_remarks(function))
    return function.signature, str(function.result), ", ".join(remarks)


def _of_the_language() -> Iterable[_Row]:
    from gigastream.gsql.binder.language import LANGUAGE_SIGNATURES

    for signature, gives in LANGUAGE_SIGNATURES:
        yield signature, gives, "of the language"


def _aggregates() -> Iterable[_Row]:
    from gigastream.gsql.binder.aggregates import AGGREGATES
    from gigastream.gsql.types import Type

    numbers = (Type.UINT, Type.INT, Type.FLOAT)
    for name, kind in AGGREGATES.items():
        takes = "* or any value" if name == "COUNT" else kind.wanted
        takes += ", windows" if kind.is_moving else ", from, to" if kind.is_timed else ""
        takes += ", a number, a timestamp or an address" if kind.has_order else ""
        takes = _with_separator(name, takes) if kind.has_separator else takes
        gives = tuple(map(kind.gives, numbers))
        shown = "the same" if gives == numbers else " ".join(dict.fromkeys(map(str, gives)))
        yield f"{name}({takes})", shown, "an aggregate"


def _with_separator(name: str, takes: str) -> str:
    """Gigascope's CAT_AGGR has its arguments the other way round."""
    separator = "string CONST"
    return f"{separator}, {takes}" if name == "CAT_AGGR" else f"{takes}, {separator}"


def _remarks(function: Function) -> Iterable[str]:
    if not function.lfta_legal:
        yield "high level only"
    if not function.hfta_legal:
        yield "low level only"
    if function.partial:
        yield "may have no value"
