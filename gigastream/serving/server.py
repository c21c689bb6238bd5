# SPDX-License-Identifier: Apache-2.0
"""The Flight server: who shows a token is answered."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

# Its log would stand between sentences; what a client does wrong is told to the client.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import pyarrow
from pyarrow import flight

from gigastream.serving.offered import OfferedSpool
from gigastream.serving.slots import BusyError, Slots
from gigastream.spool.place import NoFileError
from gigastream.spool.protocol import (
    ACTIONS,
    GONE,
    LIST,
    MAX_REQUEST_BYTES,
    NO_FILE,
    REFUSED,
)

_BEARER = "Bearer "


class _TokenCheck(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses every call that shows none of the tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = [token.encode() for token in tokens]

    def start_call(self, info: object, headers: Mapping[str, Sequence[Any]]) -> None:
        shown = [
            value for name, all_ in headers.items() if name.lower() == _HEADER for value in all_
        ]
        if len(shown) != 1 or not self._is_known(shown[0]):
            raise flight.FlightUnauthenticatedError("the token is wrong or missing")

    def _is_known(self, shown: str | bytes) -> bool:
        text = shown if isinstance(shown, str) else shown.decode(errors="replace")
        token = text.removeprefix(_BEARER).encode()
        # all of them, so that the time does not tell which was close
        found = [hmac.compare_digest(token, each) for each in self._tokens]
        return text.startswith(_BEARER) and any(found)


_HEADER = "authorization"


class SpoolServer(flight.FlightServerBase):  # type: ignore[misc]
    """Offers spools by name.

    `certificate` is (chain, key), PEM; None: without TLS. `tell` gets what is a fault of ours.
    """

    def __init__(
        self,
        location: str,
        spools: Mapping[str, OfferedSpool],
        tokens: Sequence[str],
        certificate: tuple[bytes, bytes] | None,
        tell: Callable[[str], None],
    ) -> None:
        # Before the port is open: a call may come at once.
        self._spools = spools
        self._slots = Slots()
        self._tell = tell
        super().__init__(
            location,
            tls_certificates=None if certificate is None else [certificate],
            middleware={"token": _TokenCheck(tokens)},
        )

    def list_actions(self, context: Any) -> list[flight.ActionType]:
        """What may be asked."""
        return [flight.ActionType(*each) for each in ACTIONS.items()]

    def do_action(self, context: Any, action: Any) -> Iterator[flight.Result]:
        """Answer, piece by piece, as the client takes it."""
        try:
            with self._slots.taken(context.peer().rpartition(":")[0]):
                yield from self._answer(action)
        except BusyError as error:
            raise flight.FlightUnavailableError(str(error)) from None

    def _answer(self, action: Any) -> Iterator[flight.Result]:
        with closing(self._pieces(action)) as pieces:
            header, first = self._begun(pieces)
            yield _message(json.dumps(header).encode())
            if first is not None:
                yield _message(first)
            yield from map(_message, self._rest(pieces))

    def _begun(self, pieces: Iterator[bytes]) -> tuple[dict[str, str], bytes | None]:
        """The header, which says what is wrong, and the first piece."""
        try:
            return {}, next(pieces, None)
        except FileNotFoundError:
            return {"error": GONE, "text": "there is no such file"}, None
        except NoFileError as error:
            return {"error": NO_FILE, "text": str(error)}, None
        except OSError as error:
            return {"error": REFUSED, "text": error.strerror or "it cannot be read"}, None
        except ValueError as error:
            return {"error": REFUSED, "text": str(error)}, None
        except Exception as error:  # its traceback would travel to the client
            self._tell(f"a fault in Gigastream itself: {type(error).__name__}: {error}")
            return {"error": REFUSED, "text": "the server has a fault"}, None

    def _rest(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from pieces
        except OSError as error:
            raise flight.FlightServerError(error.strerror or "it cannot be read") from None

    def _pieces(self, action: Any) -> Generator[bytes]:
        question = _question(action)
        if action.type == LIST:
            yield json.dumps(sorted(self._spools)).encode()
            return
        spool = self._spools.get(str(question.get("spool")))
        if spool is None:
            raise ValueError("there is no such spool")
        yield from spool.answer(action.type, question)


def _question(action: Any) -> dict[str, Any]:
    """The object in an action's body. Raises ValueError."""
    if action.body is None or action.body.size > MAX_REQUEST_BYTES:
        raise ValueError("the question is too long")
    try:
        found = json.loads(action.body.to_pybytes())
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("the question is no object")
    return found


def _message(piece: bytes) -> flight.Result:
    return flight.Result(pyarrow.py_buffer(piece))
