# SPDX-License-Identifier: Apache-2.0
"""The console's server: uvicorn over a socket that is ours before anybody is told of it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from gigastream.console.access import ConsoleAccess
from gigastream.console.app import console_app
from gigastream.console.errors import ConsoleError
from gigastream.console.feed import Feed
from gigastream.late_dataclass import replace

_END_S = 1


def serve_console(
    feed: Feed, access: ConsoleAccess, is_open: Callable[[ConsoleAccess], None]
) -> None:
    """Serve until SIGINT or SIGTERM. ConsoleError.

    `is_open` is called when requests are taken, with the port that was got where 0 was asked.
    """
    listening = _listening(access)
    access = replace(access, port=listening.getsockname()[1])
    config = uvicorn.Config(
        console_app(feed, access),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_END_S,
        ssl_certfile=access.certificate,
        ssl_keyfile=access.key,
    )
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one, too
        raise ConsoleError(f"{access.certificate}, {access.key}: {error}") from None
    server = uvicorn.Server(config)
    with _ended_by_signals(server):
        is_open(access)
        server.run(sockets=[listening])


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let signals end it well, before it has handlers of its own and when it gives them back."""

    def end(_number: int, _frame: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listening(access: ConsoleAccess) -> socket.socket:
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((access.host, access.port))
        listening.listen()
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        hint = "--listen with another port, or 0 for a free one"
        raise ConsoleError(f"{access.host}:{access.port}: {reason}", hint) from None
    return listening
