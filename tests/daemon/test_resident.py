# SPDX-License-Identifier: Apache-2.0
"""The whole daemon on a real link: sets come and go, it crashes, is reloaded, and ends."""

from __future__ import annotations

import base64
import json
import os
import signal
from pathlib import Path

import pyarrow
import pytest

from gigastream.daemon.client import ControlClient, RefusedError
from gigastream.daemon.messages import (
    AddSet,
    CheckText,
    DropSet,
    QuerySetSpec,
    ReloadConfig,
    SetParameter,
    StopDaemon,
    TailQuery,
)
from tests.daemon.resident import COUNTS, Daemon, end, started
from tests.live.namespace import Namespace, ends_well
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.privileged


def counted(rows: list[str]) -> int:
    """The packets that rows of COUNTS have counted."""
    return sum(int(row.split(",")[1]) for row in rows)


def test_sets_come_change_and_go(daemon: Daemon) -> None:
    """A set answers, is given a parameter, and goes; what is wrong changes nothing."""
    daemon.add("counts", first_window="cut")
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 100, "the packets")
    with pytest.raises(RefusedError, match="no column protocl"):
        daemon.add("wrong", "SELECT time, protocl FROM IPV4")
    with pytest.raises(RefusedError, match="there is a set called counts"):
        daemon.add("counts")
    with pytest.raises(RefusedError, match="below no folder that may be written"):
        daemon.ask(AddSet(query_set=QuerySetSpec(name="x", text=COUNTS, outputs=("csv:/etc/x",))))
    daemon.ask(SetParameter(name="counts", parameter="least", value="9000"))
    assert daemon.status().sets["counts"].spec.parameters == {"least": "9000"}
    daemon.ask(DropSet(name="counts"))
    assert daemon.status().sets == {}
    source = daemon.report().sources[0]
    assert source.kernel_received == source.read + source.kernel_dropped


def test_a_text_is_checked(daemon: Daemon) -> None:
    """Columns and plan, or the diagnostics with their carets."""
    with ControlClient(daemon.folder / "socket") as client:
        right = client.check(CheckText(text=COUNTS))
        wrong = client.check(CheckText(text="SELECT nothing FROM IPV4"))
    assert [column.name for column in right.columns["counts"]] == ["tb", "n"]
    assert "partial aggregation" in right.explain
    assert "^~~~~~~" in wrong.message


def test_a_tail_has_the_rows_until_its_set_is_dropped(daemon: Daemon) -> None:
    """As Arrow, a batch a line."""
    daemon.add("packets", "DEFINE { query_name packets; } SELECT time, len FROM PKT")
    with ControlClient(daemon.folder / "socket") as client:
        lines = client.tail(TailQuery(query="packets"))
        daemon.send(50)
        found = 0
        while found < 50:
            stream = pyarrow.ipc.open_stream(base64.b64decode(next(lines).arrow))
            found += stream.read_all().num_rows
        daemon.ask(DropSet(name="packets"))
        assert list(lines)[-1].over


def test_a_capture_process_that_is_killed_is_followed_by_another(daemon: Daemon) -> None:
    """What comes while nobody reads is in the ring, and read; the sets go on."""
    daemon.add("counts", first_window="cut")
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 100, "the packets")
    before = daemon.status()
    assert before.capture_pid is not None
    os.kill(before.capture_pid, signal.SIGKILL)
    daemon.send(100)
    wait_until(lambda: daemon.status().incarnation == 1, "the next one")
    wait_until(lambda: bool(daemon.status().losses[0].packets), "its first report")
    lost = daemon.status().losses[0]
    wait_until(lambda: received(daemon) >= 100, "what came when nobody read")
    assert received(daemon) == 100
    assert 0 <= lost.packets["near"] <= 100
    assert lost.reason == "signal 9 (SIGKILL)"
    assert lost.away_ns > 0
    assert lost.held is not None
    assert list(daemon.status().sets) == ["counts"]
    assert daemon.report().sets[0].name == "counts"


def received(daemon: Daemon) -> int:
    """Packets, by the kernel's count for this incarnation."""
    return sum(source.kernel_received for source in daemon.report().sources)


def test_it_ends_in_good_order(daemon: Daemon) -> None:
    """SIGTERM: open windows are answered, all processes end, the exit code is 0."""
    daemon.add("counts", first_window="cut")
    daemon.send(100)
    wait_until(lambda: daemon.read() >= 100, "the packets")
    assert daemon.stop() == 0
    assert counted(daemon.rows("counts")) == 100


def test_a_client_ends_it(daemon: Daemon) -> None:
    """And it is in the audit log, with who it was."""
    daemon.ask(StopDaemon())
    assert daemon.process.wait(PATIENCE_S) == 0
    log = (daemon.folder / "state" / "audit.jsonl").read_text().splitlines()
    entry = json.loads(log[-1])
    assert (entry["what"], entry["uid"], entry["ok"]) == ("stop", os.geteuid(), True)


def test_a_reload_changes_what_is_different(space: Namespace, common_folder: Path) -> None:
    """By SIGHUP and by a client; the set that is the same is not touched."""
    config = common_folder / "gigastream.toml"
    written = f"[[link]]\ndevice = '{space.near}'\n" + "\n".join(
        f"[[query]]\nname = '{n}'\ntext = '''{COUNTS}'''" for n in ("same", "gone")
    )
    config.write_text(written)
    config.chmod(0o644)
    daemon = started(space, common_folder, "-c", config)
    try:
        since = daemon.status().sets["same"].since_ns
        config.write_text(written.replace("'gone'", "'new'"))
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: list(daemon.status().sets) == ["same", "new"], "the reload")
        assert daemon.status().sets["same"].since_ns == since
        assert daemon.ask(ReloadConfig()).message == "nothing has changed"
        wrong = written.replace("SELECT", "SELEKT", 1).replace("'gone'", "'new'")
        config.write_text(f"watchdog = '9s'\nlog = 'json'\n{wrong}")
        with pytest.raises(RefusedError, match="watchdog and log have changed") as told:
            daemon.ask(ReloadConfig())
        assert str(told.value).startswith("same: same.gsql:1:")
        assert told.value.hint
        config.write_text("nonsense")
        with pytest.raises(RefusedError):
            daemon.ask(ReloadConfig())
        assert list(daemon.status().sets) == ["same", "new"]
    finally:
        end(daemon)


@pytest.mark.long
def test_a_capture_process_that_hangs_is_replaced(space: Namespace, common_folder: Path) -> None:
    """By the watchdog, after the time that the configuration says."""
    config = common_folder / "gigastream.toml"
    config.write_text(f"watchdog = '5s'\n[[link]]\ndevice = '{space.near}'\n")
    daemon = started(space, common_folder, "-c", config)
    try:
        first = daemon.status().capture_pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        wait_until(lambda: daemon.status().restarts >= 1, "the watchdog")
        wait_until(lambda: daemon.status().capture_pid not in (None, first), "the next one")
        assert "has said nothing for 5 s" in daemon.told()
        assert daemon.stop() == 0
    finally:
        end(daemon)


@pytest.mark.long
def test_ends_at_any_moment_are_survived(daemon: Daemon) -> None:
    """Killed as soon as it is there, again and again: the set is there, and packets are read."""
    daemon.add("counts", first_window="cut")
    for restarts in range(1, 5):
        wait_until(lambda: daemon.status().capture_pid is not None, "a process")
        pid = daemon.status().capture_pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda least=restarts: daemon.status().restarts >= least, "the end of it")
    wait_until(lambda: daemon.report().incarnation == daemon.status().incarnation, "the next one")
    before = daemon.read()
    daemon.send(100)
    wait_until(lambda: daemon.read() - before == 100, "the packets")
    assert [s.name for s in daemon.report().sets] == ["counts"]
    assert daemon.stop() == 0


def test_an_end_before_the_beginning(space: Namespace, common_folder: Path) -> None:
    """SIGTERM while sets are compiled: nothing is waited for."""
    query = "DEFINE { query_name q; } SELECT " + ", ".join(f"len + {n} AS c{n}" for n in range(200))
    daemon = started(space, common_folder, "-e", f"{query} FROM PKT", waits=False)
    wait_until(lambda: (common_folder / "socket").exists(), "the socket")
    wait_until(lambda: ends_well(daemon.process), "signals to be minded")
    assert daemon.stop() == 0


def test_what_cannot_begin_says_why(space: Namespace, common_folder: Path) -> None:
    """A link that is not there, or is twice; no address; a second daemon at the same socket."""
    for name, words, told in (
        ("absent", ("-i", "absent0"), "absent0"),
        ("twice", ("-i", space.near), f"{space.near} is named twice"),
        ("none", ("--metrics", "127.0.0.1:65536"), "metrics: '127.0.0.1:65536' is no HOST:PORT"),
        ("other", ("--metrics", "[fe80::1]:9464"), "metrics at [fe80::1]:9464: "),
        ("sets", ("dns", "dns"), "two query sets called dns"),
    ):
        (common_folder / name).mkdir()
        wrong = started(space, common_folder / name, *words)
        code = wrong.process.wait(PATIENCE_S)
        assert code == 1 if name == "absent" else code  # of 2 a service manager tries no more
        assert told in wrong.told()
        assert "hint: " in wrong.told()
        assert "Traceback" not in wrong.told()
    first = started(space, common_folder)
    try:
        (common_folder / "second").mkdir()
        socket = ("--socket", common_folder / "socket")
        second = started(space, common_folder / "second", *socket)
        assert second.process.wait(PATIENCE_S) != 0
        assert "a daemon runs already" in second.told()
    finally:
        end(first)
