# SPDX-License-Identifier: Apache-2.0
"""What the supervisor and a loader say to each other, and what a status says of a table.

A loader gets one frame, its start, and is asked to end by the end of the channel; up go a
LoaderReport now and then, and at last a LoaderOver.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class _Said(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Of a loader, or to it."""


class LoaderStart(_Said, frozen=True, kw_only=True):
    """What a loader is begun with."""

    spool: str
    """The folder that it reads."""
    table: str
    """SINK:PLACE[#TABLE]."""
    progress: str
    """A folder in which loaders keep how far they are."""
    since_ns: int
    """Since when the table is wanted: of a spool that nobody has read it reads what came then."""
    definitions: tuple[str, ...] = ()
    memory_bytes: int | None = None
    report_ns: int = 1_000_000_000


class LoaderReport(_Said, frozen=True, kw_only=True):
    """How far it is; counters are of this process."""

    rows: int = 0
    """That it has committed."""
    known: int = 0
    """That were in the table already."""
    read_ns: int | None = None
    """Packet time up to which it has read the spool; None: all, or nothing yet."""
    lost_rows: int = 0
    """Of the low level, in segments that are damaged; no loader before has counted them."""
    retired_rows: int = 0
    """Of the low level, deleted before this or another loader of the table has read them."""
    refused_rows: int = 0
    """For which there was no memory."""
    no_value_rows: int = 0
    """Without a value where one is read, as where a function in Python raises."""
    notes: tuple[str, ...] = ()
    """For the log."""


class LoaderOver(_Said, frozen=True, kw_only=True):
    """It ends."""

    report: LoaderReport
    goes_on: bool = False
    """There is more, of other queries: the next loader reads it at once."""
    error: str | None = None
    hint: str | None = None


LoaderWord = LoaderReport | LoaderOver


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """A table that a set has as an output."""

    set_name: str
    table: str
    spool: str
    pid: int | None = None
    state: Literal["running", "waiting"] = "waiting"
    why: str | None = None
    """It waits."""
    rows: int = 0
    """Committed since the daemon began."""
    known: int = 0
    """By the running loader, or the last one: in the table before."""
    read_ns: int | None = None
    lag_ns: int | None = None
    """Of what is read behind what the spool promises, in packet time."""
    restarts: int = 0
    lost_rows: int = 0
    """Since the daemon began, as retired_rows."""
    retired_rows: int = 0
    refused_rows: int = 0
    """By the running loader, as no_value_rows."""
    no_value_rows: int = 0
