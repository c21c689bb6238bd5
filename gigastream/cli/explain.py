# SPDX-License-Identifier: Apache-2.0
"""gigastream explain: what becomes of a query."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gigastream.cli.arguments import add_query_files, add_query_options
from gigastream.cli.errors import UsageError
from gigastream.cli.query_arguments import config_of, plan_of, query_texts
from gigastream.library import EXPLANATIONS, explain_plan

if TYPE_CHECKING:
    from gigastream.plan import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Queries, and the form."""
    add_query_files(parser)
    forms = parser.add_mutually_exclusive_group()
    for name, text in EXPLANATIONS.items():
        if name != "text":
            forms.add_argument(
                f"--{name}", dest="form", action="store_const", const=name, help=text
            )
    parser.set_defaults(form="text")
    parser.add_argument(
        "--on",
        choices=("here", "spark"),
        default="here",
        help="spark: what the high level becomes there, its watermark and event times, too",
    )
    add_query_options(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    if arguments.on == "spark" and arguments.form != "text":
        raise UsageError(
            f"--on spark is explained as text, and not as --{arguments.form}",
            f"--on spark, or --{arguments.form}",
        )
    plan = plan_of(query_texts(arguments, arguments.words, config_of(arguments)))
    print(explain_plan(plan, arguments.form))
    if arguments.on == "spark":
        print(f"\n{_on_spark(plan)}")
    return 0


def _on_spark(plan: Plan) -> str:
    from gigastream.cli.spark_extra import require_spark

    require_spark()
    from spark_sink.explain import explain

    return explain(plan)
