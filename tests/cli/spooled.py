# SPDX-License-Identifier: Apache-2.0
"""run -o spool:PATH and run --spool PATH, as their tests call them."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from cli.command import Result, gigastream

from gigastream.spool import Entry, Spool

QUERY = """SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes
    FROM IPV4 GROUP BY time/60 AS tb, srcIP"""
PACKETS = "SELECT time, len FROM PKT"
Rows = list[dict[str, str]]


def write(root: Path, *words: str | os.PathLike[str], stdin: bytes = b"") -> Result:
    done = gigastream("run", *words, "-o", f"spool:{root}", stdin=stdin)
    assert done.out == b""
    return done


def read(root: Path, *words: str | os.PathLike[str]) -> Result:
    return gigastream("run", "--spool", root, *words)


def csv_rows(text: bytes) -> Rows:
    """The rows in order, whatever order they came in."""
    return sorted(csv.DictReader(io.StringIO(text.decode())), key=lambda row: list(row.values()))


def segments(root: Path) -> list[Path]:
    return sorted(root.rglob("*.arrows"))


def entries(root: Path) -> list[Entry]:
    (track,) = Spool(root).tracks()
    return track.poll()
