# SPDX-License-Identifier: Apache-2.0
"""gigastream check: all that is wrong with queries, without running anything."""

from __future__ import annotations

import argparse

from gigastream.cli.arguments import add_query_files, add_query_options
from gigastream.cli.query_arguments import config_of, plan_of, query_texts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries."""
    add_query_files(parser)
    add_query_options(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the columns of each query, or raise GsqlError with all errors of all files."""
    plan = plan_of(query_texts(arguments, arguments.words, config_of(arguments)))
    for node in plan.outputs:
        columns = ", ".join(f"{column.name} {column.type}" for column in node.schema.columns)
        print(f"{node.name}: {columns}")
    return 0
