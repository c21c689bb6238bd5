# SPDX-License-Identifier: Apache-2.0
"""Micro-batches read by the driver and by tasks: damage, hosts that are away, the clock's ticks."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

pytest.importorskip("pyspark")

from captures import DEMO_CAPTURE
from pyspark.sql import SparkSession
from spark_command import written

from gigastream.spool import Entry, SpoolAwayError, arrivals
from spark_sink import segments
from spark_sink.errors import heard_by
from spark_sink.job_errors import JobError
from spark_sink.run import Streams, plan_of_paths
from spark_sink.segments import Slice
from spark_sink.window_complete import small_batches
from spark_sink.window_complete.query import SpoolQuery, WindowCompleteQuery, seconds_to_tick
from spark_sink.window_complete.small_batches import MOST_HERE, SMALL_BYTES, room_here, weight_of
from tests.answers.on_spark import BOTH_WAYS, Kept, whole_windows_over
from tests.waiting import PATIENCE_S, wait_until

LINKS = [f"{name}={DEMO_CAPTURE}" for name in ("a", "b")]
WAYS = pytest.mark.parametrize("small_bytes", BOTH_WAYS.values(), ids=BOTH_WAYS)


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spool of two links, all of one of which is torn; its segment is `b`'s only one."""
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.0)
    root = written.spool(tmp_path / "spool", captures=LINKS)
    (segment,) = root.glob("streams/*/b/*/segment-*")
    segment.write_bytes(segment.read_bytes()[:-100])
    return root


@pytest.mark.long
@WAYS
def test_what_is_damaged_is_left_out_and_written_down(
    small_bytes: int, damaged: Path, spark: SparkSession, tmp_path: Path
) -> None:
    options = {"onDamage": "skip", "damageLog": str(tmp_path / "damage")}
    heard: list[str] = []
    with heard_by(heard.append):
        found = whole_windows_over(spark, [str(damaged)], tmp_path / "c", small_bytes, options)
    whole = written.spool(tmp_path / "whole", captures=LINKS[:1])
    assert found == whole_windows_over(spark, [str(whole)], tmp_path / "w", 0) != []
    (note,) = (path for path in (tmp_path / "damage").rglob("*") if path.is_file())
    assert json.loads(note.read_text())["rows"] > 0
    assert ["bytes of" in sentence for sentence in heard] == [True] * (small_bytes > 0)


@pytest.mark.long
@WAYS
def test_what_is_damaged_fails_a_query_that_does_not_skip_it(
    small_bytes: int, damaged: Path, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match=r"segment-.* bytes of"):
        whole_windows_over(spark, [str(damaged)], tmp_path / "c", small_bytes)


@pytest.mark.long
def test_a_query_that_waits_for_a_host_can_be_stopped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[Slice] = []

    def away(piece: Slice, _access: object) -> None:
        asked_for.append(piece)
        raise SpoolAwayError("it does not answer")

    root = str(written.spool(tmp_path / "spool"))
    monkeypatch.setattr(segments, "_opened", away)
    plan = plan_of_paths([root])
    read, kept = Streams(spark, [root]), Kept(plan.outputs[0].schema)
    asked = SpoolQuery("query", plan, plan.outputs[0], read, str(tmp_path / "checkpoint"))
    query = WindowCompleteQuery(asked, kept, {"processingTime": "0 milliseconds"}).start()
    wait_until(lambda: bool(asked_for), "the host to be asked")
    query.stop()
    query.check()
    assert (query.is_active, kept.tables) == (False, {})


@pytest.mark.long
def test_the_session_of_small_micro_batches_is_not_the_programs(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = SparkSession.getActiveSession()
    root = str(written.spool(tmp_path / "spool"))
    assert whole_windows_over(spark, [root], tmp_path / "c", BOTH_WAYS["by-driver"])
    assert SparkSession.getActiveSession() is before


@pytest.mark.long
def test_a_query_that_reads_can_be_stopped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is slow keeps nobody: it is asked for no segment more."""
    stopped = threading.Event()
    asked_for: list[Slice] = []

    def slow(piece: Slice, *rest: object) -> Iterator[pyarrow.RecordBatch]:
        for batch in read_now(piece, *rest):
            asked_for.append(piece)
            stopped.wait(PATIENCE_S)
            yield batch

    def goes_on_when_told() -> None:
        """Else it might read on before it is."""
        query._is_stopped.wait(PATIENCE_S)
        stopped.set()

    read_now = small_batches.read
    monkeypatch.setattr(small_batches, "read", slow)
    root = str(written.spool(tmp_path / "spool", captures=LINKS))
    plan = plan_of_paths([root])
    read, kept = Streams(spark, [root]), Kept(plan.outputs[0].schema)
    asked = SpoolQuery("query", plan, plan.outputs[0], read, str(tmp_path / "checkpoint"))
    query = WindowCompleteQuery(asked, kept, {"processingTime": "0 milliseconds"}).start()
    wait_until(lambda: bool(asked_for), "the first segment")
    threading.Thread(target=goes_on_when_told).start()
    query.stop()
    query.check()
    assert (len(asked_for), kept.tables) == (1, {})


def test_what_a_micro_batch_weighs_is_bytes_and_the_time_to_ask() -> None:
    here = [_piece(700), _piece(300)]
    assert weight_of(here) == 1000 + 2 * (16 << 10)
    far = [replace(_piece(300), path="grpc+tls://probe:8815/low")] * 17
    with room_here(weight_of(far), SMALL_BYTES) as by_driver:
        assert not by_driver, "one after the other: tasks ask side by side"
    with room_here(weight_of(far[:15]), SMALL_BYTES) as by_driver:
        assert by_driver


def test_the_outputs_of_a_job_share_what_the_driver_holds() -> None:
    with (
        room_here(MOST_HERE - 1000, MOST_HERE) as first,
        room_here(1000, MOST_HERE) as second,
        room_here(1, MOST_HERE) as third,
    ):
        assert (first, second, third) == (True, True, False)
    with room_here(2 * MOST_HERE, math.inf) as alone:
        assert alone, "what a test reads so, whatever it is"
    with pytest.raises(JobError, match="fails"), room_here(MOST_HERE, MOST_HERE):
        raise JobError("it fails")
    with room_here(1, MOST_HERE) as again:
        assert again, "it is given back, also by what failed"


def _piece(size_bytes: int) -> Slice:
    entry = Entry("segment", 0, 1, size_bytes, 0, (), 0, 0, 0, 0)
    return Slice("/spool", "low", "eth0", 1, (entry,))


def test_a_period_ends_at_the_clocks_multiples() -> None:
    assert seconds_to_tick(1000.0, 1000.5, 5.0) == 4.5
    assert seconds_to_tick(1003.0, 1003.5, 5.0) == 1.5
    assert 0 < seconds_to_tick(1003.0, 1007.5, 5.0) < 0.1, "behind what took longer: at once"
    assert 0 < seconds_to_tick(1003.0, 1003.0, 0.0) < 0.1, "at once: between two looks"
    assert seconds_to_tick(5003.0, 1403.0, 5.0) == 5.0, "the clock was set back by an hour"
