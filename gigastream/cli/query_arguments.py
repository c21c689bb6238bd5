# SPDX-License-Identifier: Apache-2.0
"""From arguments to checked queries and their plan: what run, check, explain and compile share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError
from gigastream.cli.stderr import say
from gigastream.config import Config, load_config
from gigastream.query_texts import QueryFileError, QueryTexts, inline_queries, read_query_file
from gigastream.shipped_queries import (
    DEFAULT_QUERY,
    OBJECT_SUFFIX,
    QUERY_SUFFIX,
    hint_for,
    shipped_queries,
)

if TYPE_CHECKING:
    from gigastream.gsql.source import SourceFile
    from gigastream.plan import Plan


def config_of(arguments: argparse.Namespace) -> Config:
    """Return what -c names, or an empty configuration."""
    return load_config(arguments.config) if arguments.config else Config()


def query_texts(arguments: argparse.Namespace, paths: Sequence[str], config: Config) -> QueryTexts:
    """Return the queries that the arguments name; UsageError if there are none."""
    files = tuple(map(_read, paths)) + inline_queries(tuple(arguments.expression))
    if not files:
        raise UsageError(
            "there is no query",
            f"name a file that ends in {QUERY_SUFFIX}, one of {', '.join(shipped_queries())},"
            " or -e 'SELECT …'",
        )
    return QueryTexts(
        files=files,
        parameters=dict((*config.parameters, *arguments.param)),
        definitions=(*config.definitions, *arguments.definitions),
        library=arguments.library or config.library,
        interfaces=config.interfaces,
        opens_lists=True,
    )


def default_query(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the query that is answered where no file and no name is given, and say so."""
    if arguments.expression:
        return ()
    if not arguments.quiet:
        say(f"no query is named: {DEFAULT_QUERY} is answered (gigastream queries lists others)")
    return (DEFAULT_QUERY,)


def _read(word: str) -> SourceFile:
    """Read a query that ships, by its name, or a file."""
    shipped = shipped_queries()
    if word in shipped:
        return read_query_file(str(shipped[word]))
    if word.endswith(OBJECT_SUFFIX):
        message = f"{word} is named as a compiled object, which has no text"
        raise UsageError(message, "gigastream run takes it; here name what it was made of")
    try:
        return read_query_file(word)
    except QueryFileError as error:
        raise QueryFileError(str(error), hint_for(word)) from None


def plan_of(texts: QueryTexts) -> Plan:
    """Check the queries and plan them; warnings go to stderr, GsqlError has all errors."""
    from gigastream.engine.handles import check_handles
    from gigastream.plan import plan_queries
    from gigastream.query_texts import check_texts

    checked = check_texts(texts)
    for warning in checked.warnings:
        say(warning.render())
    plan = plan_queries(checked.queries, is_finite=texts.is_finite)
    for warning in plan.warnings:
        say(warning.render())
    check_handles(plan)
    return plan
