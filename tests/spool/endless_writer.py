# SPDX-License-Identifier: Apache-2.0
"""A writer that counts up, from where the last run stopped, until it is killed."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from gigastream.spool import NOTHING, SpoolSettings, SpoolWriter
from tests.spool.made import open_track, rows

Sync = Literal["segment", "period"]
SETTINGS: dict[Sync, SpoolSettings] = {
    "segment": SpoolSettings(segment_rows=3_000, segment_age_ns=5_000_000),
    "period": SpoolSettings(segment_rows=3_000, segment_age_ns=5_000_000, sync=20_000_000),
}


_OF_A_SEGMENT = 100
"""Batches, and a few more: they have 5,000 rows."""


def write_on(root: Path, sync: Sync, connection: Connection, holds: bool = False) -> None:
    """Say that the run has begun, then write for ever: row n is n, the bounds after it n + 1.

    That a segment is cut is said, too. With `holds` those behind it are not listed, and then it is
    said that there is one of them.
    """
    with SpoolWriter(root, SETTINGS[sync]) as writer:
        track = open_track(writer)
        connection.send("begun")
        n = sequence = first = max(0, track.resume.base_ns)
        while True:
            batch = rows(n, 1 + n % 997)
            n += batch.num_rows
            sequence += 1
            track.write(batch, (n, NOTHING), n, sequence)
            if sequence - first == _OF_A_SEGMENT:
                connection.send("writes")
                if holds:
                    writer._publisher.submit_segment = lambda _: None  # type: ignore[method-assign]
            if holds and sequence - first == 2 * _OF_A_SEGMENT:
                connection.send("holds")
