# SPDX-License-Identifier: Apache-2.0
"""Counters of a set while it takes over from another."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from captures import DEMO_CAPTURE

import gigastream
from gigastream.daemon.messages import AttachOrder, OutputSpec
from gigastream.daemon.running_set import RunningSet, Surroundings
from gigastream.engine.engine import Engine
from gigastream.settings import Settings
from gigastream.sources.files import FileSource


def test_rows_that_are_left_out_never_become_fewer() -> None:
    """What the new one leaves out at the edge, the old one has had whole."""
    running: Any = RunningSet.__new__(RunningSet)
    running._attached = SimpleNamespace(cut_rows={"q": 0})
    old = SimpleNamespace(cut_rows=50, _edges={"q": None}, _end_input=int, close=int)
    running._cut_before, running._old = 0, old
    seen = [running.cut_rows]
    running._attached.cut_rows["q"] = 7
    seen.append(running.cut_rows)
    running._let_old_go(old)
    seen.append(running.cut_rows)
    running._attached.cut_rows["q"] = 9
    seen.append(running.cut_rows)
    assert seen == [50, 50, 50, 52]


MIXED = """PARAM { least uint; } DEFINE { query_name passing; }
    SELECT time, packet_id FROM PKT WHERE len >= $least;
    PARAM { least uint; } DEFINE { query_name minutes; }
    SELECT tb, count(*) AS n FROM PKT WHERE len >= $least GROUP BY time/60 AS tb"""
SETTINGS = Settings(slack_ns=0, burst=8, batch_rows=64)


def test_a_query_that_passes_rows_changes_with_the_next_packet_the_others_at_their_edge(
    tmp_path: Path,
) -> None:
    """Of rows with another value beside those that a run with each of them has."""
    orders = [_order(tmp_path, MIXED, least) for least in (100, 1000)]
    moment = _taken_over(*orders)
    before, after = (_whole(least) for least in (100, 1000))
    ids = [int(row["packet_id"]) for row in _rows(tmp_path / "rows" / "passing.csv")]
    assert ids == [i for i in before["passing"] if i < moment] + [
        i for i in after["passing"] if i >= moment
    ]
    counts = {int(r["tb"]): int(r["n"]) for r in _rows(tmp_path / "rows" / "minutes.csv")}
    first = max(tb for tb, count in counts.items() if count == before["minutes"][tb]) + 1
    assert counts == {
        tb: (before if tb < first else after)["minutes"][tb] for tb in before["minutes"]
    }
    assert min(counts) < first <= max(counts)


def test_a_set_whose_windows_are_others(tmp_path: Path) -> None:
    """Those of the older one that begin before the first of the new ones are answered, once."""
    text = MIXED.replace("time/60 AS tb", "time/10 AS tb")
    _taken_over(_order(tmp_path, MIXED, 1), _order(tmp_path, text, 2))
    windows = [int(row["tb"]) for row in _rows(tmp_path / "rows" / "minutes.csv")]
    minutes = [tb for tb in windows if tb < 10**8]
    tens = [tb for tb in windows if tb > 10**8]
    assert minutes == list(range(minutes[0], minutes[-1] + 1))
    assert tens == list(range(tens[0], tens[-1] + 1))
    assert 6 * minutes[-1] < tens[0] <= 6 * (minutes[-1] + 1)


def test_a_query_that_has_ended_keeps_no_older_set(tmp_path: Path) -> None:
    """LIMIT ended it before the other set began."""
    text = f"{MIXED}; DEFINE {{ query_name few; }} SELECT tb, n FROM minutes LIMIT 1"
    text = text.replace("time/60", "time/5")
    _taken_over(_order(tmp_path, text, 1), _order(tmp_path, text, 2))
    assert _rows(tmp_path / "rows" / "few.csv")


def _taken_over(before: AttachOrder, after: AttachOrder) -> int:
    """One set takes over from another; how many packets had been read by then."""
    source = FileSource("default", str(DEMO_CAPTURE))
    tails: Any = SimpleNamespace(write=lambda *_: None)
    with Engine(SETTINGS) as engine:
        around = Surroundings(engine, (source,), SETTINGS, tails)
        engine.add_files([source])
        old = RunningSet(before, around, None)
        old.begin()
        engine.start()
        around.has_started = True
        while engine.statistics()[0].read < 700:
            _turn(engine, old)
        new = RunningSet(after, around, old)
        new.begin()
        moment = engine.statistics()[0].read
        while _turn(engine, new):
            pass
        assert new._old is None
        new.detach()
    return moment


def _order(folder: Path, text: str, least: int) -> AttachOrder:
    path = gigastream.compile(text, folder / f"{least}.so", parameters={"least": least})
    outputs = (OutputSpec(format="csv", path=str(folder / "rows")),)
    return AttachOrder(number=least, name="mixed", object_path=str(path), outputs=outputs)


def _turn(engine: Engine, running: RunningSet) -> bool:
    goes_on = engine.run(50, 100)
    running.collect()
    running.give()
    return goes_on


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def _whole(least: int) -> dict[str, Any]:
    found: dict[str, Any] = {"passing": [], "minutes": {}}
    answer = gigastream.run(MIXED, DEMO_CAPTURE, parameters={"least": least}, settings=SETTINGS)
    for batch in answer:
        for row in batch.to_pylist():
            if "packet_id" in row:
                found["passing"].append(row["packet_id"])
            else:
                found["minutes"][row["tb"]] = row["n"]
    return found
