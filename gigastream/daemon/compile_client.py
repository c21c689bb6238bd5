# SPDX-License-Identifier: Apache-2.0
"""The supervisor's side of compile helpers: one is begun for each text, few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar

from gigastream.daemon.compiling import CompileRequest, CompileResult, result_reader
from gigastream.daemon.daemon_config import DaemonConfig
from gigastream.daemon.framing import FrameError, frame
from gigastream.daemon.launching import DaemonError, Launching
from gigastream.daemon.messages import CheckAnswer, QuerySetSpec
from gigastream.gsql.catalog.catalog import RecordLayout

_AT_ONCE = 2
_CHECKS_AT_ONCE = 1
"""Beside them: a check does not wait for what is compiled."""
Leaves = Callable[[], Awaitable[None]]
asker: ContextVar[Leaves | None] = ContextVar("asker", default=None)
"""Waits until who asks has hung up, for whom nothing is compiled any more; None: nobody does."""
_PATIENCE_S = 900.0
"""More than the compiler's own limits."""
_HINT = "fewer or simpler queries in one set"
_READ_BYTES = 1 << 16


class CompileClient:
    """Has texts checked and compiled."""

    def __init__(
        self,
        launching: Launching,
        config: DaemonConfig,
        streams: Sequence[RecordLayout],
        folder: str,
    ) -> None:
        self._launching = launching
        self._streams = tuple(streams)
        self._config = config
        self._folder = folder
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._check_places = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def compile(self, spec: QuerySetSpec) -> CompileResult:
        """The object of a set, or what is wrong with it."""
        return await self._ask(self._request(spec, self._folder), self._places)

    async def check(self, spec: QuerySetSpec) -> CheckAnswer:
        """What a set would be."""
        result = await self._ask(self._request(spec, None), self._check_places)
        if result.hint and not result.check.ok:
            return CheckAnswer(ok=False, message=f"{result.check.message}\nhint: {result.hint}")
        return result.check

    def _request(self, spec: QuerySetSpec, folder: str | None) -> CompileRequest:
        config = self._config
        return CompileRequest(
            spec=spec,
            interfaces=config.properties,
            definitions=config.definitions,
            library=config.library,
            is_finite=config.is_finite,
            streams=self._streams,
            folder=folder,
        )

    async def _ask(self, request: CompileRequest, places: asyncio.Semaphore) -> CompileResult:
        leaves = asker.get()
        if leaves is None:
            return await self._answer(request, places)
        work = asyncio.create_task(self._answer(request, places))
        left = asyncio.ensure_future(leaves())
        try:
            await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_done = work.done()
            for each in (work, left):
                each.cancel()
        if not is_done:
            raise DaemonError("who asked has hung up before it was compiled")
        return work.result()

    async def _answer(self, request: CompileRequest, places: asyncio.Semaphore) -> CompileResult:
        async with places:
            child, writer = self._launching.compiler(), None
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    reader, writer = await asyncio.open_connection(sock=child.channel)
                    writer.write(frame(request))
                    result = await _result(reader)
                    if result is None:
                        await asyncio.shield(child.ended)
            except TimeoutError:
                return _failed("it did not end in time", _HINT)
            except (DaemonError, FrameError, OSError) as error:
                return _failed(str(error), None)
            finally:
                self._launching.kill(child)  # where it has not ended: nobody waits for it any more
                if writer is not None:
                    writer.transport.abort()  # the loop lets go of the socket before it is closed
                else:
                    child.channel.close()
            return result or _failed(f"the compile helper ended: {child.told_end}", _HINT)


async def _result(reader: asyncio.StreamReader) -> CompileResult | None:
    frames = result_reader()
    while received := await reader.read(_READ_BYTES):
        for result in frames.feed(received):
            return result
    return None


def _failed(message: str, hint: str | None) -> CompileResult:
    return CompileResult(check=CheckAnswer(ok=False, message=message), hint=hint)
