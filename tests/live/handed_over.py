# SPDX-License-Identifier: Apache-2.0
"""A program: root opens a packet socket and a file, and reads neither before it is nobody.

    python -m tests.live.handed_over DEVICE FILE COUNT IN_FILE

The query is compiled first. It says "bound" and waits for a line; then it says "captures" when
nothing of root is left and the link is read. After COUNT packets of the link and IN_FILE of the
file, in any order, it says as JSON what it may not open any more, the rows and the counters.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict

from gigastream.engine import privileges
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.sources.files import FileSource
from gigastream.sources.live import LiveSource
from tests.engine.stepping import plan_of

ALL_PROTOCOLS = 3
QUERY = "SELECT tb, len, count(*) AS n FROM PKT GROUP BY time/1000000000 AS tb, len"


def packet_socket(device: str) -> socket.socket:
    """A socket that takes all packets of a device, as only root may open it."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    made.bind((device, ALL_PROTOCOLS))
    return made


def refusals(device: str, path: str) -> list[str]:
    """What is refused now."""
    openings: dict[str, Callable[[], object]] = {
        "link": lambda: packet_socket(device),
        "file": lambda: os.open(path, os.O_RDONLY),
    }
    found = []
    for name, opening in openings.items():
        try:
            opening()
        except PermissionError:
            found.append(name)
    return found


def main(device: str, path: str, count: str, in_file: str) -> None:
    """Run."""
    wanted = int(count), int(in_file)
    plan = plan_of(QUERY, (device, "file"))
    link, file = packet_socket(device), os.open(path, os.O_RDONLY)
    print("bound", flush=True)
    sys.stdin.readline()
    with AttachedSet(plan, interfaces=2) as queries, Engine() as engine:
        privileges.gain_no_privileges("nobody")
        privileges.give_up_privileges("nobody")
        privileges.confine([])
        engine.add_link(LiveSource(device, device, socket=link.fileno()))
        link.close()
        engine.add_files([FileSource("file", path, file)])
        engine.attach(queries)
        engine.start()
        print("captures", flush=True)
        rows, goes_on = [], True
        while goes_on:
            goes_on = engine.run(1000, 100)
            rows += [e.batch.csv().decode() for e in queries.taken() if e.batch.row_count]
            read = [source.read for source in engine.statistics()]
            if all(so_far >= all_of_it for so_far, all_of_it in zip(read, wanted, strict=True)):
                engine.stop()
        sources = [asdict(source) for source in engine.statistics()]
    said = {"user": os.getresuid(), "refused": refusals(device, path)}
    print(json.dumps({**said, "rows": "".join(rows).splitlines(), "sources": sources}))


if __name__ == "__main__":
    main(*sys.argv[1:])
