# SPDX-License-Identifier: Apache-2.0
"""What it costs to look for what is new, in calls: by the track, and no file where nothing is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from spark.readers import packets, reader_of
from spark.written import Written, seconds

from gigastream.spool import Spool
from gigastream.spool.commits import committed_floor
from gigastream.spool.layout import READERS
from spark_sink import places, spools
from spark_sink.look_pace import LONGEST_PAUSE_S, SHARE, LookPace


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of the system's calls was made."""
    found: Counter[str] = Counter()
    for name in ("open", "lstat"):
        monkeypatch.setattr(os, name, _counted(getattr(os, name), name, found))
    return found


def _counted(real: Callable[..., Any], name: str, found: Counter[str]) -> Callable[..., Any]:
    def counting(*arguments: Any, **named: Any) -> Any:
        found[name] += 1
        return real(*arguments, **named)

    return counting


def tracks(root: Path, count: int) -> None:
    """A spool with so many tracks that have not ended."""
    batches = [(packets(1), seconds(1)), (None, seconds(2))]
    Written(root).write_all({f"eth{number}": batches for number in range(count)})


@pytest.mark.parametrize("count", [1, 12])
def test_a_look_that_finds_nothing_opens_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Counter[str], count: int
) -> None:
    tracks(tmp_path, count)
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    monkeypatch.setattr(places, "LOOK_PERIOD_S", 60.0)
    reader.latestOffset(end, ReadAllAvailable())  # the last that looks through the folders
    calls.clear()
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    # its manifest's size, and whether its interface's progress was replaced
    assert calls == {"lstat": 2 * count}


def test_to_report_the_lag_looks_at_nothing_again(tmp_path: Path, calls: Counter[str]) -> None:
    written = Written(tmp_path)
    written.write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    reader = reader_of(tmp_path, maxSegmentsPerTrigger="1")
    end = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    assert end["eth0"] == {"generation": 1, "seq": 1, "hb": seconds(1)}
    calls.clear()
    assert reader.reportLatestOffset()["eth0"] == {"generation": 1, "seq": 3, "hb": seconds(3)}
    assert not calls
    written.write("eth0", [(packets(4), seconds(4))])
    reader.latestOffset(end, reader.getDefaultReadLimit())
    assert reader.reportLatestOffset()["eth0"] == {"generation": 1, "seq": 4, "hb": seconds(4)}


def test_the_time_of_all_tracks_is_found_once_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracks(tmp_path, 12)
    reader = reader_of(tmp_path)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    found: Counter[str] = Counter()
    counted = _counted(spools.heartbeat_ms, "heartbeat_ms", found)
    monkeypatch.setattr(spools, "heartbeat_ms", counted)
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert found["heartbeat_ms"] <= 2


def test_a_commit_of_a_known_reader_waits_for_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first on retention waits for it, whatever becomes of the host."""
    tracks(tmp_path, 4)
    synced: list[tuple[Path, list[str]]] = []

    def fsync(descriptor: int, real: Callable[[int], None] = os.fsync) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)
        synced.append((path, os.listdir(path) if path.is_dir() else []))

    monkeypatch.setattr(os, "fsync", fsync)
    for track in Spool(tmp_path).tracks():
        synced.clear()
        track.commit("one", 0)
        (around, folders), *_, (file, _), (folder, names) = synced
        assert around == Path(track.folder)
        assert READERS in folders
        assert folder == file.parent == around / READERS
        assert "one.json" in names
    synced.clear()
    for track in Spool(tmp_path).tracks():
        track.commit("one", 1)
    assert not synced
    floors = [committed_floor(Path(track.folder, READERS)) for track in Spool(tmp_path).tracks()]
    assert floors == [1] * 4


class Visited(dict[Any, Any]):
    """A dictionary that counts what is gone through in it."""

    count = 0

    def items(self) -> Any:
        for each in super().items():
            self.count += 1
            yield each


def test_what_begins_is_gone_through_once(tmp_path: Path) -> None:
    tracks(tmp_path, 12)
    reader = reader_of(tmp_path)
    readings = reader._spools._readings = Visited()
    reader.initialOffset()
    assert 0 < readings.count <= 2 * 12


def test_a_look_waits_until_the_last_is_paid_for() -> None:
    clock = {"now": 100.0, "spent": 7.0}
    slept: list[float] = []
    pace = LookPace(lambda: clock["now"], lambda: clock["spent"], slept.append)
    for spent_s in (0.005, 1.0, 0.0):
        with pace.look():
            clock["spent"] += spent_s
    assert slept == [pytest.approx(0.005 * (1 / SHARE - 1)), LONGEST_PAUSE_S]
    clock["now"] += LONGEST_PAUSE_S
    with pace.look():
        pass
    assert len(slept) == 2
