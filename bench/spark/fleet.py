# SPDX-License-Identifier: Apache-2.0
"""Many hosts' spools, written by one process at a scaled rate until it is told to end.

python bench/spark/fleet.py FOLDER HOSTS SECONDS
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from made import COLUMNS, FIRST_MINUTE, IPV4, PLAN, STREAM, Shape, rows_of

from gigastream.plan.to_json import to_json
from gigastream.spool import END, NOTHING, SpoolSettings, SpoolWriter, StoredQuerySet, TrackWriter
from gigastream.spool.plan import queries_to_json, stream_descriptions

WINDOW_S = 5.0
"""By the wall; a minute of the packets' time passes in it."""
STEP_S = 0.25
ROWS_PER_SECOND = 500
"""Of a host that has packets."""
GROUPS = 20_000
"""Of all hosts together: each has rows of all of them."""
CLOCK_ERROR_S = 0.4
SILENT_EVERY = 10


@dataclass(frozen=True)
class Host:
    """One of them: every second has two interfaces, every tenth no packets, one is behind."""

    number: int

    @property
    def interfaces(self) -> tuple[str, ...]:
        return ("eth0", "eth1")[: 1 + self.number % 2]

    @property
    def is_silent(self) -> bool:
        """It has heartbeats alone."""
        return self.number % SILENT_EVERY == 3

    @property
    def behind_s(self) -> float:
        """How far its time is behind, by the wall."""
        if self.number == 1:
            return WINDOW_S / 2
        return random.Random(self.number).random() * CLOCK_ERROR_S


def hosts(count: int) -> list[Host]:
    """The hosts of a fleet."""
    return [Host(number) for number in range(count)]


def spools(folder: Path, count: int) -> list[str]:
    """Where they write."""
    return [str(folder / f"host-{number:03}") for number in range(count)]


class _Writing:
    """A host's spool, as it is written."""

    def __init__(self, host: Host, writer: SpoolWriter) -> None:
        self.host = host
        self._writer = writer
        queries = StoredQuerySet(
            to_json(PLAN), queries_to_json(IPV4.texts), stream_descriptions(PLAN)
        )
        ports = [(STREAM.name, interface) for interface in host.interfaces]
        self._tracks: list[TrackWriter] = list(writer.open(queries, ports).values())
        self._number = 0

    def step(self, passed_s: float) -> float:
        """Write a step's rows and how far time has come; return that, in packets' seconds."""
        second = FIRST_MINUTE * 60 + (passed_s - self.host.behind_s) * 60 / WINDOW_S
        self._number += 1
        for track in self._tracks:
            if not self.host.is_silent:
                count = int(ROWS_PER_SECOND * STEP_S) // len(self._tracks)
                for rows in rows_of(Shape(count, GROUPS, minutes=1), int(second) // 60):
                    track.write(rows, _bounds(second), int(second * 1e9), self._number)
            track.write(None, _bounds(second), int(second * 1e9), self._number)
        self._writer.tick()
        return second

    def end(self) -> None:
        for track in self._tracks:
            end = (END, *(NOTHING,) * (COLUMNS - 1))
            track.write(None, end, END, self._number + 1, is_end=True)


def _bounds(second: float) -> tuple[int, ...]:
    return (int(second) // 60, *(NOTHING,) * (COLUMNS - 1))


def write(folder: Path, count: int, seconds: float) -> dict[int, float]:
    """Write for so long; return by minute when the last host had let it go, by the wall."""
    ended: dict[int, float] = {}
    settings = SpoolSettings()
    with ExitStack() as stack:
        fleet = [
            _Writing(host, stack.enter_context(SpoolWriter(path, settings)))
            for host, path in zip(hosts(count), spools(folder, count), strict=True)
        ]
        (folder / "begun").touch()
        begun_s = time.time()
        while (passed_s := time.time() - begun_s) < seconds:
            least = min(each.step(time.time() - begun_s) for each in fleet)
            for minute in range(FIRST_MINUTE, int(least) // 60):
                ended.setdefault(minute, time.time())
            time.sleep(max(0.0, STEP_S - (time.time() - begun_s - passed_s)))
        for each in fleet:
            each.end()
    return ended


if __name__ == "__main__":
    place = Path(sys.argv[1])
    times = time.process_time()
    ends = write(place, int(sys.argv[2]), float(sys.argv[3]))
    found = {"ended": ends, "cpu_s": time.process_time() - times}
    (place / "ended.json").write_text(json.dumps(found))
