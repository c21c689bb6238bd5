# SPDX-License-Identifier: Apache-2.0
"""gigastream ctl: ask a daemon, change it, and read the rows of its queries."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.cli.arguments import (
    CommandParser,
    add_options,
    add_output,
    add_socket,
    argument_type,
    parse_parameter,
)
from gigastream.cli.errors import UsageError
from gigastream.cli.stderr import harmless, say
from gigastream.late_dataclass import replace
from gigastream.options import SPOOL_OPTIONS
from gigastream.paths import CONTROL_SOCKET
from gigastream.settings import GREATEST_PRIORITY, parse_bytes, parse_count, parse_period

if TYPE_CHECKING:
    from gigastream.daemon.client import ControlClient
    from gigastream.daemon.messages import CaptureReport, Request

_SECOND_NS = 10**9
_DIAGNOSTIC = re.compile(r"[^\n]+:\d+:\d+: (error|warning): ")
_EPILOG = """\
Who may ask: root, the daemon's user, who started it, and the group that its configuration names.
Rows of `tail` go to stdout; what was lost of them is told on stderr.

exit codes: 0 done, 1 the daemon refuses, or rows could not be written, 2 asked wrongly, no daemon
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a parser for each of the things that can be asked."""
    parser.epilog = _EPILOG
    add_socket(parser)
    _add_wait(parser, 0)
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=CommandParser
    )
    for name, (_, help_text, add) in _ACTIONS.items():
        action = actions.add_parser(name, help=help_text, description=help_text)
        add(action)
        add_socket(action, is_again=True)
        _add_wait(action, argparse.SUPPRESS)


def _add_wait(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--wait",
        default=default,
        type=argument_type(parse_period),
        metavar="TIME",
        help="for a daemon that is being started: how long at the most (not at all)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Do what is asked."""
    act, _, _ = _ACTIONS[arguments.action]
    return act(arguments)


def _connected(arguments: argparse.Namespace) -> ControlClient:
    from gigastream.daemon.client import connected

    if not arguments.socket:
        raise UsageError("the path of the socket is empty", f"--socket {CONTROL_SOCKET}")
    return connected(arguments.socket, arguments.wait)


def _tell_done(arguments: argparse.Namespace, request: Request, *, is_last: bool = False) -> int:
    with _connected(arguments) as client:
        answer = client.ask(request)
        if is_last:
            client.wait_for_end()
    if answer.message:
        print(harmless(answer.message))
    return 0


# ---- what it does ----


def _status(arguments: argparse.Namespace) -> int:
    from gigastream.cli.ctl_status import status_text

    with _connected(arguments) as client:
        answer = client.status()
    _print(answer, lambda: status_text(answer), as_json=arguments.json)
    return 0


def _queries(arguments: argparse.Namespace) -> int:
    from gigastream.cli.ctl_status import queries_text

    with _connected(arguments) as client:
        answer = client.queries()
    _print(answer, lambda: queries_text(answer), as_json=arguments.json)
    return 0


def _print(answer: object, text: Callable[[], str], *, as_json: bool) -> None:
    if as_json:
        import msgspec

        print(msgspec.json.encode(answer).decode())
    else:
        print(harmless(text()))


def _add(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import AddSet, QuerySetSpec, SpoolSpec

    name, text, file = _text_to_add(arguments)
    spec = QuerySetSpec(
        name=name,
        text=text,
        file=file,
        parameters=dict(arguments.param),
        outputs=tuple(map(_absolute, arguments.output)),
        first_window=arguments.first_window,
        priority=arguments.priority,
        low_level_only=arguments.low_level_only,
        rotate_bytes=arguments.rotate_bytes,
        rotate_ns=arguments.rotate_every,
        keep=arguments.keep,
        cut_column=arguments.cut_column,
        spool=SpoolSpec(**{o.field: getattr(arguments, o.field) for o in SPOOL_OPTIONS}),
    )
    return _tell_added(arguments, AddSet(query_set=spec))


def _tell_added(arguments: argparse.Namespace, request: Request) -> int:
    """Diagnostics have their places with them, as `gigastream check` shows them."""
    from gigastream.daemon.client import RefusedError

    try:
        return _tell_done(arguments, request)
    except RefusedError as error:
        if not _DIAGNOSTIC.match(str(error)):
            raise
        say(str(error))
        return 1


def _text_to_add(arguments: argparse.Namespace) -> tuple[str, str, str]:
    """Return the set's name, its text, and what its diagnostics call it."""
    from gigastream.query_texts import QueryFileError, read_query_file
    from gigastream.shipped_queries import hint_for, shipped_queries

    if (arguments.file is None) == (arguments.expression is None):
        raise UsageError("a query is either a file or -e GSQL", "gigastream ctl add FILE.gsql")
    if arguments.expression is not None:
        if not arguments.name:
            raise UsageError("a query of the command line has no name", "--name NAME")
        return arguments.name, arguments.expression, f"{arguments.name}.gsql"
    shipped = shipped_queries()
    try:
        read = read_query_file(str(shipped.get(arguments.file, arguments.file)))
    except QueryFileError as error:
        raise QueryFileError(str(error), hint_for(arguments.file)) from None
    return arguments.name or Path(arguments.file).stem, read.text, read.name


def _absolute(output: str) -> str:
    """Return an output whose path does not depend on where the daemon stands."""
    from gigastream.outputs import FORMATS, OutputError
    from gigastream.sinks import SINKS

    kind, _, place = output.partition(":")
    if kind not in (*FORMATS, *SINKS, "spool"):
        known = ", ".join((*FORMATS, *SINKS, "spool"))
        raise OutputError(f"there is no output format '{kind}'", f"one of {known}")
    if place in ("", "-"):
        raise OutputError(
            f"-o {output} names no path, and a daemon has no stdout",
            f"-o {kind}:PATH; gigastream ctl tail shows the rows here",
        )
    has_server = "://" in place or (kind in SINKS and SINKS[kind].has_server)
    return output if has_server else f"{kind}:{os.path.abspath(place)}"


def _drop(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import DropSet

    return _tell_done(arguments, DropSet(name=arguments.name))


def _set(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import SetParameter

    parameter, value = arguments.parameter
    return _tell_done(
        arguments, SetParameter(name=arguments.name, parameter=parameter, value=value)
    )


def _rotate(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import RotateOutputs

    return _tell_done(arguments, RotateOutputs(name=arguments.name))


def _reload(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import ReloadConfig

    return _tell_done(arguments, ReloadConfig())


def _stop(arguments: argparse.Namespace) -> int:
    from gigastream.daemon.messages import StopDaemon

    return _tell_done(arguments, StopDaemon(), is_last=True)


def _tail(arguments: argparse.Namespace) -> int:
    from gigastream.cli.ctl_tail import TailRequest, print_tail
    from gigastream.daemon.client import RefusedError
    from gigastream.outputs import default_format

    if arguments.output is None and sys.stdout is None:
        raise UsageError("stdout is closed: the rows have no place", "-o FORMAT:PATH")
    wanted = arguments.output or default_format(sys.stdout.isatty())
    set_name, _, query = arguments.name.rpartition(".")
    request = TailRequest(
        query, arguments.set or set_name or None, wanted, arguments.count, arguments.duration
    )
    try:
        with _connected(arguments) as client:
            return print_tail(client, request)
    except RefusedError as error:
        refused = error
    report = _report(arguments)
    if (only := _only_query(report, arguments.name)) is not None and arguments.set is None:
        with _connected(arguments) as client:
            return print_tail(client, replace(request, query=only, set_name=arguments.name))
    raise RefusedError(str(refused), refused.hint or _queries_there(report, query))


def _report(arguments: argparse.Namespace) -> CaptureReport | None:
    with _connected(arguments) as client:
        return client.status().report


def _only_query(report: CaptureReport | None, name: str) -> str | None:
    """Return the query of a set of that name, where it has one."""
    found = next((each for each in (report.sets if report else ()) if each.name == name), None)
    return found.queries[0] if found is not None and len(found.queries) == 1 else None


def _queries_there(report: CaptureReport | None, wanted: str) -> str:
    """Return the hint where a query is asked for that is not there."""
    from gigastream.gsql.diagnostics import did_you_mean

    names = [query for each in (report.sets if report else ()) for query in each.queries]
    return did_you_mean(wanted, names) or (
        f"one of {', '.join(names)}" if names else "gigastream ctl add FILE.gsql adds one"
    )


# ---- how it is asked ----


def _parse_seconds(text: str) -> float:
    return parse_period(text) / _SECOND_NS


def _parse_priority(text: str) -> int:
    with suppress(ValueError):
        if abs(number := int(text)) <= GREATEST_PRIORITY:
            return number
    raise ValueError(f"'{text}' is no number from -{GREATEST_PRIORITY:,} to {GREATEST_PRIORITY:,}")


def _no_words(_parser: argparse.ArgumentParser) -> None:
    pass


def _json_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="all there is, as one JSON object")


def _name_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the query set")


def _rotate_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="of a query set (all)")


def _set_words(parser: argparse.ArgumentParser) -> None:
    _name_words(parser)
    parser.add_argument(
        "parameter", metavar="[QUERY.]PARAM=VALUE", type=argument_type(parse_parameter)
    )


def _tail_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="[SET.]NAME", help="of a query, or of a set that has one")
    parser.add_argument("--set", metavar="NAME", help="where two sets have a query of that name")
    add_output(parser, "table, csv, json, arrow or parquet")
    parser.add_argument(
        "--count",
        type=argument_type(parse_count),
        metavar="N",
        help="end with the batch that has the Nth row",
    )
    parser.add_argument(
        "--duration",
        type=argument_type(_parse_seconds),
        metavar="TIME",
        help="end after such a time",
    )


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="of a query set, or the name of one that ships"
    )
    parser.add_argument("-e", "--expression", metavar="GSQL", help="a text in place of a file")
    parser.add_argument("--name", metavar="NAME", help="of the set (that of the file)")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        type=argument_type(parse_parameter),
        metavar="[QUERY.]NAME=VALUE",
        help="a parameter's value",
    )
    parser.add_argument(
        *("-o", "--output"),
        action="append",
        default=[],
        metavar="FORMAT:PATH",
        help="where the daemon writes the rows; spool:PATH takes the low level",
    )
    parser.add_argument(
        "--first-window",
        choices=("edge", "cut"),
        default="edge",
        help="begin at the next window's edge, or with the one that is running, marked (edge)",
    )
    parser.add_argument(
        "--priority",
        type=argument_type(_parse_priority),
        default=0,
        metavar="N",
        help="the least is shed first (0)",
    )
    parser.add_argument(
        "--low-level-only", action="store_true", help="nothing but the spool is written"
    )
    _add_rotation(parser)
    parser.add_argument(
        "--cut-column",
        action="store_true",
        help="a column gs.cut in csv and JSON: whether a row's window was cut",
    )
    add_options(parser.add_argument_group("of a spool (-o spool:PATH)"), SPOOL_OPTIONS)


def _add_rotation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rotate-bytes",
        type=argument_type(parse_bytes),
        metavar="BYTES",
        help="after which a new file is begun",
    )
    parser.add_argument(
        "--rotate-every",
        type=argument_type(parse_period),
        metavar="TIME",
        help="after which a new file is begun",
    )
    parser.add_argument(
        "--keep",
        type=argument_type(parse_count),
        metavar="N",
        help="files that are kept; older ones go (all)",
    )


_Act = Callable[[argparse.Namespace], int]
_AddWords = Callable[[argparse.ArgumentParser], None]
_ACTIONS: dict[str, tuple[_Act, str, _AddWords]] = {
    "status": (_status, "tell what it reads, answers, writes and has lost", _json_words),
    "queries": (_queries, "list the query sets with their texts and outputs", _json_words),
    "add": (_add, "add a query set; one that is wrong changes nothing", _add_words),
    "drop": (_drop, "drop a query set: its open windows are answered, marked", _name_words),
    "set": (_set, "give a parameter a new value, from a window's edge on", _set_words),
    "rotate": (_rotate, "begin new files for the outputs of a set, or of all", _rotate_words),
    "reload": (_reload, "read the configuration again; what is the same goes on", _no_words),
    "stop": (_stop, "answer the open windows, end the outputs, and end", _no_words),
    "tail": (_tail, "show the rows of a query as they come", _tail_words),
}
