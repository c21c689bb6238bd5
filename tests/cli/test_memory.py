# SPDX-License-Identifier: Apache-2.0
"""What a person is told when memory is not enough: which limit it was, and what helps."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from cli.command import gigastream

from gigastream.cli.errors import report
from tests.captures import DEMO_CAPTURE
from tests.engine.test_memory import KEYS, written
from tests.engine.traffic import packet
from tests.strategies.files import NANOSECONDS, pcap

TALKERS = "SELECT tb, srcIP, count(*) AS n FROM IP GROUP BY time/60 AS tb, srcIP"
EVERY = "SELECT tb, id, srcIP, count(*) AS n FROM IPV4 GROUP BY time/3600 AS tb, id, srcIP"


def test_windows_that_are_incomplete_for_want_of_memory_are_a_failure(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 3_000)
    done = gigastream("run", "-r", capture, "-o", "csv", "-e", KEYS, "--memory", "1MiB")
    assert done.code == 1
    assert "1.05 MB of memory were not enough for all groups" in done.err
    assert "hint: a greater --memory, or ulimit -v where the system gave less; shorter" in done.err
    assert "groups refused" in done.err
    assert "--max-groups" not in done.err


def partial_rows(path: Path) -> int:
    """Rows of a file that are marked."""
    if path.suffix == ".parquet":
        marks = pyarrow.parquet.read_metadata(path).metadata or {}
        assert (b"gs.partial" in marks) == (b"gs.partial_rows" in marks)
        return int(marks.get(b"gs.partial_rows", 0))
    reader = pyarrow.ipc.open_stream(path.read_bytes())
    batches = list(reader.iter_batches_with_custom_metadata())
    return sum(
        batch.batch.num_rows for batch in batches if batch.custom_metadata == {"gs.partial": "true"}
    )


@pytest.mark.long
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_file_says_which_windows_are_incomplete(tmp_path: Path, form: str) -> None:
    """The first of three minutes has more groups than are let in; no other row is marked."""
    capture, path = tmp_path / "three.pcap", tmp_path / f"rows.{form}"
    traffic = [packet(60 * at, n) for at, many in enumerate((50, 5, 5)) for n in range(many)]
    capture.write_bytes(pcap(traffic, magic=NANOSECONDS))
    words = ("run", "-r", capture, "-o", f"{form}:{path}", "-e", TALKERS)
    assert gigastream(*words).code == 0
    assert partial_rows(path) == 0
    assert gigastream(*words, "--max-groups", "20").code == 0
    assert partial_rows(path) == 20


def test_a_limit_by_count_is_what_was_asked_for(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 50)
    done = gigastream("run", "-r", capture, "-o", "csv", "-e", KEYS, "--max-groups", "7")
    assert done.code == 0
    assert "some windows are incomplete: --max-groups allows more groups" in done.err
    assert "--memory" not in done.err


def test_the_account_says_what_each_takes(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 1_000)
    words = ("run", "-r", capture, "-o", "csv", "-e", KEYS, "--stats", "json", "--memory", "64MiB")
    account = json.loads(gigastream(*words).err.splitlines()[-1])
    (aggregate,) = (o for o in account["operators"] if o["kind"] == "aggregate")
    assert aggregate["peak_bytes"] > 1_400_000
    assert account["memory"]["limit_bytes"] == 64 << 20
    assert account["memory"]["peak_bytes"] >= aggregate["peak_bytes"]


def test_evictions_are_explained_in_the_text() -> None:
    done = gigastream("run", "-r", DEMO_CAPTURE, "-o", "csv", "-e", EVERY, "--slots", "2")
    assert "query_low on default: evicted " in done.err
    assert "in one of its 2 slots" in done.err
    assert "a greater --slots, or without --slots a greater --memory, keeps more in" in done.err


@pytest.mark.parametrize("form", ["text", "table"])
def test_more_slots_are_not_advised_where_short_panes_crowd_each_other_out(form: str) -> None:
    query = "SELECT srcIP, count(*) AS n FROM TCP [RANGE 10 ROWS, SLIDE 1 ROWS] GROUP BY srcIP"
    words = ("-o", "csv", "-e", query, "--slots", "4096", "--stats", form)
    done = gigastream("run", "-r", DEMO_CAPTURE, *words)
    assert "windows as short as its own crowd each other out" in done.err
    assert "a greater --slots" not in done.err


def test_tables_that_are_not_thrashed_need_no_word() -> None:
    done = gigastream("run", "-r", DEMO_CAPTURE, "-o", "csv", "-e", TALKERS)
    assert "evicted" not in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--memory", "12"), "'12' is too little to begin with: at least 1MiB"),
        (("--memory", "1MiB", "--slots", "1000000"), "more than the memory that is given"),
    ],
)
def test_a_budget_that_cannot_work_is_refused(words: tuple[str, ...], message: str) -> None:
    done = gigastream("run", "-r", DEMO_CAPTURE, "-e", TALKERS, *words)
    assert done.code == 2
    assert message in done.err


def test_python_without_memory_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(MemoryError()) == 1
    assert "there is no memory left" in capsys.readouterr().err
