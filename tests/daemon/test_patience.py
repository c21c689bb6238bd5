# SPDX-License-Identifier: Apache-2.0
"""A daemon whose parts hang, and clients who do not wait for what they have asked."""

from __future__ import annotations

import itertools
import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from gigastream.daemon.messages import AddSet, DropSet, QuerySetSpec
from tests.daemon.resident import Daemon
from tests.processes import descendants
from tests.waiting import wait_until

pytestmark = pytest.mark.privileged


COLUMNS = 400
"""Take seconds to compile."""
LIMITED = "Max cpu time              120"


def test_who_hangs_up_waits_for_nothing(daemon: Daemon) -> None:
    """The compile helper, which stands back behind who reads packets, is ended."""
    for columns in itertools.count(COLUMNS):  # another text, which is compiled anew
        with asking(daemon, columns) as client:
            helper = held_helper(daemon, client)
            if helper is not None:
                nice = Path(f"/proc/{helper}/stat").read_text().rpartition(")")[2].split()[16]
                assert int(nice) >= 10
                assert Path(f"/proc/{helper}/oom_score_adj").read_text().strip() == "500"
                break
        daemon.ask(DropSet(name="large"))
    wait_until(lambda: helper not in helpers(daemon), "the end of it")
    wait_until(lambda: "hung up" in (daemon.folder / "state/audit.jsonl").read_text(), "the audit")
    assert daemon.status().sets == {}


@contextmanager
def asking(daemon: Daemon, columns: int) -> Iterator[socket.socket]:
    """Who has asked for a set that takes a while, and says no more."""
    text = f"SELECT {', '.join(f'len + {n} AS c{n}' for n in range(columns))} FROM PKT"
    spec = QuerySetSpec(name="large", text=f"DEFINE {{ query_name large; }} {text}")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(daemon.folder / "socket"))
        client.sendall(msgspec.json.encode(AddSet(query_set=spec)) + b"\n")
        client.shutdown(socket.SHUT_WR)  # which is no end
        yield client


def helpers(daemon: Daemon) -> list[int]:
    """Processes beside the launcher and the capture process."""
    known = {descendants(daemon.process.pid)[0], daemon.status().capture_pid}
    return [found for found in descendants(daemon.process.pid) if found not in known]


def held_helper(daemon: Daemon, client: socket.socket) -> int | None:
    """A compile helper that is limited, and is stopped: by itself it does not end any more.

    None: it has answered its client before anybody looked.
    """
    held: list[int] = []

    def is_held() -> bool:
        for process in helpers(daemon)[:1]:  # those behind it are the compiler's
            with suppress(OSError):
                os.kill(process, signal.SIGSTOP)
                if LIMITED in Path(f"/proc/{process}/limits").read_text():  # it has stood back
                    held.append(process)
                else:
                    os.kill(process, signal.SIGCONT)
        return bool(held)

    def is_over() -> bool:
        return is_held() or bool(select.select([client], [], [], 0)[0])

    wait_until(is_over, "a compile helper that stands back")
    return held[0] if held else None


@pytest.mark.long
def test_a_set_is_dropped_while_the_capture_process_hangs(daemon: Daemon) -> None:
    """The next one begins without it, and with the others."""
    daemon.add("hangs")
    daemon.add("stays")
    pid = daemon.status().capture_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert "does not answer" in daemon.ask(DropSet(name="hangs")).message
    assert list(daemon.status().sets) == ["stays"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: daemon.status().incarnation == 1, "the next one")
    wait_until(lambda: daemon.report().incarnation == 1, "its report")
    assert [s.name for s in daemon.report().sets] == ["stays"]
    assert daemon.stop() == 0
