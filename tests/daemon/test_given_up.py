# SPDX-License-Identifier: Apache-2.0
"""What each process and thread of a daemon that root began may do, as the kernel says it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.daemon.links import capture_pid
from tests.daemon.resident import Daemon, end, started
from tests.daemon.tables import Filled, places
from tests.live.namespace import Namespace
from tests.processes import descendants, threads_of
from tests.waiting import wait_until

LARGE = "DEFINE { query_name large; } SELECT " + ", ".join(f"len + {n} AS c{n}" for n in range(200))
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
pytestmark = pytest.mark.privileged


def test_no_process_keeps_a_privilege(daemon: Daemon) -> None:
    """The supervisor, the launcher, the capture process; a compile helper, and its compiler."""
    kinds = {"supervisor", "launcher", "capture"}
    check(daemon)
    adding = threading.Thread(target=daemon.add, args=("large", f"{LARGE} FROM PKT"))
    adding.start()
    wait_until(lambda: len(descendants(daemon.process.pid)) > len(kinds), "a compile helper")
    seen = 0
    while adding.is_alive():
        seen = max(seen, check(daemon))
    adding.join()
    assert seen > len(kinds), "it, or what it runs, was looked at"
    assert daemon.stop() == 0


def test_loaders_and_who_forks_them_keep_none(space: Namespace, common_folder: Path) -> None:
    """Their variables are those of databases alone; no loader has a packet socket."""
    filled = Filled(started(space, common_folder, "--tables"))
    try:
        before = descendants(filled.daemon.process.pid)
        assert len(before) == len({"launcher", "launcher of loaders", "capture"})
        filled.add(*places(common_folder))
        for kind in ("duckdb", "dataset"):
            filled.wait(lambda state: state.state == "running", "running", kind)
            found = filled.state(kind)
            assert found is not None
            assert found.pid in descendants(filled.daemon.process.pid)
            assert packet_sockets(found.pid) == []
            assert packet_sockets(capture_pid(filled.daemon)) != []
        assert check(filled.daemon) == len(before) + 3
        assert filled.daemon.stop() == 0
    finally:
        end(filled.daemon)


def check(daemon: Daemon) -> int:
    """Hold what every thread has against what is documented; how many processes there were."""
    processes = [daemon.process.pid, *descendants(daemon.process.pid)]
    for found in threads_of(*processes):
        kept = {name: int(found[name], 16) for name in CAPABILITIES}
        assert kept == dict.fromkeys(CAPABILITIES, 0), found["Name"]
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2"), found["Name"]
        assert "0" not in (*found["Uid"].split(), *found["Gid"].split())
        assert found["Groups"].split() == []
    return len(processes)


def packet_sockets(pid: int) -> list[str]:
    """That a process has open, by their numbers in its namespace's table."""
    table = Path(f"/proc/{pid}/net/packet").read_text().splitlines()[1:]
    known = {f"socket:[{line.split()[-1]}]" for line in table}
    folder = f"/proc/{pid}/fd"
    return [
        link for name in os.listdir(folder) if (link := os.readlink(f"{folder}/{name}")) in known
    ]
