# SPDX-License-Identifier: Apache-2.0
"""How much memory of its own a process has as it works: `python -m tests.sanitize.footprint …`.

`sessions N CAPTURE` opens, runs and closes N sessions; `flood N MAX_GROUPS` answers N packets of
which no two are of one group, all in one window; `windows N MAX_GROUPS` the same with forged times,
each in a window of its own. Each prints how much memory it had now and then (`sessions`: how much
was allocated and mapped after each), in bytes, and what the run counted, as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import random
import struct
import sys
import threading
from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gigastream.library import _plan
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.own_memory import allocated_memory, mapped_memory, own_memory

TALKERS = """SELECT tb, srcIP, destIP, count(*) AS packets, sum(len) AS bytes, first(id) AS id
FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP"""
WORDS = """SELECT tb, word, count(*) AS packets, last(TCP_data) AS data
FROM TCP GROUP BY time/60 AS tb, to_hex_string(str_truncate(TCP_data, 20)) AS word"""
PIECE_PACKETS = 20_000
PACKET_BYTES = 16 + 14 + 20 + 8
SOURCE_ADDRESS = 16 + 14 + 12
ANY_ORDER = Settings(slack_ns=(1 << 63) - 1)


def sessions(count: int, capture: str) -> dict[str, Any]:
    """Sessions one after the other, some of them stopped or dropped before their end."""
    plans = [_plan(TALKERS, None), _plan(WORDS, None)]
    allocated, mapped = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    for number in range(count):
        _run_once(plans[number % 2], capture, stop_at=number % 5)
        gc.collect()  # what waits for it is not kept
        allocated[number] = allocated_memory()
        mapped[number] = mapped_memory()
    return {"allocated": allocated.tolist(), "mapped": mapped.tolist()}


def _run_once(plan: Plan, capture: str, stop_at: int) -> None:
    sources = [FileSource("default", capture), FileSource("default", capture)]
    with Session(plan, sources, Settings(batch_rows=16)) as session:
        for number, event in enumerate(session.batches(), 1):
            event.batch.csv()
            event.batch.to_arrow()
            if number == stop_at:
                return


def flood(count: int, max_groups: int, *, forges_times: bool = False) -> dict[str, Any]:
    """A pipe of packets with forged addresses, and perhaps times."""
    reader, writer = os.pipe()
    samples: list[int] = []
    arguments = (writer, count, samples, forges_times)
    pourer = threading.Thread(target=_pour, args=arguments, daemon=True)
    settings = replace(ANY_ORDER, max_groups=max_groups)
    source = FileSource("default", f"/dev/fd/{reader}")
    pourer.start()
    with Session(_plan(TALKERS, None), [source], settings) as session:
        rows = sum(event.batch.row_count for event in session.batches())
        statistics = session.statistics()
    aggregate = next(op for op in statistics.operators if op.kind == "aggregate")
    return {
        "samples": samples,
        "read": statistics.sources[0].read,
        "accepted": statistics.lftas[0].accepted,
        "rows": rows,
        "refused": aggregate.groups_refused,
    }


def _pour(writer: int, count: int, samples: list[int], forges_times: bool) -> None:
    """Write the packets; after each piece the reader is at most a pipe's length behind."""
    os.write(writer, struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
    for piece in _pieces(count, forges_times):
        view = memoryview(piece)
        while view:
            view = view[os.write(writer, view) :]
        samples.append(own_memory())
    os.close(writer)


def _pieces(count: int, forges_times: bool) -> Iterator[bytearray]:
    chance = random.Random(1)  # of five million at random two may be the same
    for _ in range(0, count, PIECE_PACKETS):
        piece = bytearray(_packet() * PIECE_PACKETS)
        addresses = chance.randbytes(8 * PIECE_PACKETS)
        for byte in range(8):
            piece[SOURCE_ADDRESS + byte :: PACKET_BYTES] = addresses[byte::8]
        for byte in range(4 if forges_times else 0):
            piece[byte::PACKET_BYTES] = addresses[byte::8]
        yield piece


def _packet() -> bytes:
    frame = bytes(12) + b"\x08\x00"
    frame += struct.pack("!BBHHHBBHII", 0x45, 0, 28, 1, 0, 64, 17, 0, 0, 0)
    frame += struct.pack("!HHHH", 53, 53, 8, 0)
    return struct.pack("<IIII", 1_700_000_000, 0, len(frame), len(frame)) + frame


def main() -> None:
    """Run what the arguments name."""
    word, count, last = sys.argv[1:]
    if word == "sessions":
        result = sessions(int(count), last)
    else:
        result = flood(int(count), int(last), forges_times=word == "windows")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
