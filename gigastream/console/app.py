# SPDX-License-Identifier: Apache-2.0
"""What the console answers: its page, questions to the daemon, and rows as they come."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import (
    FileResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from gigastream.console.access import ConsoleAccess
from gigastream.console.errors import ConsoleError, TooLongError
from gigastream.console.feed import Feed
from gigastream.daemon.framing import UNREADABLE
from gigastream.daemon.messages import (
    MAX_REQUEST_BYTES,
    AddSet,
    Answered,
    AskStatus,
    CheckAnswer,
    CheckText,
    DropSet,
    QuerySetSpec,
    StatusAnswer,
    TailLine,
)
from gigastream.engine.arrow_rows import batch_of_arrow

_PAGE = Path(__file__).with_name("page")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KIND = b"gs.type"


def console_app(feed: Feed, access: ConsoleAccess) -> Starlette:
    """The application that asks this daemon, for who may."""
    console = _Console(feed)
    routes = [
        Route("/", console.page),
        Route("/api/status", console.status),
        Route("/api/check", console.check, methods=["POST"]),
        Route("/api/add", console.add, methods=["POST"]),
        Route("/api/drop", console.drop, methods=["POST"]),
        Route("/api/tail", console.tail),
        Mount("/page", StaticFiles(directory=_PAGE)),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(_Gate, access=access)],
        exception_handlers={ConsoleError: _unanswered, **dict.fromkeys(UNREADABLE, _misunderstood)},
    )


class _Gate:
    """Lets through who names us, comes from our page and shows the token."""

    def __init__(self, app: ASGIApp, access: ConsoleAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        refusal = self._refusal(HttpRequest(scope))
        if refusal is not None:
            return await refusal(scope, receive, send)
        return await self._app(scope, receive, _with_headers(send))

    def _refusal(self, request: HttpRequest) -> Response | None:
        """The page itself says nothing of the daemon: who has no token may load it."""
        host = request.headers.get("host")
        if not self._access.is_ours(host):
            return _refused("this host is not called so", 421)
        if not self._access.is_own_origin(request.headers.get("origin"), host):
            return _refused("this comes from another site", 403)
        is_page = request.url.path == "/" or request.url.path.startswith("/page/")
        if not is_page and not self._access.knows(request.headers.get("authorization")):
            return _refused("open the address that gigastream console has printed", 401)
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *own]
        await send(message)

    return sending


def _refused(message: str, status: int) -> Response:
    return JSONResponse({"ok": False, "message": message}, status, _HEADERS)


def _unanswered(_request: HttpRequest, error: Exception) -> Response:
    hint = getattr(error, "hint", None)
    status = getattr(error, "status", 503)
    return JSONResponse({"ok": False, "message": str(error), "hint": hint}, status)


def _misunderstood(_request: HttpRequest, error: Exception) -> Response:
    return JSONResponse({"ok": False, "message": str(error)}, 400)


class _CheckBody(msgspec.Struct, forbid_unknown_fields=True):
    """What the editor sends as one types."""

    text: str
    parameters: dict[str, str] = {}


class _AddBody(msgspec.Struct, forbid_unknown_fields=True):
    """What its button sends."""

    name: str
    text: str
    parameters: dict[str, str] = {}


class _DropBody(msgspec.Struct, forbid_unknown_fields=True):
    """What the button of a set sends."""

    name: str


class _Console:
    """The handlers."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def page(self, _request: HttpRequest) -> Response:
        return FileResponse(_PAGE / "index.html")

    async def status(self, _request: HttpRequest) -> Response:
        return _json(await self._feed.ask(AskStatus(), StatusAnswer))

    async def check(self, request: HttpRequest) -> Response:
        body = msgspec.json.decode(await _body(request), type=_CheckBody)
        question = CheckText(text=body.text, parameters=body.parameters)
        return _json(await self._feed.ask(question, CheckAnswer))

    async def add(self, request: HttpRequest) -> Response:
        body = msgspec.json.decode(await _body(request), type=_AddBody)
        added = QuerySetSpec(
            name=body.name,
            text=body.text,
            parameters=body.parameters,
            file=f"{body.name}.gsql",
        )
        return _json(await self._feed.ask(AddSet(query_set=added), Answered))

    async def drop(self, request: HttpRequest) -> Response:
        body = msgspec.json.decode(await _body(request), type=_DropBody)
        return _json(await self._feed.ask(DropSet(name=body.name), Answered))

    async def tail(self, request: HttpRequest) -> Response:
        rows = self._feed.tail(
            request.query_params.get("query", ""), request.query_params.get("set")
        )
        return StreamingResponse(_events(rows), media_type="text/event-stream")


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


async def _body(request: HttpRequest) -> bytes:
    """What was sent. TooLongError where it is more than a query can be."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > MAX_REQUEST_BYTES:
            raise TooLongError("that is too long for a query")
    return bytes(received)


async def _events(rows: AsyncIterator[TailLine | Answered]) -> AsyncIterator[bytes]:
    """Server-sent events: rows as the outputs print them, or why there are none."""
    try:
        async for line in rows:
            if isinstance(line, Answered):
                yield _event("refused", {"message": line.message, "hint": line.hint})
            else:
                yield _event("rows", shown_rows(line))
    except ConsoleError as error:
        yield _event("refused", {"message": str(error), "hint": error.hint})


def _event(name: str, content: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()


def shown_rows(line: TailLine) -> dict[str, Any]:
    """Rows for the page: texts as the outputs print them, and which columns are numbers."""
    found: dict[str, Any] = {"columns": [], "numeric": [], "times": [], "rows": []}
    if line.arrow:
        with pyarrow.ipc.open_stream(base64.b64decode(line.arrow)) as reader:
            schema = reader.schema
            found["columns"] = schema.names
            found["numeric"] = [_is_number(field) for field in schema]
            found["times"] = [str(field.type).startswith("timestamp") for field in schema]
            found["rows"] = [row for batch in reader for row in _texts(batch)]
    return {**found, "lost": line.lost, "over": line.over}


def _texts(batch: Any) -> list[list[Any]]:
    lines = batch_of_arrow(batch).json(None).splitlines()
    return [list(json.loads(line, parse_int=str, parse_float=str).values()) for line in lines]


def _is_number(field: Any) -> bool:
    kind = str(field.type)
    is_address = _KIND in (field.metadata or {})
    return not is_address and kind.startswith(("uint", "int", "double", "float"))
