# SPDX-License-Identifier: Apache-2.0
"""A server of spools, as it is called: bounded in time and size, left alone while it is away."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

# Its log would stand between sentences; what fails is told by errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import pyarrow
from pyarrow import flight

from gigastream.spool.access import Access
from gigastream.spool.errors import SpoolAwayError, SpoolReadError, printable
from gigastream.spool.place import NoFileError
from gigastream.spool.protocol import (
    GONE,
    LIST,
    MAX_MESSAGE_BYTES,
    MAX_VALUE_BYTES,
    NO_FILE,
)

ANSWER_SECONDS = 10.0
LEAST_BYTES_PER_SECOND = 256 << 10
"""What comes more slowly is not waited for."""
ASK_AGAIN_SECONDS = 0.5
_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
_AWAY = (flight.FlightUnavailableError, flight.FlightTimedOutError)
_REFUSED = (flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError)


class ServerHost:
    """One that does not answer is asked by a thread until it does: nobody else waits for it.

    Methods raise SpoolAwayError, SpoolReadError for a wrong token, OSError for other answers.
    """

    def __init__(self, location: str, access: Access) -> None:
        """`location` is its URL without a spool. Raises SpoolReadError."""
        self.location = location
        self._headers = [(b"authorization", f"Bearer {access.token()}".encode())]
        try:
            self._client = flight.FlightClient(
                location, tls_root_certs=access.certificates(), generic_options=_OPTIONS
            )
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise SpoolReadError(f"{location} cannot be opened: {_reason(error)}") from None
        self._lock = threading.Lock()
        self._away: str | None = None

    def value(self, action: str, question: Mapping[str, Any]) -> Any:
        """Return the JSON value that is the answer."""
        answer = bytes(self.read(action, question, MAX_VALUE_BYTES))
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise OSError(f"{self.location} answers in no JSON") from None

    def read(self, action: str, question: Mapping[str, Any], most_bytes: int) -> bytearray:
        """Return the bytes that are the answer, at most so many."""
        if self._away is not None:
            raise SpoolAwayError(self._away)
        try:
            return self._ask(action, question, most_bytes)
        except _AWAY as error:
            self._leave(error)
            raise SpoolAwayError(self._away or "") from None
        except _REFUSED:
            hint = "the server's --token-file has the tokens that it takes"
            raise SpoolReadError(f"{self.location} refuses the token", hint) from None
        except flight.FlightError as error:
            raise OSError(f"{self.location} fails: {_reason(error)}") from None
        except pyarrow.ArrowException as error:
            raise OSError(f"{self.location} answers wrongly: {_reason(error)}") from None

    def _ask(self, action: str, question: Mapping[str, Any], most_bytes: int) -> bytearray:
        seconds = ANSWER_SECONDS + most_bytes / LEAST_BYTES_PER_SECOND
        options = flight.FlightCallOptions(timeout=seconds, headers=self._headers)
        body = flight.Action(action, json.dumps(question).encode())
        messages = (result.body for result in self._client.do_action(body, options))
        self._check(next(messages, None))
        return self._joined(messages, most_bytes)

    def _check(self, header: pyarrow.Buffer | None) -> None:
        """Raise what the server says is wrong."""
        try:
            found = json.loads(b"" if header is None else header.to_pybytes())
            error, text = found.get("error"), printable(str(found.get("text", ""))[:200])
        except (ValueError, AttributeError, RecursionError):
            raise OSError(f"{self.location} does not speak as a server of spools") from None
        if error == GONE:
            raise FileNotFoundError(text)
        if error is not None:
            raise NoFileError(text) if error == NO_FILE else OSError(f"{self.location}: {text}")

    def _joined(self, messages: Iterator[pyarrow.Buffer], most_bytes: int) -> bytearray:
        found = bytearray()
        for message in messages:
            if not message.size or len(found) + message.size > most_bytes:
                raise OSError(f"{self.location} sends more than it is asked for")
            found += message
        return found

    def _leave(self, error: Exception) -> None:
        with self._lock:
            if self._away is None:
                self._away = f"{self.location} does not answer: {_reason(error)}"
                threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        """Until it answers, whatever it answers: who calls next is told."""
        while True:
            time.sleep(ASK_AGAIN_SECONDS)
            try:
                self._ask(LIST, {}, MAX_VALUE_BYTES)
            except _AWAY:
                continue
            except (pyarrow.ArrowException, flight.FlightError, OSError):
                pass
            self._away = None
            return


class _Hosts:
    """By process, since a client is no use behind a fork. What travels to a task is empty."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str, Access], ServerHost] = {}

    def __reduce__(self) -> tuple[type[_Hosts], tuple[()]]:
        return _Hosts, ()

    def of(self, location: str, access: Access) -> ServerHost:
        key = os.getpid(), location, access
        if key not in self._found:
            self._found[key] = ServerHost(location, access)
        return self._found[key]


_hosts = _Hosts()


def server_host(location: str, access: Access) -> ServerHost:
    """Return the host at a URL, the same for all who ask in this process. Raises SpoolReadError."""
    return _hosts.of(location, access)


def _reason(error: Exception) -> str:
    """The last cause that gRPC names, in one line."""
    text = str(error).split("\n")[0].rpartition("last error: ")[2]
    return printable(text.removeprefix("UNKNOWN: ")[:200])
