# SPDX-License-Identifier: Apache-2.0
"""The streaming reader: what its micro-batches contain, and what closes windows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from spark.readers import batch_reader_of, contents, micro_batches, packets, reader_of
from spark.written import START_S, Written, seconds

from gigastream.spool import END, NOTHING, Spool
from gigastream.spool.commits import committed_floor
from gigastream.spool.layout import READERS
from spark_sink import places
from spark_sink.errors import SpoolSourceError
from spark_sink.offsets import END_MS, from_json
from spark_sink.sinks import start
from spark_sink.source import SpoolStreamReader
from spark_sink.streaming import Stateful

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = {"processingTime": "0 seconds"}


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are looked through every time, not every half a second."""
    monkeypatch.setattr(places, "LOOK_PERIOD_S", 0.0)


def test_a_micro_batch_is_a_function_of_its_offsets(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1, 2), seconds(2)), (None, seconds(4)), (packets(5), seconds(5))])
    spool.write("eth1", [(packets(3), seconds(3)), (packets(6), seconds(6))])
    reader = reader_of(tmp_path, maxSegmentsPerTrigger="1")
    seen = [(offsets, contents(reader, *offsets)) for offsets in micro_batches(reader)]
    assert len(seen) == 4
    last = [(packets(9), seconds(9))]
    spool.write_all({"eth0": last, "eth1": last}, ends=True)
    # Another process, which is asked in another order and knows more.
    again = reader_of(tmp_path)
    for offsets, expected in reversed(seen):
        assert contents(again, *offsets) == expected
    rows = sorted(row[0] - START_S for _, (rows, _) in seen for row in rows)
    assert rows == [1, 2, 3, 5, 6]


def test_the_heartbeat_is_that_of_the_interface_furthest_behind(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1.0005))])
    spool.write("eth1", [(None, seconds(0.5))])
    reader = reader_of(tmp_path)
    assert [contents(reader, *offsets)[1] for offsets in micro_batches(reader)] == [
        [START_S * 1000 + 500]
    ]
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    spool.write("eth0", [(None, seconds(70))])
    assert reader.latestOffset(start, ReadAllAvailable()) == start, "eth1 still holds it"
    spool.write("eth1", [(None, seconds(60.0009))])
    end = reader.latestOffset(start, ReadAllAvailable())
    assert contents(reader, start, end) == ([], [START_S * 1000 + 60_000])


def test_the_end_of_all_is_the_last_heartbeat(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    first, second = [(packets(1), seconds(1))], [(packets(2), seconds(2))]
    spool.write_all({"eth0": first, "eth1": second}, ends=True)
    reader = reader_of(tmp_path)
    (offsets,) = micro_batches(reader)
    assert contents(reader, *offsets)[1] == [END_MS]


def test_an_interface_that_is_expected_holds_the_heartbeat(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path, interfaces="eth0,eth1")
    (offsets,) = micro_batches(reader)
    rows, heartbeats = contents(reader, *offsets)
    assert (len(rows), heartbeats) == (1, [])
    spool.write("eth1", [(packets(2), seconds(2))])
    end = reader.latestOffset(offsets[1], ReadAllAvailable())
    rows, heartbeats = contents(reader, offsets[1], end)
    assert (len(rows), heartbeats) == (1, [START_S * 1000 + 1000])


def test_an_interface_that_appears_is_read_too(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path)
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    spool.write("eth1", [(packets(7), seconds(7))])
    end = reader.latestOffset(start, ReadAllAvailable())
    assert contents(reader, start, end)[0] == [tuple(packets(7)[0])]


@pytest.mark.parametrize(
    ("starting_at", "expected"),
    [("earliest", [1, 2, 3]), ("1", [2, 3]), ("2", [3]), ("latest", []), ("3", [])],
)
def test_where_a_query_begins(starting_at: str, expected: list[int], tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    reader = reader_of(tmp_path, startingAt=starting_at)
    start = reader.initialOffset()
    spool.write("eth0", [(packets(4), seconds(4))])
    end = reader.latestOffset(start, ReadAllAvailable())
    rows, _ = contents(reader, start, end)
    assert [row[0] - START_S for row in rows] == [*expected, 4]


def test_a_segment_that_is_not_there_yet_is_no_beginning(tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(1), seconds(1))])
    with pytest.raises(SpoolSourceError, match="startingAt 9: the next segment of eth0 is 1"):
        reader_of(tmp_path, startingAt="9").initialOffset()


def test_available_now_ends_where_it_began(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    reader = reader_of(tmp_path, maxSegmentsPerTrigger="2")
    reader.prepareForTriggerAvailableNow()
    spool.write("eth0", [(packets(4), seconds(4))])
    spool.write("eth1", [(packets(4), seconds(4))])
    rows = [row for offsets in micro_batches(reader) for row in contents(reader, *offsets)[0]]
    assert [row[0] - START_S for row in rows] == [1, 2, 3]


def test_all_available_overrides_limits(tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    reader = reader_of(tmp_path, maxSegmentsPerTrigger="1")
    assert reader.getDefaultReadLimit() == ReadMaxFiles(1)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end["eth0"]["seq"] == 3


def test_the_lag_is_reported(tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    reader = reader_of(tmp_path, maxSegmentsPerTrigger="1")
    end = reader.latestOffset(reader.initialOffset(), ReadMaxFiles(1))
    assert end["eth0"] == {"generation": 1, "seq": 1, "hb": seconds(1)}
    assert reader.reportLatestOffset()["eth0"]["seq"] == 3


def test_several_spools_are_one_stream(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Written(tmp_path / name).write("eth0", [(packets(1), seconds(1))])
    paths = [tmp_path / "one", tmp_path / "two"]
    reader = reader_of(*paths)
    (offsets,) = micro_batches(reader)
    assert sorted(offsets[1]) == sorted(f"{Spool(path).identity}/eth0" for path in paths)
    assert len(contents(reader, *offsets)[0]) == 2


def farewell(reader: SpoolStreamReader, start: Any) -> str:
    """What a query that cannot go on fails with, behind a micro-batch that lets windows leave."""
    last = reader.latestOffset(start, ReadAllAvailable())
    assert contents(reader, start, last) == ([], [END_MS])
    with pytest.raises(SpoolSourceError) as failure:
        reader.latestOffset(last, ReadAllAvailable())
    return str(failure.value)


def test_what_is_written_anew_fails_a_query_of_what_was_there(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    spool.write("eth0", [(packets(2), seconds(2))], ends=True)
    spool.write("eth0", [(packets(3), seconds(3))])
    again = reader_of(tmp_path)
    after = again.latestOffset(end, ReadAllAvailable())
    assert contents(again, end, after) == ([tuple(packets(2)[0])], [END_MS])
    told = farewell(again, after)
    assert "generation 2 was written anew" in told
    assert "new checkpoint" in told
    fresh = reader_of(tmp_path)
    (offsets,) = micro_batches(fresh)
    assert contents(fresh, *offsets)[0] == [tuple(packets(3)[0])]
    older = reader_of(tmp_path, generation="1")
    (offsets,) = micro_batches(older)
    assert len(contents(older, *offsets)[0]) == 2


def test_another_stream_by_the_same_name_fails_the_query_of_the_first(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write_all({"eth0": [(packets(1), seconds(1))], "eth1": [(packets(1), seconds(1))]})
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    other = Written(tmp_path, {"time": "uint", "len": "ullong"}, live=("eth0", "eth2"))
    other.write_all({"eth0": [], "eth2": []})
    after = reader.latestOffset(end, ReadAllAvailable())
    assert sorted(after) == ["eth0", "eth1"]
    assert contents(reader, end, after) == ([], [END_MS])
    assert "generation 2 is of another query" in farewell(reader, after)


def test_a_stream_that_is_written_no_more_fails_its_query(tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path, stream="low")
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    Written(tmp_path, stream="other").write("eth0", [])
    after = reader.latestOffset(end, ReadAllAvailable())
    assert "has no stream low any more" in farewell(reader, after)


def test_available_now_fails_where_it_can_read_nothing_of_what_is_new(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    spool.write("eth0", [(packets(2), seconds(2))], ends=True)
    spool.write("eth0", [(packets(3), seconds(3))], ends=True)
    again = reader_of(tmp_path)
    again.prepareForTriggerAvailableNow()
    after = again.latestOffset(end, ReadAllAvailable())
    assert contents(again, end, after) == ([tuple(packets(2)[0])], [END_MS])
    assert "generation 2 was written anew" in farewell(again, after)


def test_a_spool_and_its_copy_are_not_read_as_two(tmp_path: Path) -> None:
    Written(tmp_path / "one").write("eth0", [(packets(1), seconds(1))])
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with pytest.raises(SpoolSourceError, match=r"/two is the spool .*/one, or a copy of it"):
        reader_of(tmp_path / "one", tmp_path / "two").initialOffset()


@pytest.mark.parametrize("is_now", [False, True], ids=["on and on", "now"])
def test_a_query_goes_on_with_the_generation_that_goes_on(is_now: bool, tmp_path: Path) -> None:
    """Twice: it was ended, as a query that is dropped for a run, and written again."""
    spool = Written(tmp_path, live=["eth0"])
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    spool.write("eth0", [(packets(2), seconds(2))], ends=True)
    spool.write("eth0", [], ends=True)
    spool.write("eth0", [(packets(3), seconds(3))])
    again = reader_of(tmp_path)
    if is_now:
        again.prepareForTriggerAvailableNow()
    seen = []
    while (after := again.latestOffset(end, ReadAllAvailable())) != end:
        seen.append(contents(again, end, after))
        again.commit(after)
        end = after
    times = [START_S * 1000 + 1000 * second for second in (2, 3)]
    assert seen == [([tuple(packets(2)[0])], times[:1]), ([tuple(packets(3)[0])], times[1:])]
    assert again.reportLatestOffset()["eth0"] == end["eth0"]
    batch = batch_reader_of(tmp_path)
    rows = [
        row for part in batch.partitions() for got in batch.read(part) for row in got.to_pylist()
    ]
    assert [row["time"] - START_S for row in rows] == [1, 2, 3]
    fresh = reader_of(tmp_path)
    rows = [row for offsets in micro_batches(fresh) for row in contents(fresh, *offsets)[0]]
    assert [row[0] - START_S for row in rows] == [1, 2, 3]


def test_what_lies_between_two_positions_may_be_of_several_generations(tmp_path: Path) -> None:
    """So it is of windows that were open when one went on with the other."""
    spool = Written(tmp_path, live=["eth0"])
    spool.write("eth0", [(packets(n), seconds(n)) for n in (1, 2, 3)], ends=True)
    spool.write("eth0", [(packets(4), seconds(4))], ends=True)
    spool.write("eth0", [(packets(n), seconds(n)) for n in (5, 6)])
    reader = reader_of(tmp_path)
    *_, (_, last) = micro_batches(reader)
    end = from_json(last)
    start = {"eth0": replace(end["eth0"], generation=1, segment=1)}
    found = reader_of(tmp_path)._spools.between(start, end)
    numbers = [(r.track.generation, [each.segment for each in entries]) for r, entries in found]
    assert numbers == [(1, [1, 2]), (2, [0]), (3, [0, 1])]


def test_behind_its_last_windows_no_query_goes_on(tmp_path: Path) -> None:
    """Spark's watermark is at the end of time: every row would be late."""
    spool = Written(tmp_path, live=["eth0"])
    spool.write("eth0", [(packets(1), seconds(1))], ends=True)
    reader = reader_of(tmp_path)
    ((_, end),) = micro_batches(reader)
    spool.write("eth0", [(packets(2), seconds(2))])
    assert "goes on behind an end" in farewell(reader, end)


def test_retention_need_not_wait_for_generations_that_are_read(tmp_path: Path) -> None:
    spool = Written(tmp_path, live=["eth0"])
    spool.write("eth0", [(packets(1), seconds(1))], ends=True)
    spool.write("eth0", [(packets(2), seconds(2))])
    reader = reader_of(tmp_path, reader="one")
    for _, end in micro_batches(reader):
        reader.commit(end)
    folder = tmp_path / "streams" / "low" / "eth0"
    floors = [committed_floor(folder / f"{number:06d}" / READERS) for number in (1, 2)]
    assert floors == [END, 1]


def test_what_is_committed_is_forgotten_and_read_anew(tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(second), seconds(second)) for second in range(1, 40)])
    reader = reader_of(tmp_path)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    reader.commit(end)
    spool.write("eth0", [(packets(40), seconds(40))])
    after = reader.latestOffset(end, ReadAllAvailable())
    assert [row[0] - START_S for row in contents(reader, end, after)[0]] == [40]
    assert len(contents(reader, start, end)[0]) == 39


def test_a_spool_that_forgot_what_was_read_is_refused(tmp_path: Path) -> None:
    Written(tmp_path / "a").write("eth0", [(packets(n), seconds(n)) for n in (1, 2, 3)])
    reader = reader_of(tmp_path / "a")
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    Written(tmp_path / "b").write("eth0", [(packets(1), seconds(1))])
    with pytest.raises(SpoolSourceError, match="ends before segment 3"):
        reader_of(tmp_path / "b").latestOffset(end, ReadAllAvailable())
    with pytest.raises(SpoolSourceError, match="ends before segment 4"):
        reader_of(tmp_path / "b").partitions(end, {"eth0": end["eth0"] | {"seq": 4}})


def test_a_spool_that_is_gone_is_told(tmp_path: Path) -> None:
    step = [(packets(1), seconds(1))]
    Written(tmp_path / "a").write_all({"eth0": step, "eth1": step})
    reader = reader_of(tmp_path / "a")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    shutil.rmtree(tmp_path / "a" / "streams" / "low" / "eth1")
    with pytest.raises(SpoolSourceError, match="eth1/000001: the manifest lacks segments 0 to 0"):
        reader_of(tmp_path / "a").partitions(start, end)
    with pytest.raises(SpoolSourceError, match="eth1/000001 ends before segment 1"):
        reader_of(tmp_path / "a", onDamage="skip").partitions(start, end)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_hold_every_row_once(count: int, tmp_path: Path) -> None:
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(*range(1, size)), seconds(size)) for size in (2, 9, 3, 40)])
    spool.write("eth1", [(packets(50), seconds(50))])
    reader = reader_of(tmp_path, partitions=str(count))
    (offsets,) = micro_batches(reader)
    parts = reader.partitions(*offsets)
    assert 1 <= len(parts) <= count
    rows = contents(reader, *offsets)[0]
    assert sorted(row[0] - START_S for row in rows) == sorted(
        [*range(1, 2), *range(1, 9), *range(1, 3), *range(1, 40), 50]
    )


@pytest.mark.parametrize("columns", ["len", "len,time", ""])
def test_only_what_is_asked_for_is_read(columns: str, tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(1, 2), seconds(2))])
    reader = reader_of(tmp_path, columns=columns)
    (offsets,) = micro_batches(reader)
    wanted = {"time": START_S + 1, "len": 10}
    rows, heartbeats = contents(reader, *offsets)
    assert rows[0] == tuple(wanted[name] for name in columns.split(",") if name)
    assert (len(rows), len(heartbeats)) == (2, 1)


# Through Spark


def counts_per_minute(spark: SparkSession, root: Path, **options: str) -> DataFrame:
    """A window aggregation by hand: metadata marks the event time, heartbeats alone move it."""
    rows = spark.readStream.format("gigastream").options(**options).load(str(root))
    beating = rows.withWatermark("_hb", "0 seconds").where(
        "_hb is null and spark_partition_id() >= 0"
    )
    minute = (F.col("time") / 60).cast("bigint")
    ends = F.timestamp_seconds((minute + 1) * 60)
    marked = beating.select(
        ends.alias("ends", metadata={"spark.watermarkDelayMs": 0}), minute.alias("tb"), "len"
    )
    return marked.groupBy("ends", "tb").agg(F.count("*").alias("packets"), F.sum("len").alias("n"))


def answers(frame: DataFrame, checkpoint: Path, **trigger: Any) -> list[tuple[int, ...]]:
    """What has come out when the query has read all there is: minute, packets, bytes."""
    name = f"answers_{abs(hash(str(checkpoint)))}"
    writer = frame.writeStream.format("memory")
    query = start(writer, str(checkpoint), name, trigger or AT_ONCE)
    try:
        if trigger:
            query.awaitTermination()
        else:
            query.processAllAvailable()
        rows = frame.sparkSession.table(name).collect()
    finally:
        query.stop()
    return sorted((row.tb - START_S // 60, row.packets, int(row.n)) for row in rows)


def silent_link(root: Path) -> None:
    """One interface with rows of three minutes, one that only says how late it is."""
    spool = Written(root)
    spool.write("eth0", [(packets(1, 61), seconds(61)), (packets(20, 130), seconds(130))])
    spool.write("eth1", [(None, seconds(30)), (None, seconds(119.9999)), (None, seconds(120))])


@pytest.mark.long
def test_heartbeats_alone_close_windows(spark: SparkSession, tmp_path: Path) -> None:
    silent_link(tmp_path / "spool")
    frame = counts_per_minute(spark, tmp_path / "spool")
    # Minute 0 has a row that came after one of minute 1: out of order, above the punctuation.
    assert answers(frame, tmp_path / "checkpoint") == [(0, 2, 20), (1, 1, 10)]


def test_without_heartbeats_nothing_comes_out(spark: SparkSession, tmp_path: Path) -> None:
    silent_link(tmp_path / "spool")
    frame = counts_per_minute(spark, tmp_path / "spool", heartbeats="false")
    assert answers(frame, tmp_path / "checkpoint") == []


@pytest.mark.long
@pytest.mark.parametrize("limit", ["maxRowsPerTrigger", "maxSegmentsPerTrigger"])
def test_available_now_reads_a_finished_spool_in_steps(
    limit: str, spark: SparkSession, tmp_path: Path
) -> None:
    spool = Written(tmp_path / "spool")
    steps = [(packets(second), seconds(second)) for second in range(0, 180, 45)]
    spool.write_all({"eth0": steps, "eth1": steps}, ends=True)
    frame = counts_per_minute(spark, tmp_path / "spool", **{limit: "2"})
    expected = [(0, 4, 40), (1, 2, 20), (2, 2, 20)]
    assert answers(frame, tmp_path / "checkpoint", availableNow=True) == expected
    assert len(list((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"))) >= 4


@pytest.mark.long
def test_a_query_goes_on_where_its_checkpoint_is(spark: SparkSession, tmp_path: Path) -> None:
    spool = Written(tmp_path / "spool")
    spool.write("eth0", [(packets(1, 2), seconds(59))])
    frame = counts_per_minute(spark, tmp_path / "spool")
    output, checkpoint = tmp_path / "output", tmp_path / "checkpoint"

    def run() -> list[tuple[int, int]]:
        writer = frame.writeStream.format("parquet").option("path", str(output))
        start(writer, str(checkpoint), "goes_on", {"availableNow": True}).awaitTermination()
        schema = "tb bigint, packets bigint"
        rows = spark.read.schema(schema).parquet(str(output)).collect()
        return sorted((row.tb - START_S // 60, row.packets) for row in rows)

    assert run() == []
    spool.write("eth0", [(packets(30, 70), seconds(80))])
    assert run() == [(0, 3)]
    spool.write("eth0", [], ends=True)
    assert run() == [(0, 3), (1, 1)]


def test_what_began_before_a_punctuation_holds_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However seldom folders are looked through."""
    monkeypatch.setattr(places, "LOOK_PERIOD_S", 1e9)
    spool = Written(tmp_path)
    spool.write("eth0", [(packets(1), seconds(1))])
    reader = reader_of(tmp_path)
    *_, (_, end) = micro_batches(reader)
    spool.write("eth1", [(packets(80), seconds(80))])
    spool.write("eth0", [(packets(130), seconds(130))])
    after = from_json(reader.latestOffset(end, ReadAllAvailable()))
    assert after["eth1"].heartbeat_ns <= seconds(80)


@pytest.mark.long
def test_rows_behind_the_answer_of_their_window_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool = Written(tmp_path / "spool")
    spool.write("eth0", [(packets(1), seconds(1)), (packets(70), seconds(70))])
    writer = counts_per_minute(spark, tmp_path / "spool").writeStream.format("memory")
    query = start(writer, str(tmp_path / "checkpoint"), "late_rows", AT_ONCE)
    try:
        query.processAllAvailable()
        spool.write("eth1", [(packets(2, 80), seconds(80))])
        spool.write("eth0", [(packets(130), seconds(130))])
        query.processAllAvailable()
        late = Stateful(query).progress().late
        rows = spark.table("late_rows").collect()
    finally:
        query.stop()
    assert sorted((row.tb - START_S // 60, row.packets) for row in rows) == [(0, 1)]
    assert late == 1


def test_heartbeats_are_rows_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    silent_link(tmp_path / "spool")
    seen: list[Sequence[Any]] = []
    writer = (
        spark.readStream.format("gigastream")
        .load(str(tmp_path / "spool"))
        .selectExpr("unix_millis(_hb) AS hb", "time", "srcIP", "len")
        .writeStream.foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    )
    query = start(writer, str(tmp_path / "checkpoint"), "heartbeats", {"availableNow": True})
    query.awaitTermination()
    heartbeats = [tuple(row) for row in seen if row[0] is not None]
    assert heartbeats == [(START_S * 1000 + 120_000, None, None, None)]
    assert len(seen) == 5


def test_an_end_is_an_event_time_that_spark_can_hold(spark: SparkSession) -> None:
    value = spark.sql(f"SELECT timestamp_millis({END_MS}) AS end").first()
    assert value is not None
    assert value.end.astimezone(UTC) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_bounds_are_those_of_the_spool() -> None:
    assert (NOTHING, END) == (-(2**63), 2**63 - 1)
