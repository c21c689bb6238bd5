# SPDX-License-Identifier: Apache-2.0
"""What each process and thread of a daemon that root began may do, as the kernel says it."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.daemon.links import capture_pid
from tests.daemon.resident import Daemon, end, started
from tests.daemon.tables import Filled, places
from tests.live.namespace import Namespace
from tests.live.test_privileges import AS_A_USER
from tests.processes import descendants, threads_of, wait_until_gone
from tests.waiting import wait_until

COLUMNS = 200
CAP_NET_RAW = 1 << 13
STDERR = 2
NOBODY = 65534
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
pytestmark = pytest.mark.privileged


def large(columns: int) -> str:
    """A query that takes a while to compile."""
    return f"SELECT {', '.join(f'len + {n} AS c{n}' for n in range(columns))} FROM PKT"


def test_no_process_keeps_a_privilege(daemon: Daemon) -> None:
    """The supervisor, the launcher, the capture process; a compile helper, and its compiler."""
    kinds = {"supervisor", "launcher", "capture"}
    check(daemon)
    columns = itertools.count(COLUMNS)

    def is_seen() -> bool:
        """Whether it, or what it runs, was looked at: it may end while nobody looks."""
        count, seen = next(columns), 0
        adding = threading.Thread(target=daemon.add, args=(f"large{count}", large(count)))
        adding.start()
        while adding.is_alive():
            seen = max(seen, check(daemon))
        adding.join()
        return seen > len(kinds)

    wait_until(is_seen, "a compile helper, and a look at it")
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
        wait_until(  # but who has compiled the set, and may be at its end
            lambda: len(descendants(filled.daemon.process.pid)) == len(before) + 2, "no other one"
        )
        check(filled.daemon)
        assert filled.daemon.stop() == 0
    finally:
        end(filled.daemon)


@pytest.mark.parametrize("who", ["root", "user"])
def test_who_opens_links_anew_keeps_that_alone(
    space: Namespace, common_folder: Path, who: str
) -> None:
    """One process has one capability, and hands it on to nobody; what it opens is the others'.

    A user who has it by a unit's AmbientCapabilities= keeps its bounding set.
    """
    before = () if who == "root" else (*AS_A_USER, "--regid=65534", "--bounding-set=-all,+net_raw")
    if who == "user":
        os.chown(common_folder, NOBODY, NOBODY)
    daemon = started(space, common_folder, "--fanout", 2, "--reopen-links", before=before)
    try:
        (opener,) = openers_of(daemon)
        check(daemon, opener, CAP_NET_RAW if who == "user" else 0)
        files = Path(f"/proc/{opener}/fd")
        links = [os.readlink(file) for file in files.iterdir() if int(file.name) > STDERR]
        assert [link.partition(":")[0] for link in links] == ["socket"], "its way to be asked"
        assert daemon.stop() == 0
        wait_until_gone(opener)
    finally:
        end(daemon)


def test_nobody_keeps_it_where_no_link_needs_it(space: Namespace, common_folder: Path) -> None:
    daemon = started(space, common_folder, "--reopen-links")
    try:
        check(daemon)
        assert daemon.stop() == 0
    finally:
        end(daemon)


def openers_of(daemon: Daemon) -> list[int]:
    """By what the kernel says of them."""
    return [
        pid
        for pid in descendants(daemon.process.pid)
        if any(int(found["CapEff"], 16) for found in threads_of(pid))
    ]


def check(daemon: Daemon, opener: int | None = None, bounding: int = 0) -> int:
    """Hold what every thread has against what is documented; how many processes there were."""
    processes = [daemon.process.pid, *descendants(daemon.process.pid)]
    for found in threads_of(*processes):
        kept = {name: int(found[name], 16) for name in CAPABILITIES}
        own = CAP_NET_RAW if int(found["Tgid"]) == opener else 0
        expected = dict.fromkeys(CAPABILITIES, 0) | {"CapPrm": own, "CapEff": own}
        expected["CapBnd"] = bounding
        assert kept == expected, found["Name"]
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2"), found["Name"]
        assert "0" not in (*found["Uid"].split(), *found["Gid"].split())
        assert found["Groups"].split() == []
    return len(processes)


def packet_sockets(pid: int) -> list[str]:
    """That a process has open, by their numbers in its namespace's table."""
    table = Path(f"/proc/{pid}/net/packet").read_text().splitlines()[1:]
    known = {f"socket:[{line.split()[-1]}]" for line in table}
    return [link for link in open_files(pid) if link in known]


def open_files(pid: int) -> Iterator[str]:
    """What its descriptors lead to, but those that it closes meanwhile."""
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            yield os.readlink(f"{folder}/{name}")
