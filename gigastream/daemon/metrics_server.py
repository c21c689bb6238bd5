# SPDX-License-Identifier: Apache-2.0
"""An HTTP server for who scrapes metrics, of whom the daemon holds few, and none for long."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from io import StringIO
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, TextIO
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

CONNECTIONS_MAX = 16
SILENT_S = 5.0
"""A connection that says nothing for so long ends."""


class _MetricsHandler(WSGIRequestHandler):
    timeout = SILENT_S

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: who asks for metrics does so all the time."""

    def get_stderr(self) -> TextIO:
        """Nobody reads it: a client that does not take its answer is no fault."""
        return StringIO()


class _MetricsServer(ThreadingMixIn, WSGIServer):
    """Where there are too many, a new connection ends the oldest, whatever that one is sending."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._open: dict[int, socket.socket] = {}
        """The oldest first."""
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Make place for it, and answer it in a thread."""
        with self._lock:
            while len(self._open) >= CONNECTIONS_MAX:
                oldest = self._open.pop(next(iter(self._open)))
                with suppress(OSError):  # which has ended by itself
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[id(request)] = request
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Its thread has done with it."""
        with self._lock:
            self._open.pop(id(request), None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone, or was ended, is no fault."""


class _MetricsServerOf6(_MetricsServer):
    address_family = socket.AF_INET6


def bounded_server(address: str, port: int, application: WSGIApplication) -> _MetricsServer:
    """Listen for requests that the application answers. OSError."""
    family, *_, found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    kind = _MetricsServerOf6 if family == socket.AF_INET6 else _MetricsServer
    server = kind(found[:2], _MetricsHandler)
    server.set_app(application)
    return server
