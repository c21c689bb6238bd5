# SPDX-License-Identifier: Apache-2.0
"""gigastream queries: those that ship, which every command takes by name."""

from __future__ import annotations

import argparse
from pathlib import Path

from gigastream.cli.errors import UsageError
from gigastream.cli.fields import print_columns
from gigastream.shipped_queries import description_of, hint_for, shipped_queries


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A query's name."""
    parser.add_argument("--show", metavar="NAME", help="the text of a query, to start one's own")


def execute(arguments: argparse.Namespace) -> int:
    """Print what each query answers and its columns, or the text of one."""
    queries = shipped_queries()
    if arguments.show is None:
        print_columns([line for item in queries.items() for line in _lines(*item)])
        return 0
    if arguments.show not in queries:
        hint = hint_for(arguments.show, is_alone=False) or "one of " + ", ".join(queries)
        raise UsageError(f"there is no query '{arguments.show}' that ships", hint)
    print(queries[arguments.show].read_text(encoding="utf-8"), end="")
    return 0


def _lines(name: str, path: Path) -> tuple[tuple[str, str], ...]:
    """Return what the query answers, and below it its columns."""
    from gigastream.cli.query_arguments import plan_of
    from gigastream.query_texts import QueryTexts, read_query_file

    file = read_query_file(str(path))
    node = next(node for node in plan_of(QueryTexts((file,))).outputs if node.name == name)
    columns = " ".join(column.name for column in node.schema.columns)
    return (name, description_of(file.text)), ("", columns)
