# SPDX-License-Identifier: Apache-2.0
"""fstringN on Spark: the engine's low level makes it, a spool carries it, Spark groups by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tests.answers.on_spark import Spooled
from tests.cli.command import gigastream
from tests.functions.opaque import OUTPUTS, QUERIES, answers, definitions, frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 13, 16384])
def test_through_a_spool(spark: SparkSession, size: int, tmp_path: Path) -> None:
    packets, capture, root = frames(size), tmp_path / "frames.pcap", tmp_path / "spool"
    written = (Packet(one.timestamp_ns, one.data) for one in packets)
    capture.write_bytes(pcap(written, magic=NANOSECONDS))
    words = ("--definitions", definitions(tmp_path, [size]), "-e", QUERIES.format(n=size))
    done = gigastream("run", *words, "-r", capture, "-o", f"spool:{root}", "--segment-rows", "70")
    assert done.code == 0, done.err
    given = Spooled(spark, root).answers()
    expected = answers(size, packets, "default")
    for name in OUTPUTS:
        rows = sorted(tuple(cell or "" for cell in row) for row in given[name])
        assert rows == expected[name], name
