# SPDX-License-Identifier: Apache-2.0
"""`gigastream run` into tables: what comes again, what is cut, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.sinks import SINKS, SinkError, parse_sink_place
from tests.sinks.places import Place, Rows, duckdb, in_order

BY_TIME = "SELECT time, srcIP, count(*) AS packets FROM IPV4 GROUP BY time, srcIP"
WITHOUT_TIME = "SELECT srcIP, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb, srcIP"
TWO = f"""DEFINE {{ query_name talkers; }} {BY_TIME};
    DEFINE {{ query_name resets; }} SELECT time, destIP, srcPort FROM TCP WHERE rst = 1"""


@pytest.fixture
def here(tmp_path: Path) -> Place:
    """What holds for all sinks is tried with one."""
    pytest.importorskip("duckdb")
    return duckdb(tmp_path, None)


def answered(query: str, *words: str) -> Rows:
    done = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "json", *words)
    assert done.code == 0, done.err
    return in_order(map(json.loads, done.lines))


def account(place: Place, query: str, *words: str | Path, stdin: bytes = b"") -> tuple[int, int]:
    """Rows that a run has written, and rows that were there."""
    words = ("run", "-e", query, *words, "-o", place.output, "-q", "--stats", "json")
    done = gigastream(*words, env=dict(place.environment), stdin=stdin)
    assert done.code == 0, done.err
    counted = json.loads(done.err)
    return counted["rows"], counted["rows_known"]


@pytest.mark.parametrize("query", [BY_TIME, WITHOUT_TIME])
def test_the_same_run_again_writes_nothing(here: Place, query: str) -> None:
    rows = answered(query)
    assert account(here, query, "-r", DEMO_CAPTURE) == (len(rows), 0)
    assert account(here, query, "-r", DEMO_CAPTURE) == (0, len(rows))
    assert here.rows("query") == rows


def test_the_same_packets_under_another_name_are_the_same_run(here: Place, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(DEMO_CAPTURE.read_bytes())
    rows, _ = account(here, BY_TIME, "-r", DEMO_CAPTURE)
    assert account(here, BY_TIME, "-r", copy) == (0, rows)


def test_other_packets_or_another_question_are_another_run(here: Place, tmp_path: Path) -> None:
    account(here, BY_TIME, "-r", DEMO_CAPTURE)
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(DEMO_CAPTURE.read_bytes()[:24])
    assert account(here, BY_TIME, "-r", cut) == (0, 0)
    for others in (("--count", "1000"), ("--windows", "3"), ("tcp",)):
        rows, known = account(here, BY_TIME, "-r", DEMO_CAPTURE, *others)
        assert rows > known == 0


def test_what_comes_through_a_pipe_does_not_come_again(here: Place) -> None:
    packets = DEMO_CAPTURE.read_bytes()
    rows = answered(BY_TIME)
    for _ in range(2):
        assert account(here, BY_TIME, "-r", "-", stdin=packets) == (len(rows), 0)
    assert here.rows("query") == in_order(rows + rows)


def test_each_query_has_a_table(here: Place) -> None:
    account(here, TWO, "-r", DEMO_CAPTURE)
    for table in ("talkers", "resets"):
        expected = [row for row in answered(TWO) if row.pop("query") == table]
        assert here.rows(table) == in_order(expected)


def test_a_spool_is_answered_once(here: Place, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    done = gigastream("run", "-e", BY_TIME, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
    assert done.code == 0, done.err
    for expected in ((len(answered(BY_TIME)), 0), (0, len(answered(BY_TIME)))):
        done = gigastream("run", "--spool", spool, "-o", here.output, "-q", "--stats", "json")
        assert done.code == 0, done.err
        counted = json.loads(done.err)
        assert (counted["rows"], counted["rows_known"]) == expected
    assert here.rows("query") == answered(BY_TIME)


def test_windows_that_are_cut_are_left_to_the_next_run(here: Place) -> None:
    """At the pace of the packets, three minutes, a run of seconds ends in the middle."""
    words = ("run", "-e", BY_TIME, "-r", DEMO_CAPTURE, "-o", here.output, "-q", "--stats", "json")
    cut = gigastream(*words, "--speed", "1", "--duration", "6s")
    assert cut.code == 0, cut.err
    before, rows = here.rows("query"), answered(BY_TIME)
    assert len(before) == json.loads(cut.err)["rows"] < len(rows)
    assert all(row in rows for row in before)
    assert account(here, BY_TIME, "-r", DEMO_CAPTURE) == (len(rows) - len(before), len(before))
    assert here.rows("query") == rows


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "names no place"),
        (":", "names no place"),
        (":x#", "names no table"),
        (":postgresql://me:sesame@host/db", "a password on the command line"),
        (":host=x password = sesame", "a password on the command line"),
        (":x?password=sesame", "a password on the command line"),
        (":x?sslpassword=sesame", "a password on the command line"),
        (":postgresql://me:open?sesame@host/db", "a password on the command line"),
        (":postgresql://me:open#sesame@host/db", "a password on the command line"),
    ],
)
def test_what_names_no_place_or_a_password_is_refused(sink: str, rest: str, message: str) -> None:
    with pytest.raises(SinkError, match=message) as error:
        parse_sink_place(f"{sink}{rest}")
    assert error.value.exit_code == 2
    assert error.value.hint
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize("command", [("run", "-r", str(DEMO_CAPTURE)), ("spark", "--spool", "x")])
def test_a_password_is_not_repeated(command: tuple[str, ...], tmp_path: Path) -> None:
    if command[0] == "spark":
        pytest.importorskip("pyspark")
        command = (*command, "--checkpoint", str(tmp_path / "checkpoint"))
    output = "postgres:postgresql://me:sesame@host/db"
    done = gigastream(*command, "-e", BY_TIME, "-o", output)
    assert done.code == 2
    assert "a password on the command line" in done.err
    assert "sesame" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-e", TWO, "-r", DEMO_CAPTURE, "-o", "duckdb:{}#one"), "do not go into one table"),
        (("-e", BY_TIME, "-i", "lo", "-o", "duckdb:{}"), "reach no table"),
        (
            ("-e", BY_TIME, "-r", DEMO_CAPTURE, "-o", "duckdb:{}#gigastream_commits"),
            "where commits are kept",
        ),
    ],
)
def test_what_cannot_be_is_told(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    place = tmp_path / "x.duckdb"
    done = gigastream("run", *(str(word).replace("{}", str(place)) for word in words))
    assert done.code == 2
    assert message in done.err
    assert not place.exists()


def test_a_place_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    words = ("run", "-e", BY_TIME, "-r", DEMO_CAPTURE)
    done = gigastream(*words, "-o", f"postgres:postgresql://me@/db?host={tmp_path}")
    assert done.code == 2
    assert "No such file or directory" in done.err


def test_a_table_that_takes_no_rows_fails_the_run_and_gets_them_from_the_next(
    here: Place,
) -> None:
    """As where somebody has forbidden what comes; none of the rows is counted as written."""
    import duckdb as library

    path = here.output.partition(":")[2]
    Path(path).parent.mkdir()
    with library.connect(path) as connection:
        connection.execute(_FORBIDDING)
    words = ("run", "-e", BY_TIME, "-r", DEMO_CAPTURE, "-o", here.output, "-q")
    done = gigastream(*words, "--stats", "json")
    assert done.code == 1
    told, message, hint = done.err.splitlines()
    rows = len(answered(BY_TIME))
    assert (json.loads(told)["rows"], json.loads(told)["rows_lost"]) == (0, rows)
    assert message.startswith(f"gigastream: table query of {path}: ")
    assert f"; 0 rows are in it, {rows} are not" in message
    assert hint == "hint: the same command writes the rest"
    with library.connect(path) as connection:
        connection.execute("DROP TABLE query")
    assert account(here, BY_TIME, "-r", DEMO_CAPTURE) == (rows, 0)


_FORBIDDING = """CREATE TABLE query
    (time UINTEGER, "srcIP" VARCHAR, packets UBIGINT CHECK (packets < 5))"""
