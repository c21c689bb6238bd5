# SPDX-License-Identifier: Apache-2.0
"""The daemon as the console's server sees it: questions and tails over its control socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gigastream.console.errors import ConsoleError
from gigastream.daemon.framing import UNREADABLE
from gigastream.daemon.messages import Answered, TailLine, TailQuery, encoded_line

_Answer = TypeVar("_Answer")
_LINE_BYTES = 128 << 20
"""Of an answer: rows of a tail are as long as a batch."""
_WAIT_S = 120
_SILENT = "the daemon does not answer"


class Feed:
    """Asks the daemon at a socket; a connection for each question."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def ask(self, request: Any, answer: type[_Answer]) -> _Answer | Answered:
        """Its answer, or an Answered that says what is wrong. ConsoleError: there is no daemon."""
        reader, writer = await self._connect()
        try:
            writer.write(encoded_line(request))
            return await asyncio.wait_for(_answer(reader, answer), _WAIT_S)
        except (OSError, ValueError, TimeoutError):
            raise ConsoleError(_SILENT, "it may yet be done: gigastream ctl status") from None
        finally:
            writer.close()

    async def tail(self, query: str, set_name: str | None) -> AsyncIterator[TailLine | Answered]:
        """The rows of a query as they come; an Answered that is not ok where there are none."""
        reader, writer = await self._connect()
        try:
            writer.write(encoded_line(TailQuery(query=query, set_name=set_name)))
            first = await _answer(reader, Answered)
            if not first.ok:
                yield first
                return
            while line := await reader.readline():
                yield msgspec.json.decode(line, type=TailLine)
        except (OSError, ValueError, *UNREADABLE):
            raise ConsoleError(_SILENT, "gigastream ctl status") from None
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_unix_connection(self._path, limit=_LINE_BYTES)
        except OSError as error:
            raise ConsoleError(
                f"no daemon answers at {self._path}: {error.strerror}", "gigastream capture"
            ) from None


async def _answer(reader: asyncio.StreamReader, answer: type[_Answer]) -> _Answer | Answered:
    line = await reader.readline()
    if not line:
        raise ConsoleError("the daemon has hung up without an answer", "its log says why")
    return _decoded(line, answer)


def _decoded(line: bytes, answer: type[_Answer]) -> _Answer | Answered:
    try:
        return msgspec.json.decode(line, type=answer)
    except UNREADABLE:
        pass
    try:
        return msgspec.json.decode(line, type=Answered)
    except UNREADABLE as error:
        raise ConsoleError(
            f"the daemon's answer is none: {error}",
            "is it of another version, or no daemon at all? gigastream version",
        ) from None
