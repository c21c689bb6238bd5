# SPDX-License-Identifier: Apache-2.0
"""Spark's reports of micro-batches, as it sent them, added up."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from gigastream.spool import END
from spark_sink.progress import QueryProgress, TrackLag, line_of, with_places
from spark_sink.query_counts import QueryCounts, is_of_spools

SECOND_NS = 10**9
START_NS = 1_700_000_040 * SECOND_NS


def at(seq: int, second: int, generation: int = 1) -> dict[str, int]:
    return {"generation": generation, "seq": seq, "hb": START_NS + second * SECOND_NS}


def report(
    batch: int, rows: int, start: Any, end: Any, latest: Any = None, **others: Any
) -> dict[str, Any]:
    """What of a StreamingQueryProgress's JSON is looked at."""
    source = {"startOffset": start, "endOffset": end, "latestOffset": latest, "numInputRows": rows}
    return {
        "batchId": batch,
        "sources": [source],
        "stateOperators": [
            {"numRowsTotal": 7, "memoryUsedBytes": 900, "numRowsDroppedByWatermark": 2}
        ],
        "eventTime": {"watermark": "2023-11-14T22:14:10.000Z"},
        "sink": {"numOutputRows": -1},
        **others,
    }


def test_heartbeats_are_no_rows() -> None:
    counts = QueryCounts("query")
    first, second = {"eth0": at(3, 10)}, {"eth0": at(5, 10)}
    counts.take(report(0, 47, None, first))
    assert counts.progress().rows_in == 46, "the first brings a heartbeat"
    counts.take(report(1, 20, first, second))
    assert counts.progress().rows_in == 66, "time did not go on"
    counts.take(report(2, 1, second, second | {"": {"returns": 1}}))
    assert counts.progress().rows_in == 66, "one that has come back repeats its heartbeat"


def test_each_report_counts_once_and_what_is_held_is_of_the_last() -> None:
    counts = QueryCounts("query")
    for _ in range(2):
        for batch in range(3):
            counts.take(report(batch, 10, {"eth0": at(batch, 5)}, {"eth0": at(batch + 1, 5)}))
    found = counts.progress()
    assert (found.rows_in, found.late, found.held, found.held_bytes) == (30, 6, 7, 900)
    assert (found.micro_batches, found.rows_out) == (3, None)
    assert found.promised_ns == START_NS + 10 * SECOND_NS
    assert counts.progress(rows_out=4).rows_out == 4


def test_who_is_behind_is_told_by_name() -> None:
    end = {
        "a1/eth0": at(3, 10),
        "b2/eth0": at(5, 4),
        "b2/eth1": {"generation": 1, "seq": 1, "hb": END},
    }
    latest = {**end, "a1/eth0": at(9, 30)}
    counts = QueryCounts("query")
    counts.take(report(0, 1, None, end, latest))
    found = with_places(counts.progress(), {"a1": "/spool/a", "b2": "/spool/b"})
    assert found.tracks == (
        TrackLag("/spool/a/eth0", 6, 20 * SECOND_NS),
        TrackLag("/spool/b/eth0", 0, 26 * SECOND_NS),
        TrackLag("/spool/b/eth1", 0, 0),
    )
    assert (found.behind_ns, found.segments_unread) == (26 * SECOND_NS, 6)
    assert line_of(found) == (
        "query: 0 rows in, 7 held, 2 late, 1 micro-batches, up to 2023-11-14 22:14:10, "
        "/spool/b/eth0 26.0 s behind, /spool/a/eth0 20.0 s behind (6 segments unread)"
    )


def test_streams_are_named_where_there_are_several() -> None:
    sources = [report(0, 1, None, {"eth0": at(1, n)})["sources"][0] for n in (5, 9)]
    for streams, names in ((("a_low", "b_low"), ["a_low on eth0", "b_low on eth0"]), ((), None)):
        counts = QueryCounts("query", streams)
        counts.take(report(0, 0, None, None, sources=sources))
        found = [track.track for track in counts.progress().tracks]
        assert found == (names or ["input 1: eth0", "input 2: eth0"])


def test_other_sources_are_not_ours() -> None:
    rate = {"batchId": 0, "sources": [{"endOffset": 5, "numInputRows": 9}]}
    assert not is_of_spools(rate)
    assert is_of_spools(report(0, 1, None, {"eth0": at(1, 1)}))
    counts = QueryCounts("query")
    counts.take(rate)
    assert counts.progress() == QueryProgress("query", 1)
