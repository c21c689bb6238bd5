# SPDX-License-Identifier: Apache-2.0
"""Tables of a daemon's sets: each window once, whatever is killed, changed or stopped."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import duckdb
import psycopg
import pyarrow.csv
import pytest
from psycopg.rows import dict_row

from gigastream.daemon.loader_progress import PROGRESS
from gigastream.daemon.messages import DropSet, SetParameter, SpoolSpec
from gigastream.sinks import SINKS
from tests.cli.command import COMMAND
from tests.daemon.links import capture_pid
from tests.daemon.resident import end, started
from tests.daemon.tables import (
    COLUMNS,
    NUMBERS,
    Filled,
    Rows,
    check_once,
    in_dataset,
    in_duckdb,
    in_order,
    places,
)
from tests.daemon.test_given_up import packet_sockets
from tests.live.namespace import Namespace
from tests.processes import descendants
from tests.sinks import postgres_server
from tests.sinks.places import PLACES
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]
CONFIG = """
[[link]]
device = "{device}"
[[query]]
name = "t"
text = '''{text}'''
output = {outputs}
"""


@pytest.fixture
def filled(space: Namespace, common_folder: Path) -> Iterator[Filled]:
    """A daemon that fills tables, without any set."""
    with _filled(space, common_folder) as made:
        yield made


@contextmanager
def _filled(space: Namespace, folder: Path) -> Iterator[Filled]:
    made = Filled(started(space, folder, "--tables"))
    try:
        yield made
    finally:
        end(made.daemon)


def test_every_kind_is_filled(filled: Filled, common_folder: Path) -> None:
    """Below folders that are not there yet; the rows as each kind's own reader has them."""
    kinds = [
        kind for kind, sink in SINKS.items() if not sink.has_server and find_spec(sink.package)
    ]
    there = {kind: PLACES[kind](common_folder / "out", None) for kind in kinds}
    filled.add(*(place.output for place in there.values()))
    filled.wait_for_rows(*kinds)
    assert filled.daemon.stop() == 0
    for place in there.values():
        check_once(sorted(place.rows("numbers"), key=lambda row: int(row["first"])), 2000)


@pytest.mark.slow
def test_each_packet_is_in_the_tables_once(
    filled: Filled, space: Namespace, common_folder: Path
) -> None:
    """Loaders are killed, the set is changed, dropped and added again, the daemon stopped."""
    both = places(common_folder)
    filled.add(*both)
    filled.wait_for_rows("duckdb", "dataset")
    for kind in ("duckdb", "dataset"):
        filled.kill_loader(kind)
    filled.wait_for_rows("duckdb")
    filled.daemon.ask(SetParameter(name="t", parameter="least", value="1"))
    filled.wait_for_rows("duckdb")
    filled.daemon.ask(SetParameter(name="t", parameter="fewest", value="1"))
    filled.wait_for_rows("duckdb", "dataset")
    filled.daemon.ask(DropSet(name="t"))
    wait_until(lambda: not filled.daemon.status().tables, "the loaders to be gone")
    filled.add(*both, parameters={"least": "1", "fewest": "1"})
    filled.wait_for_rows("duckdb", "dataset")
    assert filled.daemon.stop() == 0
    known = in_duckdb(common_folder)
    check_once(known)
    filled.daemon, filled.before = started(space, common_folder, "--tables"), filled.sent
    filled.add(*both, parameters={"least": "1", "fewest": "1"})
    filled.wait_for_rows("duckdb", "dataset")
    assert filled.daemon.stop() == 0
    for rows in (in_duckdb(common_folder), in_dataset(common_folder)):
        check_once(rows, known[-1]["last"] + 2)


@pytest.mark.slow
def test_a_capture_process_that_is_killed_leaves_what_its_spool_has(
    filled: Filled, common_folder: Path
) -> None:
    filled.add(*places(common_folder))
    filled.wait_for_rows("duckdb")
    os.kill(capture_pid(filled.daemon), signal.SIGKILL)
    wait_until(lambda: filled.daemon.status().restarts == 1, "the next capture process")
    capture_pid(filled.daemon)
    filled.wait_for_rows("duckdb", "dataset", more=2)
    assert filled.daemon.stop() == 0
    whole = _answered(common_folder)
    for rows in (in_duckdb(common_folder), in_dataset(common_folder)):
        assert rows == whole[: len(rows)]
        assert len(rows) >= len(whole) - 1, "but the window that is open"


def test_a_set_that_is_changed_before_its_loader_begins(
    filled: Filled, common_folder: Path
) -> None:
    """What came before the change is in another generation, which nobody has read."""
    _, lake = places(common_folder)
    (launcher,) = (
        pid
        for pid in descendants(filled.daemon.process.pid)
        if pid != capture_pid(filled.daemon) and not packet_sockets(pid)
    )
    os.kill(launcher, signal.SIGSTOP)
    try:
        filled.add(lake)
        filled.send()
        filled.daemon.ask(SetParameter(name="t", parameter="least", value="1"))
        filled.send()
    finally:
        os.kill(launcher, signal.SIGCONT)
    filled.wait(lambda state: state.restarts >= 1, "the newest generation", "dataset")
    filled.wait_for_rows("dataset")
    assert filled.daemon.stop() == 0
    check_once(in_dataset(common_folder), 2 * 2500)


@pytest.mark.slow
def test_a_database_that_is_taken_is_filled_when_it_is_free(
    filled: Filled, common_folder: Path
) -> None:
    """The set is changed meanwhile: what came before, and between, is not left out."""
    database, _ = places(common_folder)
    with duckdb.connect(str(common_folder / "out" / "rows.db")):
        os.chmod(common_folder / "out" / "rows.db", 0o666)
        filled.add(database)
        filled.wait(lambda state: "lock" in (state.why or ""), "that it is told why")
        for value in "123":
            filled.send()
            filled.daemon.ask(SetParameter(name="t", parameter="least", value=value))
    filled.wait(lambda state: state.state == "running" and state.rows > 0, "rows")
    filled.wait(lambda state: state.restarts >= 3, "the newest generation")
    filled.wait_for_rows("duckdb")
    assert filled.daemon.stop() == 0
    check_once(in_duckdb(common_folder), 3 * 2500)
    told = filled.daemon.told()
    assert "waits, its rows in the spool" in told
    assert "it is filled again" in told


def test_a_loader_that_is_still_at_its_end_is_waited_for(
    filled: Filled, common_folder: Path
) -> None:
    """The set has another name, and the same spool and table: two at once would write it twice."""
    _, lake = places(common_folder)
    filled.add(lake)
    filled.wait_for_rows("dataset")
    [own] = (filled.daemon.folder / "cache" / PROGRESS).glob("*.lock")
    filled.daemon.ask(DropSet(name="t"))
    with own.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as the old one, which has ended, for as long as we like
        filled.add(lake, name="u")
        wait_until(
            lambda: any(
                "another loader" in (each.why or "")
                for each in filled.daemon.status().tables
                if each.set_name == "u"
            ),
            "the next loader",
        )
        filled.send()
    wait_until(lambda: len(filled.daemon.status().tables) == 1, "the old one to be gone")
    filled.wait_for_rows("dataset")
    assert filled.daemon.stop() == 0
    check_once(in_dataset(common_folder), 2500)
    assert "another loader still fills it" in filled.daemon.told()


@pytest.mark.slow
def test_a_disk_that_is_full_is_told_once_until_there_is_room(
    space: Namespace, common_folder: Path
) -> None:
    """The table can be opened all the while, and no row of it be written."""
    _, lake = places(common_folder)
    with (
        _small_disk(common_folder / "out" / "lake") as disk,
        _filled(space, common_folder) as filled,
    ):
        filled.add(lake)
        filled.wait_for_rows("dataset")
        _fill_up(disk / "ballast")
        filled.send()
        filled.wait(lambda state: "No space left" in (state.why or ""), "that it waits", "dataset")
        before = filled.state("dataset")
        assert before is not None
        filled.send()
        tries = before.restarts + 2
        filled.wait(lambda state: state.restarts >= tries, "that it is tried again", "dataset")
        told = filled.daemon.told()
        assert told.count("waits, its rows in the spool") == 1
        assert "it is filled again" not in told
        (disk / "ballast").unlink()
        filled.wait(lambda state: state.rows > before.rows, "rows", "dataset")
        assert "it is filled again" in filled.daemon.told()
        assert filled.daemon.stop() == 0
        check_once(in_dataset(common_folder), 2500)


@pytest.mark.slow
def test_rows_that_no_loader_has_read_are_counted_and_told(
    filled: Filled, common_folder: Path
) -> None:
    """What the spool lets go is a loss of the table where it was not read, and there alone."""
    database, _ = places(common_folder)
    filled.add(database, spool=SpoolSpec(keep_age_ns=4 * 10**9))
    filled.wait_for_rows("duckdb")
    spool = common_folder / "out" / "spool"
    first = sorted(spool.rglob("*.arrows"))[0]
    _send_until_gone(filled, first)
    filled.kill_loader("duckdb")
    filled.wait_for_rows("duckdb")
    state = filled.state()
    assert state is not None
    assert (state.restarts, state.retired_rows) == (1, 0)
    assert state.pid is not None
    os.kill(state.pid, signal.SIGSTOP)
    try:
        unread = sorted(spool.rglob("*.arrows"))[-1]
        filled.send()
        _send_until_gone(filled, unread)
        filled.send()
    finally:
        os.kill(state.pid, signal.SIGCONT)
    filled.wait(lambda state: state.retired_rows > 0, "a loss")
    filled.kill_loader("duckdb")
    filled.wait_for_rows("duckdb")
    assert filled.daemon.stop() == 0
    assert "deleted before they were read" in filled.daemon.told()


def test_a_server_that_is_down_is_survived(
    space: Namespace, common_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table elsewhere, of the configuration; its password is in the environment alone."""
    if postgres_server.programs() is None:
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    monkeypatch.setenv("PGPASSWORD", postgres_server.PASSWORD)
    with postgres_server.server() as uri:
        Path(uri.partition("?host=")[2]).chmod(0o755)
        config = common_folder / "gigastream.toml"
        outputs = f'["spool:{common_folder}/out/spool", "postgres:{uri}"]'
        config.write_text(CONFIG.format(device=space.near, text=NUMBERS, outputs=outputs))
        filled = Filled(started(space, common_folder, "-c", config))
        try:
            filled.wait_for_rows("postgres")
            with postgres_server.down(uri):
                filled.send()
                filled.wait(lambda state: state.state == "waiting", "that it waits", "postgres")
                filled.send()
            filled.wait(lambda state: state.state == "running", "the server again", "postgres")
            filled.wait_for_rows("postgres")
            assert filled.daemon.stop() == 0
        finally:
            end(filled.daemon)
        check_once(_in_postgres(uri), 3 * 2500)
    assert postgres_server.PASSWORD not in filled.daemon.told()


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """Two mebibytes, below a folder of the daemon's user."""
    folder.mkdir(parents=True)
    shutil.chown(folder.parent, "nobody")
    options = ("-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs")
    if subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill_up(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def _send_until_gone(filled: Filled, segment: Path) -> None:
    """What is written lets go of what is old."""

    def is_gone() -> bool:
        filled.send()
        return not segment.exists()

    wait_until(is_gone, f"{segment.name} to be let go")


def _in_postgres(uri: str) -> Rows:
    with psycopg.connect(uri, row_factory=dict_row) as connection:
        rows = connection.execute("SELECT * FROM numbers").fetchall()
    return in_order(pyarrow.Table.from_pylist([{k: int(row[k]) for k in COLUMNS} for row in rows]))


def _answered(folder: Path) -> Rows:
    """What `gigastream run --spool` answers."""
    rows = folder / "answered.csv"
    command = [*COMMAND, "run", "-q", "--spool", folder / "out" / "spool", "-o", f"csv:{rows}"]
    subprocess.run(command, check=True)
    return in_order(pyarrow.csv.read_csv(rows))
