# SPDX-License-Identifier: Apache-2.0
"""Requests of clients, each a method; changes go into the audit log."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from gigastream.daemon.audit import AuditLog
from gigastream.daemon.compile_client import CompileClient, asker
from gigastream.daemon.control import Client
from gigastream.daemon.following import Followers
from gigastream.daemon.keeping import Keeper
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    AddSet,
    Answered,
    AskQueries,
    AskStatus,
    CheckAnswer,
    CheckText,
    DropSet,
    QueriesAnswer,
    QuerySetSpec,
    ReloadConfig,
    Request,
    RotateOrder,
    RotateOutputs,
    SetParameter,
    StatusAnswer,
    StopDaemon,
    TailQuery,
)
from gigastream.daemon.query_sets import QuerySets


class Asking(Protocol):
    """The daemon, as requests see it."""

    keeper: Keeper
    sets: QuerySets
    tails: Followers
    compiler: CompileClient

    def status(self) -> StatusAnswer:
        """Everything there is to know."""

    def stop(self) -> None:
        """Begin the end."""

    async def reload(self, uid: int) -> str:
        """Read the configuration again."""


Answer = Answered | CheckAnswer | QueriesAnswer | StatusAnswer


class Answering:
    """Called with a request and its client, gives the answer. DaemonError."""

    def __init__(self, daemon: Asking, audit: AuditLog) -> None:
        self._daemon = daemon
        self._audit = audit

    async def __call__(self, request: Request, client: Client) -> Answer | None:
        """The answer; None: what there was to say has been said."""
        asker.set(None if isinstance(request, ReloadConfig) else client.hangs_up)
        match request:
            case AskStatus():
                return self._daemon.status()
            case AskQueries():
                return QueriesAnswer(sets=self._daemon.sets.states)
            case CheckText():
                spec = QuerySetSpec(name="check", text=request.text, parameters=request.parameters)
                return await self._daemon.compiler.check(spec)
            case TailQuery():
                await self._daemon.tails.follow(request, client)
                return None
            case _:
                return await self._change(request, client)

    async def _change(self, request: Request, client: Client) -> Answered | None:
        uid = client.peer.uid
        daemon = self._daemon
        match request:
            case AddSet(query_set=spec):
                return await self._noted(client, "add", spec.name, daemon.sets.add(spec, uid))
            case DropSet(name=name):
                return await self._noted(client, "drop", name, daemon.sets.drop(name))
            case SetParameter(name=name, parameter=parameter, value=value):
                change = daemon.sets.set_parameter(name, parameter, value, uid)
                return await self._noted(client, "set", f"{name} {parameter}={value}", change)
            case RotateOutputs(name=name):
                return await self._noted(client, "rotate", name or "", self._rotate(name))
            case ReloadConfig():
                return await self._noted(client, "reload", "", daemon.reload(uid))
            case StopDaemon():
                answer = await self._noted(client, "stop", "", _nothing())
                try:
                    await client.answer(answer)  # before the end, which hangs up
                finally:
                    daemon.stop()  # who asks and leaves has asked for it, too
                return None
        raise DaemonError("this is no request that is known here")

    async def _noted(
        self, client: Client, what: str, subject: str, change: Awaitable[str | None]
    ) -> Answered:
        peer = client.peer
        try:
            message = await change or ""
        except DaemonError as error:
            self._audit.note(peer.uid, what, subject, False, str(error), peer.pid)
            raise
        self._audit.note(peer.uid, what, subject, True, message, peer.pid)
        return Answered(ok=True, message=message)

    async def _rotate(self, name: str | None) -> None:
        keeper = self._daemon.keeper
        done = await keeper.order(RotateOrder(number=keeper.next_number(), name=name))
        if done.error is not None:
            raise DaemonError(done.error, done.hint)


async def _nothing() -> None:
    """A change that is made when its answer is on the way."""
