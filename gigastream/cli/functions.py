# SPDX-License-Identifier: Apache-2.0
"""gigastream functions: what can be called in a query."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError
from gigastream.cli.fields import print_columns

if TYPE_CHECKING:
    from gigastream.gsql.catalog import Function


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A function's name, and definitions of one's own."""
    parser.add_argument("function", nargs="?", metavar="NAME", help="only this one")
    parser.add_argument("--definitions", action="append", default=[], metavar="FILE.gsql")


def execute(arguments: argparse.Namespace) -> int:
    """Print the functions and predicates, each overload on a line."""
    from gigastream.gsql.catalog_build import load_catalog

    functions = list(load_catalog(arguments.definitions).all_functions)
    chosen = _named(functions, arguments.function) if arguments.function else functions
    print_columns([("function", "gives", "is"), *(_row(function) for function in chosen)])
    return 0


def _named(functions: list[Function], name: str) -> list[Function]:
    found = [function for function in functions if function.name.lower() == name.lower()]
    if not found:
        from gigastream.gsql.diagnostics import did_you_mean

        names = [function.name for function in functions]
        raise UsageError(f"there is no function '{name}'", did_you_mean(name, names))
    return found


def _row(function: Function) -> tuple[str, str, str]:
    return function.signature, str(function.result), ", ".join(_remarks(function))


def _remarks(function: Function) -> Iterable[str]:
    if not function.lfta_legal:
        yield "high level only"
    if not function.hfta_legal:
        yield "low level only"
    if function.partial:
        yield "may have no value"
