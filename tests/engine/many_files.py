# SPDX-License-Identifier: Apache-2.0
"""A program: answer thousands of files with few descriptors, and say what that needed.

python -m tests.engine.many_files FOLDER DESCRIPTORS BY_INTERFACE DISORDER
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import pyarrow  # noqa: F401  (so that it is no part of what is measured)

from gigastream.engine.host import HostSource
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of

QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"


def anonymous_kib() -> int:
    """Memory of this process that no file backs."""
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0])


class Openings:
    """How often the engine asks for a file to be opened."""

    def __init__(self) -> None:
        """Count from now on."""
        self.count, opened = 0, HostSource.open

        def counted(host: HostSource, wanted: Any) -> int:
            self.count += 1
            return opened(host, wanted)

        HostSource.open = counted  # type: ignore[method-assign]


def main(folder: str, descriptors: str, by_interface: str, disorder: str) -> None:
    """Run."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors),) * 2)
    paths = sorted(Path(folder).iterdir())
    names = [f"i{n}" if by_interface == "yes" else "all" for n in range(len(paths))]
    files = [FileSource(name, str(path)) for name, path in zip(names, paths, strict=True)]
    settings = Settings(disorder_bytes=int(disorder), slots=4096, deliver_every_burst=True)
    memory, opened, packets, openings = 0, 0, 0, Openings()
    with Session(plan_of(QUERY, sorted(set(names))), files, settings) as session:
        for turn in session.turns():
            memory = max(memory, anonymous_kib())
            opened = max(opened, len(os.listdir("/proc/self/fd")))
            for event in turn:
                if event.batch.row_count:
                    packets += sum(event.batch.to_arrow().column(1).to_pylist())
        sources = session.statistics().sources
    counted = {"read": sum(s.read for s in sources), "bytes": sum(s.bytes for s in sources)}
    needed = {"memory": memory, "descriptors": opened, "openings": openings.count}
    print(json.dumps({**needed, "packets": packets, **counted}))


if __name__ == "__main__":
    main(*sys.argv[1:])
