# SPDX-License-Identifier: Apache-2.0
"""The tools that people use: how each is told to do what is nearest to the bench's aggregation.

Each runs over a capture that its speed allows. What it answers stands beside its figure: most of
them keep flows by five-tuple, which is another answer, and some none at all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from duckdb_peer import duckdb
from measure import Contender, command
from polars_peer import polars
from workloads import Capture

DUCKDB_QUERY = """
SELECT time // 60 AS tb, srcIP, destIP, count(*) AS packets, sum(len) AS bytes
FROM read_parquet('{path}') GROUP BY ALL
"""
EXACT_ROWS = "the same rows, from packets that were decoded before"


@dataclass(frozen=True)
class Peer:
    """A tool, the capture it can finish, and what comes out of it."""

    name: str
    capture: str
    answers: str
    words: Callable[[str, str], list[str]] | None = None
    """The command line, given the capture and an empty folder; None for a library."""
    library: Callable[[Capture], Contender] | None = None
    floor: float | None = None
    goal: float | None = None

    @property
    def missing(self) -> str:
        """Why it cannot run; empty if it can. A library says so itself."""
        return "not installed" if self.words and shutil.which(self.name) is None else ""

    def contender(self, capture: Capture, scratch: Path, time_limit_seconds: float) -> Contender:
        """It, over the capture."""
        if self.library:
            return self.library(capture)
        words = self.words(str(capture.path), str(scratch)) if self.words else []
        return command(words, capture, time_limit_seconds)


def _nfpcapd(capture: str, scratch: str) -> list[str]:
    return ["nfpcapd", "-r", capture, "-w", scratch, "-t", "60", "-e", "60,60"]


def _softflowd(capture: str, scratch: str) -> list[str]:
    files = ["-p", f"{scratch}/pid", "-c", "none"]  # with a control socket it may never end
    limits = ["-T", "ip", "-m", "1000000", "-t", "maxlife=60"]
    return ["softflowd", "-d", "-r", capture, *files, *limits, "-n", "127.0.0.1:9"]


def _suricata(capture: str, scratch: str) -> list[str]:
    return ["suricata", "-r", capture, "-l", scratch, "-S", "/dev/null", "--runmode", "single"]


def _zeek(capture: str, scratch: str) -> list[str]:
    logs = f"Log::default_logdir={scratch}"
    return ["zeek", "-b", "-C", "-r", capture, "base/protocols/conn", logs]


def _pmacctd(capture: str, scratch: str) -> list[str]:
    rows = ["-O", "csv", "-o", f"{scratch}/rows"]
    return ["pmacctd", "-I", capture, "-P", "print", "-c", "src_host,dst_host", *rows]


PEERS = (
    Peer(
        "tcpdump",
        "uniform-260k",
        "nothing: copies the packets",
        lambda capture, _: ["tcpdump", "-nr", capture, "-w", "/dev/null"],
        floor=1.0,
        goal=1.5,
    ),
    Peer(
        "DuckDB",
        "uniform-260k",
        EXACT_ROWS,
        library=lambda capture: duckdb(capture, DUCKDB_QUERY),
    ),
    Peer("Polars", "uniform-260k", EXACT_ROWS, library=polars),
    Peer(
        "nfpcapd",
        "tenth-26k",
        "flows by five-tuple, in files of a minute",
        _nfpcapd,
        floor=20,
        goal=35,
    ),
    Peer("softflowd", "tenth-26k", "flows by pair of addresses, as NetFlow", _softflowd),
    Peer(
        "argus",
        "tenth-26k",
        "flows of both directions by five-tuple",
        lambda capture, scratch: ["argus", "-r", capture, "-w", f"{scratch}/flows"],
    ),
    Peer("pmacctd", "tenth-26k", "totals by pair of addresses, no minutes", _pmacctd),
    Peer(
        "ndpiReader",
        "tenth-26k",
        "flows by five-tuple, and the protocol of each",
        lambda capture, _: ["ndpiReader", "-q", "-i", capture],
    ),
    Peer("zeek", "tenth-26k", "connections by five-tuple, as a log", _zeek),
    Peer("suricata", "tenth-26k", "flows by five-tuple, as JSON; no rules", _suricata),
    Peer(
        "tshark",
        "fiftieth-5k",
        "conversations by pair of addresses, no minutes",
        lambda capture, _: ["tshark", "-n", "-q", "-r", capture, "-z", "conv,ip"],
    ),
)
