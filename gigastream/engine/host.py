# SPDX-License-Identifier: Apache-2.0
"""Files and pipes as the engine asks for them: opened when it is their turn, closed at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.opening import link_types
from gigastream.late_dataclass import dataclass, replace
from gigastream.records.source import StreamSource
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, NoRoomError, OpenSource, SourceError
from gigastream.sources.packets import OpenPackets, PacketSource

if TYPE_CHECKING:
    from gigastream.records.open_stream import OpenStream

NOTHING = -(1 << 63)
_INFINITE = (1 << 63) - 1
_DEFAULT_BLOCK_BYTES = 16 << 20


class HostSource:
    """What the engine calls for one source."""

    def __init__(self, source: FileSource | PacketSource | StreamSource) -> None:
        """Look what it is. SourceError."""
        self.given = source
        self.source: OpenSource | OpenPackets | OpenStream = source.opening()
        self.problem: BaseException | None = None
        """Why it could not be opened."""
        self.handle = ffi.new_handle(self)

    def open(self, opened: Any) -> int:
        """Fill a `struct gs_opened`; return the status."""
        try:
            is_open = self.source.advance()
        except NoRoomError:
            if not self.source.is_pipe:
                self.source.close()
            opened.wants_room = True
            return int(lib.GS_AGAIN)
        if isinstance(self.source, OpenSource) and self.source.is_divided:
            opened.descriptor = self.source.hand_over()
        else:
            opened.descriptor = self.source.descriptor
        opened.first_byte_count = len(self.source.first_bytes)
        ffi.memmove(opened.first_bytes, self.source.first_bytes, len(self.source.first_bytes))
        return int(lib.GS_OK if is_open else lib.GS_AGAIN)

    def close(self) -> None:
        """Give back what is open; what was counted stays."""
        self.source.close()


def message_of(error: Any) -> str:
    """The message of a `struct gs_error`."""
    return os.fsdecode(ffi.string(error.message))


@ffi.def_extern(name="gs_host_open")  # type: ignore[untyped-decorator]
def _open(context: Any, opened: Any, error: Any) -> int:
    host: HostSource = ffi.from_handle(context)
    try:
        return host.open(opened)
    except BaseException as problem:
        host.problem = problem
        return int(lib.GS_REFUSED)


@ffi.def_extern(name="gs_host_close")  # type: ignore[untyped-decorator]
def _close(context: Any) -> None:
    ffi.from_handle(context).close()


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a file is known to promise before it is opened (OPERATORS section 2)."""

    promise_ns: int
    """No packet of it that counts is below that."""
    first_ns: int
    """The least timestamp of its first two blocks: when it is opened among others."""


UNKNOWN = Scanned(NOTHING, NOTHING)


def refusal(label: str, message: str, damage: str | None) -> SourceError:
    """What ended too early for a capture may be a compressed one that is damaged."""
    is_short = message.startswith((f"{label}: is empty", f"{label}: is too short"))
    if is_short and damage is not None:
        return SourceError(f"{label} is damaged: {damage}")
    return SourceError(message)


def look_at(source: FileSource, settings: Settings) -> None:
    """Read a file's first record. SourceError where it is no capture."""
    scan(source, replace(settings, disorder_bytes=1))


def scan(source: FileSource | PacketSource | StreamSource, settings: Settings) -> Scanned:
    """Read a file's first two blocks. SourceError where it is none."""
    opened, promise = source.opening(), ffi.new("struct gs_scanned_promise *")
    error = ffi.new("struct gs_error *")
    block = settings.disorder_bytes or _DEFAULT_BLOCK_BYTES
    try:
        opened.advance()
        types = link_types(settings)
        status = lib.gs_scan_promise(opened.descriptor, types, block, promise, error)
    finally:
        opened.close()
    if status == lib.GS_ERROR:
        raise refusal(source.label, f"{source.label}: {message_of(error)}", opened.damage)
    if status != lib.GS_OK:
        return UNKNOWN
    least, high = int(promise.least_ns), int(promise.high_ns)
    return Scanned(_promise(least, high, settings), least)


def _promise(least_ns: int, high_ns: int, settings: Settings) -> int:
    """By blocks the least timestamp; by slack no more than W will be behind these blocks."""
    slack_ns = settings.file_slack_ns
    if slack_ns is not None and high_ns != _INFINITE:
        return max(NOTHING, min(least_ns, high_ns - slack_ns))
    return least_ns if slack_ns is not None or settings.disorder_bytes else NOTHING
