# SPDX-License-Identifier: Apache-2.0
"""Ends of the daemon that nobody planned, what is left of them, and watchers that are too slow."""

from __future__ import annotations

import base64
import json
import os
import signal
from pathlib import Path

import pyarrow.parquet
import pytest

from gigastream.cli.ctl_tail import batches_of
from gigastream.daemon.client import ControlClient
from gigastream.daemon.messages import DropSet, TailQuery
from tests.daemon.resident import COUNTS, GREAT_RING, Daemon, end, started
from tests.daemon.test_losses import sending
from tests.live.namespace import Namespace
from tests.processes import descendants, wait_until_gone
from tests.waiting import PATIENCE_S, wait_until

COLUMNS = 100
ERA = "time/1000000000"
"""Thirty years."""
WIDE = "DEFINE { query_name wide; } SELECT " + ", ".join(
    f"ULLONG(len) + {n} AS c{n}" for n in range(COLUMNS)
)
ENOUGH = 4 * (8 << 20) // (8 * COLUMNS)
"""Rows that are more than a slow client is let wait for."""
pytestmark = [pytest.mark.privileged, pytest.mark.long]


def test_a_supervisor_that_is_killed_leaves_nobody(space: Namespace, common_folder: Path) -> None:
    """Its processes end by themselves, and the next daemon takes the socket's place."""
    daemon = started(space, common_folder, "-e", COUNTS)
    try:
        others = launcher_and_capture(daemon)
        daemon.signal(signal.SIGKILL)
        daemon.process.wait(PATIENCE_S)
        wait_until_gone(*others)
        assert (common_folder / "socket").exists()
        daemon = started(space, common_folder, "-e", COUNTS)
        daemon.send(100)
        wait_until(lambda: daemon.read() >= 100, "packets")
        assert daemon.stop() == 0
    finally:
        end(daemon)


def test_windows_are_answered_where_a_service_manager_ends_all(daemon: Daemon) -> None:
    """Its watchdog sends all of them SIGABRT, which is meant for the one that hangs."""
    daemon.add("counts", f"SELECT tb, count(*) AS n FROM PKT GROUP BY {ERA} AS tb")
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 100, "the packets")
    others = launcher_and_capture(daemon)
    for number in (signal.SIGSTOP, signal.SIGABRT, signal.SIGCONT):  # none ends before all have it
        for pid in (daemon.process.pid, *others):
            os.kill(pid, number)
    daemon.process.wait(PATIENCE_S)
    wait_until_gone(*others)
    assert [row.rpartition(",")[2] for row in daemon.rows("counts")] == ["100"]


def launcher_and_capture(daemon: Daemon) -> list[int]:
    """Its processes, when those that have compiled its sets are gone."""
    wait_until(lambda: len(descendants(daemon.process.pid)) == 2, "no other process")
    return descendants(daemon.process.pid)


def test_a_launcher_that_is_killed_ends_the_daemon(daemon: Daemon) -> None:
    """With a sentence and an exit code, by which the service manager begins it again."""
    launcher, capture = launcher_and_capture(daemon)
    os.kill(launcher, signal.SIGKILL)
    assert daemon.process.wait(PATIENCE_S) == 1
    wait_until_gone(capture)
    assert "the launcher has ended" in daemon.told()


def test_the_socket_is_removed_from_a_folder_of_its_own(
    space: Namespace, common_folder: Path
) -> None:
    """Which is made for it, and belongs to the user."""
    path = common_folder / "made" / "socket"
    daemon = started(space, common_folder, "--socket", path)
    try:
        assert path.exists()
        assert daemon.stop() == 0
        assert not path.exists()
    finally:
        end(daemon)


def test_a_watcher_who_is_too_slow_is_told_how_many_rows_it_lost(
    space: Namespace, common_folder: Path
) -> None:
    """Rows that came and rows that were lost are all there were."""
    daemon = started(space, common_folder, *GREAT_RING)
    try:
        daemon.add("wide", f"{WIDE} FROM PKT")
        with ControlClient(daemon.folder / "socket") as client:
            lines = client.tail(TailQuery(query="wide"))
            with sending(daemon.space) as sender:
                wait_until(lambda: daemon.read() >= ENOUGH, "packets")
            sent = int(sender.communicate()[0])
            wait_until(lambda: daemon.report().sets[0].rows["wide"] >= sent, "all rows")
            daemon.ask(DropSet(name="wide"))
            came = lost = 0
            for line in lines:
                lost += line.lost
                if line.arrow:
                    stream = pyarrow.ipc.open_stream(base64.b64decode(line.arrow))
                    came += stream.read_all().num_rows
            assert lost > 0
            assert came + lost == sent
        assert daemon.stop() == 0
    finally:
        end(daemon)


def test_rows_of_a_window_that_was_cut_say_so(daemon: Daemon) -> None:
    """In a file that can hold it, and in a tail."""
    daemon.send(50)
    wait_until(lambda: daemon.read() >= 50, "packets before the set")
    text = f"DEFINE {{ query_name eras; }} SELECT era, count(*) AS n FROM PKT GROUP BY {ERA} AS era"
    daemon.add("eras", text, output="parquet", first_window="cut")
    for name, more in (("lines", {"output": "json"}), ("cells", {"cut_column": True})):
        daemon.add(name, text.replace("eras", name), first_window="cut", **more)  # type: ignore[arg-type]
    with ControlClient(daemon.folder / "socket") as client:
        lines = client.tail(TailQuery(query="eras"))
        daemon.send(50)
        wait_until(lambda: daemon.read() >= 100, "packets of the set")
        for name in ("eras", "lines", "cells"):
            daemon.ask(DropSet(name=name))
        (found,) = (each for line in lines for each in batches_of(line.arrow))
    assert found[0].to_pydict()["n"] == [50]
    assert found[2] == {b"gs.cut": b"true"}
    marks = pyarrow.parquet.read_metadata(daemon.folder / "out" / "eras.parquet").metadata
    assert (marks[b"gs.cut"], marks[b"gs.cut_rows"]) == (b"true", b"1")
    assert [row.split(",")[1:] for row in daemon.rows("cells")] == [["50", "true"]]
    assert "gs.cut" not in (daemon.folder / "out" / "lines.json").read_text()


def test_a_window_that_the_stop_cuts_comes_with_a_mark(
    space: Namespace, common_folder: Path
) -> None:
    """Though it was running at the start, too: nothing comes after it."""
    rows = common_folder / "out" / "eras.parquet"
    text = f"DEFINE {{ query_name eras; }} SELECT era, count(*) AS n FROM PKT GROUP BY {ERA} AS era"
    daemon = started(space, common_folder, "-o", f"parquet:{rows}", "-e", text)
    try:
        daemon.send(50)
        wait_until(lambda: daemon.read() >= 50, "the packets")
        assert daemon.stop() == 0
        assert pyarrow.parquet.read_table(rows)["n"].to_pylist() == [50]
        marks = pyarrow.parquet.read_metadata(rows).metadata
        assert (marks[b"gs.cut"], marks[b"gs.cut_rows"]) == (b"true", b"1")
    finally:
        end(daemon)


def test_the_log_as_json(space: Namespace, common_folder: Path) -> None:
    """Each line is an object with a time and a text."""
    config = common_folder / "gigastream.toml"
    config.write_text(f"log = 'json'\n[[link]]\ndevice = '{space.near}'\n")
    daemon = started(space, common_folder, "-c", config)
    try:
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: "reload: " in daemon.told(), "the reload")
        assert daemon.stop() == 0
        found = [json.loads(line) for line in daemon.told().splitlines()]
        assert [sorted(line) for line in found] == [["at_ns", "text"]] * len(found)
        assert found[0]["text"].startswith("running: near; control socket ")
    finally:
        end(daemon)
