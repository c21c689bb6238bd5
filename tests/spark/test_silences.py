# SPDX-License-Identifier: Apache-2.0
"""An interface that says nothing: waited for, gone on without, or the end of the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from spark.readers import contents, packets, reader_of
from spark.written import START_S, Written, seconds

from spark_sink import places
from spark_sink.errors import SpoolSourceError
from spark_sink.source import SpoolStreamReader

IDLE_S = 40


class Watched:
    """A query over eth0, which goes on, and eth1, which falls silent; and a clock to be moved."""

    def __init__(self, root: Path, **options: str) -> None:
        self.spool = Written(root)
        self.spool.write("eth1", [(packets(1), seconds(1))])
        self.spool.write("eth0", [(packets(2), seconds(2))])
        self.now_s = 100.0
        self.reader: SpoolStreamReader = reader_of(root, **options)
        self.reader._spools._silences._clock = lambda: self.now_s
        self.at: Any = self.reader.initialOffset()
        self.heartbeats()

    def heartbeats(self) -> list[int]:
        """Those of the next micro-batch, in seconds; Spark asks again and again."""
        end = self.reader.latestOffset(self.at, ReadAllAvailable())
        found = contents(self.reader, self.at, end)[1]
        assert found == contents(reader_of(self.spool.root), self.at, end)[1]
        self.at = end
        return [heartbeat // 1000 - START_S for heartbeat in found]

    def go_on(self, interface: str, second: int) -> list[int]:
        self.spool.write(interface, [(packets(second), seconds(second))])
        return self.heartbeats()


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "LOOK_PERIOD_S", 0.0)


def test_it_is_waited_for_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(tmp_path)
    for second in (10, 20):
        watched.now_s += IDLE_S
        assert watched.go_on("eth0", second) == []
    (told,) = capsys.readouterr().err.splitlines()
    assert "note: eth1 has said nothing for 40 s, and nobody writes its spool" in told
    assert "the others wait for it, 9 s ahead" in told
    assert watched.go_on("eth1", 30) == [20]
    assert "eth1 is back" in capsys.readouterr().err


def test_the_others_go_on_without_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watched = Watched(tmp_path, idleAfterSeconds=str(IDLE_S))
    watched.now_s += IDLE_S - 1
    assert watched.go_on("eth0", 10) == []
    watched.now_s += 1
    assert watched.go_on("eth0", 20) == [20]
    assert watched.go_on("eth0", 30) == [30]
    (told,) = capsys.readouterr().err.splitlines()
    assert "eth1 has said nothing for 40 s" in told
    assert "go on without it" in told
    assert watched.go_on("eth1", 25) == []
    assert watched.go_on("eth0", 40) == []
    assert watched.go_on("eth1", 50) == [40]
    assert "eth1 is back" in capsys.readouterr().err


def test_it_ends_the_query(tmp_path: Path) -> None:
    watched = Watched(tmp_path, idleAfterSeconds=str(IDLE_S), onIdle="end")
    watched.now_s += IDLE_S
    with pytest.raises(SpoolSourceError, match="eth1 has said nothing for 40 s"):
        watched.go_on("eth0", 10)


def test_who_has_never_begun_is_gone_on_without_too(tmp_path: Path) -> None:
    watched = Watched(tmp_path, idleAfterSeconds=str(IDLE_S), interfaces="eth0,eth1,eth2")
    watched.now_s += IDLE_S
    watched.spool.write_all({"eth0": [(packets(5), seconds(5))], "eth1": [(None, seconds(5))]})
    assert watched.heartbeats() == [5]


def test_nobody_goes_on_where_all_are_silent(tmp_path: Path) -> None:
    watched = Watched(tmp_path, idleAfterSeconds=str(IDLE_S))
    watched.now_s += 2 * IDLE_S
    assert watched.heartbeats() == []
