# SPDX-License-Identifier: Apache-2.0
"""From arguments to checked queries and their plan: what run, check, explain and compile share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gigastream.cli.arguments import QUERY_SUFFIX
from gigastream.cli.errors import UsageError
from gigastream.config import Config, load_config
from gigastream.query_texts import QueryTexts, inline_queries, read_query_file

if TYPE_CHECKING:
    from gigastream.plan import Plan


def config_of(arguments: argparse.Namespace) -> Config:
    """Return what -c names, or an empty configuration."""
    return load_config(arguments.config) if arguments.config else Config()


def query_texts(arguments: argparse.Namespace, paths: Sequence[str], config: Config) -> QueryTexts:
    """Return the queries that the arguments name; UsageError if there are none."""
    files = tuple(map(read_query_file, paths)) + inline_queries(tuple(arguments.expression))
    if not files:
        raise UsageError(
            "there is no query", f"name a file that ends in {QUERY_SUFFIX}, or -e 'SELECT …'"
        )
    return QueryTexts(
        files=files,
        parameters=dict((*config.parameters, *arguments.param)),
        definitions=(*config.definitions, *arguments.definitions),
        library=arguments.library or config.library,
        interfaces=config.interfaces,
    )


def plan_of(texts: QueryTexts) -> Plan:
    """Check the queries and plan them; warnings go to stderr, GsqlError has all errors."""
    from gigastream.plan import plan_queries
    from gigastream.query_texts import check_texts

    checked = check_texts(texts)
    for warning in checked.warnings:
        print(warning.render(), file=sys.stderr)
    return plan_queries(checked.queries)
