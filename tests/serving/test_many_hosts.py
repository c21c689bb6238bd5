# SPDX-License-Identifier: Apache-2.0
"""A query over spools that two hosts serve: the rows and offsets of the same spools by path.

One falls silent, one is killed and comes back, one takes another token.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream
from pyspark.sql.streaming.datasource import ReadAllAvailable
from serving.servers import TOKEN, Keys, Server, environment_without_token, secret, serving
from spark.readers import batch_reader_of, contents, micro_batches, packets, reader_of
from spark.written import Written, seconds
from spark_command.written import answered_here, in_order, parquet
from spark_command.written import spool as written_spool

from gigastream.spool import SpoolReadError
from gigastream.spool.commits import committed_floor
from spark_sink.errors import HostAwayError, SpoolSourceError
from spark_sink.source import SpoolStreamReader
from spark_sink.spools import Spools
from tests.answers.on_spark import BOTH_WAYS, whole_windows_over
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL = ReadAllAvailable()


class Hosts:
    """Two hosts, each with a spool that grows."""

    def __init__(self, keys: Keys, folder: Path) -> None:
        self.written = [Written(folder / name / "low", live=("eth0",)) for name in ("a", "b")]
        for each in self.written:
            each.write("eth0", [(packets(1), seconds(2))])
        self.servers = [Server(keys, (each.root,)) for each in self.written]
        self._access = {"tokenFile": str(keys.token), "caFile": str(keys.certificate)}

    def begin(self) -> None:
        for server in self.servers:
            server.begin()

    def end(self) -> None:
        for server in self.servers:
            server.end()

    def by_path(self, **options: str) -> SpoolStreamReader:
        return reader_of(*(each.root for each in self.written), **options)

    def served(self, **options: str) -> SpoolStreamReader:
        return reader_of(*self._urls(), **self._access, **options)

    def batch(self, **options: str) -> Any:
        return batch_reader_of(*self._urls(), **self._access, **options)

    def _urls(self) -> list[Any]:
        return [server.url() for server in self.servers]


@pytest.fixture
def hosts(keys: Keys, tmp_path: Path) -> Iterator[Hosts]:
    found = Hosts(keys, tmp_path)
    try:
        found.begin()
        yield found
    finally:
        found.end()


def rows_of(reader: SpoolStreamReader, start: Any, end: Any) -> list[Any]:
    return sorted(contents(reader, start, end)[0])


def until_rows(reader: SpoolStreamReader, start: Any, wanted: int) -> tuple[list[Any], Any]:
    """What is read by and by, and how far."""
    found: list[Any] = []

    def are_there() -> bool:
        nonlocal start
        end = reader.latestOffset(start, ALL)
        found.extend(contents(reader, start, end)[0] if end != start else ())
        start = end
        return len(found) >= wanted

    wait_until(are_there, f"{wanted} rows")
    return sorted(found), start


def test_rows_and_offsets_are_those_of_the_paths(hosts: Hosts) -> None:
    for each in hosts.written:
        each.write("eth0", [(packets(3, 4), seconds(5)), (packets(6), seconds(7))], ends=True)
    served, here = list(micro_batches(hosts.served())), list(micro_batches(hosts.by_path()))
    assert served == here
    assert TOKEN not in json.dumps(served)
    assert "grpc" not in json.dumps(served)
    for start, end in here:
        assert contents(hosts.served(), start, end) == contents(hosts.by_path(), start, end)
    assert sum(len(contents(hosts.served(), *pair)[0]) for pair in here) == 8


def test_a_host_that_comes_back_goes_on(hosts: Hosts, capfd: pytest.CaptureFixture[str]) -> None:
    """The other's rows come meanwhile; the heartbeat waits for it."""
    reader = hosts.served(reader="job")
    start = reader.initialOffset()
    _first, start = until_rows(reader, start, 2)
    hosts.servers[0].kill()
    for each in hosts.written:
        each.write("eth0", [(packets(8), seconds(9))])
    of_other, end = until_rows(reader, start, 1)
    assert [row[0] for row in of_other] == [row[0] for row in packets(8)]
    assert contents(reader, start, end)[1] == []
    reader.commit(end)
    hosts.servers[0].begin()
    of_first, last = until_rows(reader, end, 1)
    assert of_first == of_other
    assert contents(reader, end, last)[1] == [seconds(9) // 1_000_000]
    said = capfd.readouterr().err
    assert f"{hosts.servers[0].location} does not answer" in said
    assert f"note: {hosts.servers[0].url()} answers again" in said
    reader.commit(last)
    for each in hosts.written:
        folder = each.root / "streams" / "low" / "eth0" / "000001" / "readers"
        assert committed_floor(folder) == 2


def test_a_host_that_stays_away_is_gone_on_without(
    hosts: Hosts, capfd: pytest.CaptureFixture[str]
) -> None:
    reader = hosts.served(idleAfterSeconds="1")
    _, start = until_rows(reader, reader.initialOffset(), 2)
    hosts.servers[0].kill()
    heartbeats: list[int] = []
    time_s = 10

    def has_gone_on() -> bool:
        nonlocal start, time_s
        time_s += 1
        hosts.written[1].write("eth0", [(packets(time_s), seconds(time_s + 1))])
        end = reader.latestOffset(start, ALL)
        heartbeats.extend(contents(reader, start, end)[1] if end != start else ())
        start = end
        return bool(heartbeats)

    wait_until(has_gone_on, "time without the host")
    assert heartbeats[0] > seconds(2) // 1_000_000
    assert "the others go on without it" in capfd.readouterr().err


def test_a_host_that_stays_away_ends_the_query_where_that_is_wanted(hosts: Hosts) -> None:
    reader = hosts.served(idleAfterSeconds="1", onIdle="end")
    _, start = until_rows(reader, reader.initialOffset(), 2)
    hosts.servers[0].kill()
    hosts.written[1].write("eth0", [(packets(8), seconds(9))])
    with pytest.raises(SpoolSourceError, match="has said nothing for"):
        until_rows(reader, start, 2)


def test_what_is_there_now_cannot_be_told_of_a_host_that_is_away(hosts: Hosts) -> None:
    """Its rows would silently be missing."""
    reader = hosts.served()
    reader.initialOffset()
    hosts.servers[1].kill()
    time.sleep(0.1)  # it is not asked again within a moment
    with pytest.raises(HostAwayError, match=r"does not answer.*\nhint: the same command") as now:
        reader.prepareForTriggerAvailableNow()
    with pytest.raises(SpoolSourceError, match="does not answer") as begun:
        hosts.served()
    # 2 would say to whoever watches over a job that it is not to be started again.
    assert {now.value.exit_code, begun.value.exit_code} == {1}


def test_a_task_waits_for_a_host(hosts: Hosts) -> None:
    """Its segments are in the offsets: none is left out."""
    reader = hosts.served(partitions="1")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    parts = reader.partitions(start, end)
    hosts.servers[0].kill()
    again = threading.Timer(1, hosts.servers[0].begin)
    again.start()
    found = [batch.num_rows for part in parts for batch in reader.read(part)]
    again.join()
    assert sum(found) == 3  # and the heartbeat


def test_a_task_does_not_wait_longer_than_is_said(hosts: Hosts) -> None:
    reader = hosts.served(idleAfterSeconds="1")
    start = reader.initialOffset()
    parts = reader.partitions(start, reader.latestOffset(start, ALL))
    hosts.servers[0].kill()
    with pytest.raises(SpoolSourceError, match="the micro-batch has segments of it"):
        [batch for part in parts for batch in reader.read(part)]


def test_a_host_that_takes_the_token_no_more_is_no_silent_one(
    hosts: Hosts, keys: Keys, tmp_path: Path
) -> None:
    reader = hosts.served()
    _, start = until_rows(reader, reader.initialOffset(), 2)
    hosts.servers[0].kill()
    folder = tmp_path / "other"
    folder.mkdir()
    for name in ("cert.pem", "key.pem"):
        secret(folder / name, (keys.folder / name).read_text())
    secret(folder / "token", TOKEN[::-1])
    hosts.servers[0].keys = Keys(folder)
    hosts.servers[0].begin()
    with pytest.raises((SpoolSourceError, SpoolReadError), match="refuses the token"):
        until_rows(reader, start, 1)


def test_a_batch_has_what_is_there(hosts: Hosts) -> None:
    reader = hosts.batch()
    rows = [batch.num_rows for part in reader.partitions() for batch in reader.read(part)]
    assert sum(rows) == 2


@pytest.mark.long
@pytest.mark.parametrize("small_bytes", BOTH_WAYS.values(), ids=BOTH_WAYS)
def test_whole_windows_are_those_of_the_path(
    small_bytes: int, spark: SparkSession, keys: Keys, tmp_path: Path
) -> None:
    root = written_spool(tmp_path / "spool")
    access = {"tokenFile": str(keys.token), "caFile": str(keys.certificate)}
    with serving(keys, root) as server:
        urls = [server.url()]
        found = whole_windows_over(spark, urls, tmp_path / "there", small_bytes, access)
    assert found == whole_windows_over(spark, [str(root)], tmp_path / "here", 0) != []


def test_an_endless_list_is_refused(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_sink import reading

    monkeypatch.setattr(reading, "MAX_SERVED_ENTRIES", 2)
    hosts.written[0].write("eth0", [(packets(n), seconds(n)) for n in range(3, 6)])
    with pytest.raises(SpoolSourceError, match="lists without end"):
        Spools(hosts.served()._options).refresh({})


def test_the_engine_reads_servers_and_folders_together(keys: Keys, tmp_path: Path) -> None:
    a, b = (written_spool(tmp_path / name) for name in ("a", "b"))
    with serving(keys, a) as server:
        access = ("--token-file", keys.token, "--ca-file", keys.certificate)
        spools = ("--spool", server.url(), "--spool", b)
        done = gigastream("run", *spools, *access, "-o", "json", env=environment_without_token())
    assert done.code == 0, done.err
    both = gigastream("run", "--spool", a, "--spool", b, "-o", "json")
    assert sorted(done.lines) == sorted(both.lines)
    twice = [
        row | {"packets": 2 * row["packets"], "bytes": 2 * row["bytes"]} for row in answered_here()
    ]
    assert in_order(map(json.loads, done.lines)) == in_order(twice)


@pytest.mark.long
def test_the_command_answers_from_a_server_what_the_engine_does(keys: Keys, tmp_path: Path) -> None:
    root = written_spool(tmp_path / "demo")
    with serving(keys, root) as server:
        words = (
            *("spark", "--spool", server.url(), "--trigger", "now"),
            *("--token-file", keys.token, "--ca-file", keys.certificate),
            *("--checkpoint", tmp_path / "checkpoint", "--log", tmp_path / "log"),
            *("-o", f"parquet:{tmp_path}/rows"),
        )
        for _ in range(2):
            done = gigastream(*words, env=environment_without_token())
            assert done.code == 0, done.err
    assert parquet(tmp_path / "rows") == answered_here() != []
    for path in [tmp_path / "log", *(tmp_path / "checkpoint").rglob("*")]:
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()
    readers = [path.name for path in root.rglob("readers/*.json")]
    assert len(readers) == 1
