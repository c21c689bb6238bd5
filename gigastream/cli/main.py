# SPDX-License-Identifier: Apache-2.0
"""The command line: a table of commands, each a file of its own that is loaded when it is called.

A command's module has `add_arguments(parser)` and `execute(arguments) -> exit code`. Errors pass
through it as values; this is the one place that turns them into text and an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from gigastream.cli.arguments import CommandParser, with_negative_values
from gigastream.cli.errors import UsageError, report, silence_stdout

COMMANDS = {
    "run": "answer queries over captures",
    "capture": "the daemon: watch links, and answer query sets that come and go",
    "ctl": "ask a daemon, change its queries, show their rows",
    "top": "show a daemon's links, queries and newest rows in a terminal",
    "console": "show them in a browser, with an editor for queries",
    "spark": "answer queries over spools on Spark, on and on",
    "serve": "offer spools to readers on other hosts",
    "ship": "bring a spool to a shared place, such as S3, as it grows",
    "spool": "list, print, verify, repair, prune and end spools",
    "check": "say whether queries are right, and if not what is wrong",
    "explain": "show what becomes of a query: plan, order, prefilter, C",
    "compile": "make the shared object of a query set, for hosts without a compiler",
    "queries": "list the queries that ship, or show one",
    "fields": "list the protocols, or the fields of one",
    "functions": "list the functions and aggregates",
    "version": "print the version",
}
_HELP = ("-h", "--help", "help")


def run_command_line(words: Sequence[str]) -> int:
    """Run a command and return its exit code: 0 done, 1 failed while running, 2 asked wrongly."""
    try:
        return _run(words)
    except BrokenPipeError:
        silence_stdout()
        return 0
    except Exception as error:
        return report(error)


def _run(words: Sequence[str]) -> int:
    if not words:
        raise UsageError("a command is missing", "gigastream --help")
    name = "version" if words[0] == "--version" else words[0]
    if name in _HELP:
        print(_overview())
        return 0
    if name not in COMMANDS:
        raise UsageError(f"there is no command '{name}'", _nearest(name))
    command = import_module(f"gigastream.cli.{name}")
    parser = CommandParser(prog=f"gigastream {name}", description=COMMANDS[name])
    command.add_arguments(parser)
    given = with_negative_values(words[1:])
    code: int = command.execute(parser.parse_intermixed_args(given))
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def _overview() -> str:
    commands = "\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())
    return (
        "usage: gigastream COMMAND …\n\n"
        f"{commands}\n\n"
        "gigastream COMMAND --help says more. Try:\n"
        "  gigastream run talkers -r FILE.pcap\n"
        "  gigastream run -r FILE.pcap -e 'SELECT tb, srcIP, sum(len) AS bytes"
        " FROM IPV4 GROUP BY time/60 AS tb, srcIP'"
    )


def _nearest(name: str) -> str:
    from gigastream.gsql.diagnostics import did_you_mean
    from gigastream.shipped_queries import QUERY_SUFFIX, shipped_queries

    if name in ("-V", "-v"):
        return "gigastream --version"
    if name.startswith("-") or name.endswith(QUERY_SUFFIX) or name in shipped_queries():
        return f"gigastream run {name} …"
    return did_you_mean(name, COMMANDS) or "one of " + ", ".join(COMMANDS)
