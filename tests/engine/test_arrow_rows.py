# SPDX-License-Identifier: Apache-2.0
"""Rows that went to Arrow and came back print as they did before."""

from __future__ import annotations

import pyarrow
import pytest
from captures import ROOT

import gigastream
from gigastream.engine.arrow_rows import batch_of_arrow, schema_of_arrow

QUESTIONS = (
    "SELECT tb, srcIP, min(timestamp) AS f, srcMAC, count(*) AS n, avg(len) AS mean FROM IPV4 "
    "GROUP BY time/60 AS tb, srcIP, srcMAC",
    "SELECT time, timestamp, srcIP, destIP, community_id, len > 100 AS is_long FROM IP",
    "SELECT time, srcIP FROM IPV6",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_there_and_back(question: str) -> None:
    rows = 0
    for batch in gigastream.run(question, str(ROOT / "demo" / "demo.pcap")):
        back = batch_of_arrow(batch)
        assert back.to_arrow().replace_schema_metadata(None) == batch.replace_schema_metadata(None)
        assert back.json(None).count(b"\n") == batch.num_rows
        rows += batch.num_rows
    assert rows


def test_an_address_is_printed_as_one() -> None:
    (first, *_) = gigastream.run("SELECT time, srcIP FROM IPV4", str(ROOT / "demo" / "demo.pcap"))
    assert b'"srcIP":"10.20.0.' in batch_of_arrow(first).json(None).replace(b" ", b"")


def test_types_of_others_are_refused() -> None:
    with pytest.raises(ValueError, match="a is large_string, which no query has"):
        schema_of_arrow(pyarrow.schema([("a", pyarrow.large_string())]))
