# SPDX-License-Identifier: Apache-2.0
"""Links that flap, go and come back, with tags, great frames, several rings; and spools of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import COMMAND
from tests.daemon.links import (
    FLOWS,
    NUMBERS,
    check_all,
    rows_of,
    send,
    sums,
    totals,
    wait_for_all,
)
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace, need
from tests.live.test_veth import Tcpdump
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]
TAGS = """DEFINE { query_name tags; }
    SELECT tb, vlan, count(*) AS n, sum(sequence_number) AS total, sum(len) AS bytes
    FROM TCP GROUP BY time AS tb, vlan"""
COUNT = 5_000
TAG = 7
JUMBO = 8_900
JUMBO_COUNT = 1_500
"""The ring has place for them (seven in each of 256 blocks), so that a slow reader loses none."""


def state(daemon: Daemon) -> list[str | None]:
    """Of the links, ring by ring."""
    return [source.link for source in daemon.report().sources]


def wait_for_state(daemon: Daemon, *states: str) -> None:
    wait_until(lambda: state(daemon) == list(states), f"the link to be {states}")


def test_a_link_that_flaps(daemon: Daemon) -> None:
    """Down and up again, several times: all that it brought is in the answer."""
    daemon.add("numbers", NUMBERS, first_window="cut")
    sent = 0
    for _ in range(3):
        sent += send(daemon.space, COUNT, first=sent)
        wait_for_all(daemon, sent)
        daemon.space.ip("link", "set", daemon.space.near, "down")
        wait_for_state(daemon, "down")
        daemon.space.ip("link", "set", daemon.space.near, "up")
        wait_for_state(daemon, "up")
    assert daemon.stop() == 0
    check_all(rows_of(daemon, "numbers"), sent)


def test_a_link_that_is_removed_and_returns(daemon: Daemon) -> None:
    """The device that has its name is captured; the account goes on."""
    daemon.add("numbers", NUMBERS, first_window="cut")
    sent = send(daemon.space, COUNT)
    wait_for_all(daemon, sent)
    for _ in range(2):
        daemon.space.ip("link", "del", daemon.space.near)
        wait_for_state(daemon, "gone")
        daemon.space.plug()
        wait_for_state(daemon, "up")
        sent += send(daemon.space, COUNT, first=sent)
        wait_for_all(daemon, sent)
    assert daemon.stop() == 0
    check_all(rows_of(daemon, "numbers"), sent)


def test_tags_and_great_frames(daemon: Daemon) -> None:
    """Each with and without the other: the tag and the length are right, nothing is cut."""
    daemon.add("numbers", NUMBERS, first_window="cut")
    daemon.add("tags", TAGS, first_window="cut")
    sent, bytes_sent = 0, {0: 0, TAG: 0}
    for vlan in (0, TAG):
        for size, count in ((100, COUNT), (JUMBO, JUMBO_COUNT)):
            sent += send(daemon.space, count, first=sent, vlan=vlan, size=size)
            bytes_sent[vlan] += count * (size + (4 if vlan else 0))
            wait_for_all(daemon, sent)
    (source,) = wait_for_all(daemon, sent)
    assert source.oversized == 0
    assert daemon.stop() == 0
    check_all(rows_of(daemon, "numbers"), sent)
    rows = rows_of(daemon, "tags")
    assert totals(rows) == sums(sent)
    for vlan, expected in bytes_sent.items():
        assert sum(row["bytes"] for row in rows if row["vlan"] == vlan) == expected


@contextmanager
def configured(space: Namespace, folder: Path, link: str) -> Iterator[Daemon]:
    """A daemon of a file whose link has such lines."""
    config = folder / "gigastream.toml"
    config.write_text(f"[[link]]\ndevice = '{space.near}'\n{link}\n")
    config.chmod(0o644)
    daemon = started(space, folder, "-c", config)
    try:
        yield daemon
    finally:
        end(daemon)


def test_two_rings_share_a_link(space: Namespace, common_folder: Path) -> None:
    """Flow by flow; together they have all, and the answer is of both."""
    rings = "fanout = 2\nring = '16MiB'\nring-block = '64kiB'"  # all that is sent has place
    with configured(space, common_folder, rings) as daemon:
        daemon.add("flows", FLOWS, first_window="cut")
        sources = wait_for_all(daemon, sent := send(space, 20 * COUNT))
        assert len(sources) == 2
        assert all(source.read for source in sources)
        assert daemon.stop() == 0
        rows = rows_of(daemon, "flows")
        assert totals(rows) == sums(sent)


def answer(folder: Path, name: str, *words: object) -> list[str]:
    """Rows of `gigastream run`."""
    path = folder / f"{name}.csv"
    command = [*COMMAND, "run", "-q", *map(str, words), "-o", f"csv:{path}"]
    subprocess.run(command, check=True, capture_output=True)
    return sorted(path.read_text().splitlines())


def test_a_spool_has_the_answer_of_the_capture(
    daemon: Daemon, common_folder: Path, tmp_path: Path
) -> None:
    """The low level goes into a spool; read afterwards it answers as tcpdump's file does."""
    need("tcpdump")
    spool = common_folder / "out" / "flows.spool"
    tcpdump = Tcpdump(daemon.space, tmp_path / "seen.pcap", "-i", daemon.space.near)
    daemon.add("flows", FLOWS, output="spool", first_window="cut")
    sent = send(daemon.space, 10 * COUNT)
    wait_for_all(daemon, sent)
    assert tcpdump.stop(sent) == sent
    assert daemon.stop() == 0
    rows = answer(tmp_path, "spooled", "--spool", spool, "-e", FLOWS)
    assert len(rows) > 1
    assert rows == answer(tmp_path, "file", "-r", f"near={tcpdump.path}", "-e", FLOWS)
