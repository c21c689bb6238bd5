# SPDX-License-Identifier: Apache-2.0
"""Rows of windows that are answered: counted once, with the micro-batch behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from spark.readers import packets
from spark.written import Written, seconds

from gigastream.spool import Track
from spark_sink.options import parse
from spark_sink.window_complete.due import Due
from spark_sink.window_complete.micro_batch_log import MicroBatch
from spark_sink.window_complete.planner import MicroBatchPlanner
from tests.answers.engine import plan_of


class Looking:
    """A planner over a spool of seconds, as a query asks it."""

    def __init__(self, root: Path, after_ms: int | None = None, **given: str) -> None:
        plan = plan_of("SELECT time, srcIP, sum(len) AS len FROM IPV4 GROUP BY time, srcIP")
        due = Due(plan, plan.outputs[0])
        (stream,) = due.streams
        options = parse({"path": str(root), "stream": stream.name, **given})
        self.stream = stream.name
        self.planner = MicroBatchPlanner(due, {stream.name: options}, after_ms)
        self.last: MicroBatch | None = None

    def look(self) -> MicroBatch:
        """The micro-batch that is due."""
        found = self.planner.next(self.last)
        assert found is not None
        self.last = found
        return found


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    monkeypatch.setattr("spark_sink.places.LOOK_PERIOD_S", 0.0)
    return Written(tmp_path, stream="query_low")


def test_in_time_nothing_is_late(written: Written) -> None:
    looking = Looking(written.root)
    for at in range(1, 5):
        written.write("eth0", [(packets(10 * at - 3, 10 * at - 9, 10 * at), seconds(10 * at))])
        assert looking.look().late == 0


def test_rows_of_one_that_begins_later_are_counted_once(written: Written) -> None:
    looking = Looking(written.root)
    written.write("eth0", [(packets(1, 5), seconds(10))])
    assert looking.look().late == 0
    steps = [
        (packets(1, 2, 3), seconds(4)),  # late, all of them
        (packets(8, 9, 10, 11), seconds(12)),  # two seconds are answered, two open
        (packets(12, 13), seconds(20)),
    ]
    written.write_all({"eth1": steps, "eth0": [(packets(15), seconds(20))]})
    found = looking.look()
    assert found.late == 5
    assert found.unread == {looking.stream: {"eth1": 3}}
    read = [
        e.segment
        for piece in looking.planner.slices(found)[looking.stream]
        if piece.interface == "eth1"
        for e in piece.entries
    ]
    assert read == [1, 2]
    written.write_all({name: [(packets(25), seconds(30))] for name in ("eth0", "eth1")})
    assert looking.look().late == 5


def test_what_a_track_has_promised_is_not_looked_at(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of millions of rows reads none of them on its driver."""
    monkeypatch.setattr("gigastream.spool.value_ranges.ValueRanges.known", lambda _: None)
    monkeypatch.setattr(Track, "read", lambda *_: pytest.fail("it was read"))
    looking = Looking(written.root)
    for at in (10, 20, 30):
        written.write("eth0", [(packets(at - 9, at - 5), seconds(at))])
        assert looking.look().late == 0


def test_latest_is_where_the_checkpoint_began(written: Written) -> None:
    """And not where the spool is by the time that a window closes at last."""
    written.write("eth0", [(packets(1, 5), seconds(10))])
    looking = Looking(written.root, startingAt="latest", interfaces="eth0,eth1")
    assert looking.planner.next(None) is None, "eth1 is waited for"
    written.write_all({name: [(packets(11, 15), seconds(20))] for name in ("eth0", "eth1")})
    read = {
        piece.interface: [entry.segment for entry in piece.entries]
        for piece in looking.planner.slices(looking.look())[looking.stream]
    }
    assert read == {"eth0": [1], "eth1": [0]}


def test_what_is_over_at_the_point_where_a_checkpoint_takes_up_is_not_read(
    written: Written,
) -> None:
    written.write("eth0", [(packets(n, n + 1), seconds(n)) for n in (1, 5, 9, 12)])
    found = (looking := Looking(written.root, after_ms=seconds(10) // 10**6)).look()
    (piece,) = looking.planner.slices(found)[looking.stream]
    assert [entry.segment for entry in piece.entries] == [2, 3], "nine is over, ten is open"
    assert (found.after_ms, found.late) == (seconds(10) // 10**6, 0)
    assert found.unread == {looking.stream: {"eth0": 4}}


def test_a_segment_whose_line_tells_no_range_is_read_for_it(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gigastream.spool.value_ranges.ValueRanges.known", lambda _: None)
    looking = Looking(written.root)
    written.write("eth0", [(packets(1, 5), seconds(10))])
    looking.look()
    steps = [(packets(1, 2, 3), seconds(4)), (packets(9, 12), seconds(20))]
    written.write_all({"eth1": steps, "eth0": [(packets(15), seconds(20))]})
    found = looking.look()
    assert (found.late, found.unread) == (4, {looking.stream: {}})
