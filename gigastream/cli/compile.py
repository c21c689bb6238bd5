# SPDX-License-Identifier: Apache-2.0
"""gigastream compile: a query set as a shared object, for hosts that have no compiler."""

from __future__ import annotations

import argparse
from pathlib import Path

from gigastream.cli.arguments import add_query_files, add_query_options
from gigastream.cli.errors import UsageError
from gigastream.cli.query_arguments import config_of, plan_of, query_texts
from gigastream.compiled import write_object
from gigastream.shipped_queries import OBJECT_SUFFIX


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries, and where the object goes."""
    add_query_files(parser)
    parser.add_argument("-o", "--output", metavar="PATH.so", help="default: the first query's name")
    add_query_options(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Compile; print the path of the object."""
    if arguments.output is not None and not arguments.output.endswith(OBJECT_SUFFIX):
        raise UsageError(
            f"{arguments.output}: `gigastream run` knows an object by its ending, {OBJECT_SUFFIX}",
            f"-o {arguments.output}{OBJECT_SUFFIX}",
        )
    texts = query_texts(arguments, arguments.words, config_of(arguments))
    plan = plan_of(texts)
    target = arguments.output or f"{plan.outputs[0].name}{OBJECT_SUFFIX}"
    print(write_object(plan, texts, Path(target), texts.include))
    return 0
