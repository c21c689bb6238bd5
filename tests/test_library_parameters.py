# SPDX-License-Identifier: Apache-2.0
"""Parameters of a run at work: the rows are those of two runs, split by hand at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from captures import DEMO_CAPTURE

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.sessions.changes import ChangeError, Succession
from gigastream.settings import Settings
from tests.strategies.files import pcap

Rows = list[dict[str, Any]]

PASSING = """PARAM { least uint; } DEFINE { query_name passing; }
    SELECT time, packet_id, len FROM PKT WHERE len >= $least;"""
MINUTES = """PARAM { least uint; } DEFINE { query_name minutes; }
    SELECT tb, srcIP, count(*) AS n, min(len) AS low FROM IPV4 WHERE len >= $least
    GROUP BY time/60 AS tb, srcIP;"""
TENS = """PARAM { least uint; } DEFINE { query_name tens; }
    SELECT window_end, count(*) AS n, min(len) AS low FROM PKT [RANGE 40 s, SLIDE 10 s]
    WHERE len >= $least ORDER BY n LIMIT 3;"""
HOSTS = """PARAM { least uint; } DEFINE { query_name hosts; }
    SELECT w, count(*) AS groups, sum(n) AS n FROM minutes WHERE low >= $least
    GROUP BY tb/2 AS w"""
SMALL = Settings(batch_rows=1, burst=8, slack_ns=0)
"""Windows are over as soon as a packet is behind them."""
FIRST = {"minutes": "tb", "tens": "window_end", "hosts": "w"}
"""The columns that say of which window a row is."""


def rows_of(batches: Any, found: dict[str, Rows]) -> None:
    for batch in batches:
        name = batch.schema.metadata[b"gs.query"].decode()
        found.setdefault(name, []).extend(batch.to_pylist())


def whole(text: str, least: int) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    answer = gigastream.run(text, DEMO_CAPTURE, parameters={"least": least}, settings=SMALL)
    rows_of(answer, found)
    return found


def changed(text: str, values: Mapping[int, int]) -> tuple[dict[str, Rows], list[dict[str, Any]]]:
    """The rows with other values after so many batches, and the edges of each change."""
    found: dict[str, Rows] = {}
    edges = []
    answer = gigastream.run(text, DEMO_CAPTURE, parameters={"least": values[0]}, settings=SMALL)
    for taken, batch in enumerate(answer, 1):
        rows_of([batch], found)
        if taken in values:
            edges.append(answer.set_parameters({"least": values[taken]}))
    return found, edges


def ordered(rows: Rows) -> list[Any]:
    return sorted(rows, key=str)


def split(parts: list[Rows], column: str, firsts: list[int]) -> Rows:
    """Of each run's rows those of its windows."""
    found = []
    for at, rows in enumerate(parts):
        after = firsts[at - 1] if at else None
        until = firsts[at] if at < len(firsts) else None
        found += [
            row
            for row in rows
            if (after is None or row[column] >= after) and (until is None or row[column] < until)
        ]
    return ordered(found)


@pytest.mark.parametrize("text", [MINUTES, TENS, MINUTES + HOSTS], ids=["one", "sliding", "two"])
@pytest.mark.parametrize("taken", [1, 6, 12])
def test_each_window_saw_one_value(text: str, taken: int) -> None:
    before, after = whole(text, 60), whole(text, 600)
    found, (edges,) = changed(text, {0: 60, taken: 600})
    assert found.keys() == edges.keys()
    for name, first in edges.items():
        assert first is not None
        assert ordered(found[name]) == split([before[name], after[name]], FIRST[name], [first])


def test_one_change_is_one_moment_for_all_queries() -> None:
    text = PASSING + MINUTES + TENS + HOSTS
    before, after = whole(text, 100), whole(text, 1000)
    found, (edges,) = changed(text, {0: 100, 300: 1000})
    assert edges.pop("passing") is None
    for name, first in edges.items():
        assert ordered(found[name]) == split([before[name], after[name]], FIRST[name], [first or 0])
    ids = [row["packet_id"] for row in found["passing"]]
    old = [row["packet_id"] for row in before["passing"]]
    new = [row["packet_id"] for row in after["passing"]]
    moments = [
        place
        for place in (0, *old)
        if ids == [i for i in old if i <= place] + [i for i in new if i > place]
    ]
    assert moments, "no packet at which the one ends and the other begins"
    seconds = {row["packet_id"]: row["time"] for row in before["passing"]}
    assert edges["minutes"] == seconds[moments[0]] // 60 + 1
    assert 0 < len([i for i in ids if i <= moments[0]]) < len(ids)


def test_changes_in_the_same_window_and_later() -> None:
    parts = [whole(MINUTES, least)["minutes"] for least in (60, 200, 300, 90)]
    found, edges = changed(MINUTES, {0: 60, 2: 200, 3: 300, 8: 90})
    firsts = [edge["minutes"] or 0 for edge in edges]
    assert firsts[0] == firsts[1] < firsts[2]
    assert ordered(found["minutes"]) == split(parts, "tb", firsts)


@pytest.mark.parametrize("sign", [1, -1], ids=["rising", "falling"])
@pytest.mark.parametrize(("width", "other"), [(20, 45), (45, 20), (10, 60), (60, 7)])
def test_windows_of_another_length(sign: int, width: int, other: int) -> None:
    """The older ones go on until the first of the new ones begins: every packet is in a window."""
    text = f"""PARAM {{ width uint; }} DEFINE {{ query_name q; }}
        SELECT w, count(*) AS n FROM PKT GROUP BY {sign} * (time/$width) AS w"""
    found: dict[str, Rows] = {}
    answer = gigastream.run(text, DEMO_CAPTURE, parameters={"width": width}, settings=SMALL)
    rows_of([next(answer)], found)
    first = answer.set_parameters({"width": other})["q"]
    assert first is not None
    rows_of(answer, found)
    parts: list[dict[str, Rows]] = [{}, {}]
    for part, length in zip(parts, (width, other), strict=True):
        whole_run = gigastream.run(text, DEMO_CAPTURE, parameters={"width": length})
        rows_of(whole_run, part)
    before, after = (part["q"] for part in parts)
    begin = sign * first * other
    wanted = [row for row in before if sign * row["w"] * width < begin]
    wanted += [row for row in after if sign * row["w"] >= sign * first]
    assert ordered(found["q"]) == ordered(wanted)


def test_a_query_that_has_ended_keeps_no_older_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """LIMIT ended it before the change, behind which nothing of it says so once more."""
    text = MINUTES.replace("time/60", "time/10")
    text += "DEFINE { query_name few; } SELECT tb, n FROM minutes LIMIT 2"
    gone: list[int] = []
    let_go = Succession._let_go

    def noted(succession: Succession, stage: Any) -> None:
        let_go(succession, stage)
        gone.append(len(succession._stages))

    monkeypatch.setattr(Succession, "_let_go", noted)
    found, _ = changed(text, {0: 60, 10: 61})
    assert len(found["few"]) >= 2
    assert gone == [1]


def test_a_query_whose_interface_has_given_nothing_is_the_new_values_alone(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pcap([]))
    quiet = MINUTES.replace("query_name minutes", "query_name quiet").replace("IPV4", "right.IPV4")
    text = PASSING.replace("PKT", "left.PKT") + quiet
    sources = [f"left={DEMO_CAPTURE}", f"right={empty}"]
    answer = gigastream.run(text, sources, parameters={"least": 60}, settings=SMALL)
    next(answer)
    assert answer.set_parameters({"least": 600}) == {"passing": None, "quiet": None}


def test_before_the_first_packet_all_rows_are_of_the_new_value() -> None:
    answer = gigastream.run(MINUTES, DEMO_CAPTURE, parameters={"least": 60}, settings=SMALL)
    assert answer.set_parameters({"least": 600}) == {"minutes": None}
    found: dict[str, Rows] = {}
    rows_of(answer, found)
    assert ordered(found["minutes"]) == ordered(whole(MINUTES, 600)["minutes"])


@pytest.mark.parametrize(
    ("text", "wrong", "error", "words"),
    [
        (PASSING, {"least": "x"}, GsqlError, "not of the type uint"),
        (PASSING, {"most": 1}, GsqlError, "no query has a parameter"),
        (MINUTES.replace("SELECT tb,", "SELECT"), {"least": 9}, ChangeError, "tells its windows"),
        (PASSING.replace("$least;", "$least LIMIT 900;"), {"least": 9}, ChangeError, "holds rows"),
        (
            "PARAM { least uint; } DEFINE { no_temporal_aggr; } "
            "SELECT count(*) AS n FROM PKT WHERE len >= $least;"
            "DEFINE { query_name beside; } SELECT time FROM PKT",
            {"least": 9},
            ChangeError,
            "holds rows",
        ),
    ],
)
def test_what_cannot_change_changes_nothing(
    text: str, wrong: dict[str, Any], error: type[Exception], words: str
) -> None:
    found: dict[str, Rows] = {}
    answer = gigastream.run(text, DEMO_CAPTURE, parameters={"least": 60}, settings=SMALL)
    rows_of([next(answer)], found)
    with pytest.raises(error, match=words):
        answer.set_parameters(wrong)
    rows_of(answer, found)
    assert {n: ordered(r) for n, r in found.items()} == {
        n: ordered(r) for n, r in whole(text, 60).items()
    }


def test_whom_a_run_calls_cannot_set_its_parameters() -> None:
    """The engine is in the midst of the set that would give way."""
    told: list[str] = []

    def same(x: pa.UInt32Array) -> pa.UInt32Array:
        with pytest.raises(ChangeError) as error:
            answer.set_parameters({"least": 60})
        told.append(str(error.value))
        return x

    text = "PARAM { least uint; } SELECT same(len) AS n FROM IPV4 WHERE len >= $least"
    answer = gigastream.run(text, DEMO_CAPTURE, parameters={"least": 1}, functions=[same])
    assert sum(batch.num_rows for batch in answer) > 0
    assert set(told) == {"parameters are set between two batches, and one is being made"}
