# SPDX-License-Identifier: Apache-2.0
"""Each write, fsync, rename, mmap … of a spool fails once, and each read of what is read.

What a run says that it has kept is there, no row more and none twice; the next run goes on.
"""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE

from gigastream.cli.main import run_command_line
from gigastream.spool import Spool
from tests.faults.failing import HARMLESS, READS, SPOOL_WRITES, Failing, account_of, every, first

QUERY = "SELECT time, len, timestamp FROM PKT"
ASKED = ("-e", QUERY, "-r", DEMO_CAPTURE)
Rows = Counter[tuple[str, ...]]


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows that nothing has failed for; the query is compiled."""
    path = tmp_path_factory.mktemp("rows") / "all"
    assert run(*ASKED, "-o", f"csv:{path}") == 0
    return rows_of(path)


@pytest.fixture(scope="session")
def whole_spool(tmp_path_factory: pytest.TempPathFactory, everything: Rows) -> Path:
    """A spool that was written without a fault."""
    spool = tmp_path_factory.mktemp("whole") / "spool-in"
    assert run(*ASKED, *into(spool)) == 0
    return spool


@pytest.mark.parametrize(("call", "number", "reason"), first(SPOOL_WRITES))
def test_a_spool_that_fails_is_told_and_goes_on(
    call: str, number: int, reason: int, failing: Failing, everything: Rows
) -> None:
    check_writer(call, number, reason, failing, everything)


@pytest.mark.parametrize(("call", "reason"), every(SPOOL_WRITES))
def test_a_spool_that_fails_anywhere_is_told_and_goes_on(
    call: str, reason: int, failing: Failing, everything: Rows
) -> None:
    for number in count(1):
        check_writer(call, number, reason, failing, everything)
        if not failing.has_failed:
            return


@pytest.mark.parametrize(("call", "number", "reason"), first(READS))
def test_a_reader_that_fails_tells_it(
    call: str, number: int, reason: int, failing: Failing, whole_spool: Path, everything: Rows
) -> None:
    check_reader(call, number, reason, failing, whole_spool, everything)


@pytest.mark.parametrize(("call", "reason"), every(READS))
def test_a_reader_that_fails_anywhere_tells_it(
    call: str, reason: int, failing: Failing, whole_spool: Path, everything: Rows
) -> None:
    for number in count(1):
        check_reader(call, number, reason, failing, whole_spool, everything)
        if not failing.has_failed:
            return


@pytest.mark.parametrize(("call", "number", "reason"), first(READS))
def test_a_capture_that_cannot_be_read_is_told(
    call: str, number: int, reason: int, failing: Failing, everything: Rows
) -> None:
    check_capture(call, number, reason, failing, everything)


@pytest.mark.parametrize(("call", "reason"), every(READS))
def test_a_capture_that_cannot_be_read_anywhere_is_told(
    call: str, reason: int, failing: Failing, everything: Rows
) -> None:
    for number in count(1):
        check_capture(call, number, reason, failing, everything)
        if not failing.has_failed:
            return


def check_writer(call: str, number: int, reason: int, failing: Failing, everything: Rows) -> None:
    """Write with a fault, write again without, read both."""
    spool, out = failing.folder / "spool-out", failing.folder / "rows"
    shutil.rmtree(spool, ignore_errors=True)
    result = failing.run(call, number, reason, "spool-out", *ASKED, *into(spool))
    kept = kept_by(result.code, account_of(result.err), everything)
    if result.code != 0:
        assert failing.has_failed, result.err
        assert result.code in (1, 2), result.err
        assert call == "close" or reason not in HARMLESS, result.err
        assert "spool-out" in result.err, result.err
        assert "a fault in Gigastream itself" not in result.err, result.err
    listed = listed_in(spool)
    # What a failed close has left is not known: it is said to be lost.
    assert listed >= kept if call == "close" else listed == kept, result.err
    assert run(*ASKED, *into(spool)) == 0
    assert run("--spool", spool, "-o", f"csv:{out}") == 0
    found = rows_of(out)
    assert everything <= found, "rows are missing when it has gone on"
    assert (found - everything).total() <= listed, "rows of the first run are there twice"


def listed_in(spool: Path) -> int:
    """How many rows a spool lists."""
    if not (spool / "spool.json").exists():
        return 0
    tracks = Spool(spool).tracks()
    return sum(entry.rows for track in tracks for entry in track.poll())


def kept_by(code: int, account: dict[str, Any] | None, everything: Rows) -> int:
    """How many rows a run says are in its spool; with those that are lost it is what was read."""
    if account is None:
        assert code != 0
        return 0
    kept: int = account["rows"]
    assert kept + account["rows_lost"] == account["sources"][0]["read"]
    assert code != 0 or kept == everything.total()
    return kept


def check_reader(
    call: str, number: int, reason: int, failing: Failing, spool: Path, everything: Rows
) -> None:
    """Read a spool with a fault: rows are missing only where it is said."""
    out = failing.folder / "rows"
    out.unlink(missing_ok=True)
    words = ("--spool", spool, "-o", f"csv:{out}")
    result = failing.run(call, number, reason, spool.name, *words)
    check_rows(result.code, result.err, spool.name, out, everything)
    if result.code != 0:
        assert failing.has_failed, result.err
        assert reason not in HARMLESS, result.err


def check_capture(call: str, number: int, reason: int, failing: Failing, everything: Rows) -> None:
    """Read a capture with a fault: rows are missing only where it is said."""
    capture, out = failing.folder / "capture-in", failing.folder / "rows"
    if not capture.exists():
        shutil.copy(DEMO_CAPTURE, capture)
    out.unlink(missing_ok=True)
    words = ("-e", QUERY, "-r", capture, "-o", f"csv:{out}")
    result = failing.run(call, number, reason, capture.name, *words)
    check_rows(result.code, result.err, capture.name, out, everything)
    if result.code != 0:
        assert failing.has_failed, result.err
        assert reason not in HARMLESS, result.err


def check_rows(code: int, said: str, name: str, out: Path, everything: Rows) -> None:
    """All rows and 0, or some of them, none twice, and the file named."""
    assert code in (0, 1, 2), said
    assert "Traceback" not in said, said
    assert "a fault in Gigastream itself" not in said, said
    found = rows_of(out) if out.exists() else Counter()
    if code == 0:
        assert found == everything
        return
    assert found <= everything
    assert name in said


def into(spool: Path) -> tuple[object, ...]:
    """The words for a spool of several segments."""
    return ("-o", f"spool:{spool}", "--segment-rows", "700", "--batch-rows", "100")


def run(*words: object) -> int:
    """Run in this process, without a fault."""
    return run_command_line(["run", "-q", *map(str, words)])


def rows_of(path: Path) -> Rows:
    """How often each row is in a file."""
    with path.open() as file:
        return Counter(map(tuple, [*csv.reader(file)][1:]))
