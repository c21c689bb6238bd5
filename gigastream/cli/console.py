# SPDX-License-Identifier: Apache-2.0
"""gigastream console: a page in the browser about a daemon."""

from __future__ import annotations

import argparse
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.cli.arguments import add_socket, argument_type
from gigastream.cli.errors import UsageError
from gigastream.cli.serve import parse_listen
from gigastream.cli.stderr import say

if TYPE_CHECKING:
    from gigastream.console.access import ConsoleAccess

_NEEDED = ("starlette", "uvicorn")
_EPILOG = """\
The address that is printed has a token: who opens it may see the queries and their rows, and change
them as far as the user may who runs this. Beyond the loopback it is not served without TLS.

exit codes: 0 done, 2 the address, the certificate or an option is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which daemon, and where its page is."""
    parser.epilog = _EPILOG
    add_socket(parser)
    parser.add_argument(
        "--listen",
        type=argument_type(parse_listen),
        default=("127.0.0.1", 8642),
        metavar="HOST:PORT",
        help="the address that is served (127.0.0.1:8642); port 0 takes a free one",
    )
    parser.add_argument("--certificate", metavar="FILE", help="with its chain (PEM)")
    parser.add_argument("--key", metavar="FILE", help="of the certificate (PEM)")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="what browsers may call this host, besides the address",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise UsageError(
            "the console's server is not installed", "pip install 'gigastream[daemon]'"
        )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from gigastream.console.access import ConsoleAccess
    from gigastream.console.feed import Feed
    from gigastream.console.server import serve_console

    host, port = arguments.listen
    access = ConsoleAccess(
        host.strip("[]"), port, arguments.certificate, arguments.key, names=tuple(arguments.name)
    )
    serve_console(Feed(Path(arguments.socket)), access, _tell)
    return 0


def _end(_number: int, _frame: object) -> None:
    """A signal before it serves, or behind: the end that was asked for, too."""
    raise SystemExit(0)


def _tell(access: ConsoleAccess) -> None:
    say(f"gigastream: the console is at {access.address}")
