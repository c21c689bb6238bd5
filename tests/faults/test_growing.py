# SPDX-License-Identifier: Apache-2.0
"""A capture that grows, by whole records, while threads divide it."""

from __future__ import annotations

import os
from pathlib import Path

from cli.command import gigastream

from tests.strategies.files import Packet, pcap

EXTENT_BYTES = 512 << 10
QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"


def test_what_was_no_end_when_its_turn_comes_is_read(growing_library: Path, tmp_path: Path) -> None:
    """One reader saw the end, another a file that goes on: no record is cut in two between them."""
    whole = pcap([Packet(at * 1_000_000, b"\0" * 1_000) for at in range(1_500)])
    before = 24 + 1_016 * (EXTENT_BYTES * 3 // 2 // 1_016)
    path, rest = tmp_path / "growing.pcap", tmp_path / "rest"
    path.write_bytes(whole[:before])
    rest.write_bytes(whole[before:])
    surroundings = {
        **os.environ,
        "GROWING": str(path),
        "GROW_BY": str(rest),
        "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {growing_library}".strip(),
    }
    result = gigastream(*("run", "-j", "2", "-e", QUERY, "-r", path, "-o", "csv"), env=surroundings)
    assert result.code == 0, result.err
    assert sum(int(row.split(",")[1]) for row in result.lines[1:]) == 1_500
