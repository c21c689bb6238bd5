# SPDX-License-Identifier: Apache-2.0
"""A link that is not what it was: another under its name and index, renamed, of a greater MTU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.namespace import (
    QUERY_ALL,
    Namespace,
    Running,
    namespace,
    needs,
    running,
    totals,
    wait_until,
)
from tests.live.test_veth import DEMO_CAPTURE, DEMO_PACKETS, endless, replay, send

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]


def frame_of(size: int) -> bytes:
    return bytes.fromhex("020000000002020000000001 88b5").ljust(size, b"\0")


def wait_for_rings(space: Namespace, rings: int) -> None:
    wait_until(lambda: space.packet_sockets() == rings, "so many rings")


def rename(space: Namespace, device: str, name: str) -> None:
    space.ip("link", "set", device, "down")
    space.ip("link", "set", device, "name", name)
    space.ip("link", "set", name, "up")
    space.wait_until_up(space.near, name)


def wait_to_hear(run: Running, what: str, times: int) -> None:
    wait_until(lambda: run.told().count(what) == times, f"to hear that it {what}")


@pytest.mark.long
@pytest.mark.parametrize("rings", [1, 2])
@pytest.mark.parametrize("is_noticed", [False, True], ids=["at once", "later"])
def test_another_device_under_the_name_and_the_index(
    space: Namespace, tmp_path: Path, rings: int, is_noticed: bool
) -> None:
    """It is not the one that the sockets were bound to, whether its absence was seen or not."""
    words = ["-i", space.far, "--fanout", rings, "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        wait_for_rings(space, rings)
        replay(space, DEMO_CAPTURE, "--topspeed")
        indexes = [space.index_of(end) for end in (space.near, space.far)]
        space.ip("link", "del", space.far)
        if is_noticed:
            wait_to_hear(run, "is gone", rings)
        space.plug(*indexes)
        wait_for_rings(space, rings)
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == 2 * DEMO_PACKETS


def test_a_device_that_was_in_another_namespace_meanwhile(space: Namespace, tmp_path: Path) -> None:
    """It keeps its index, and the kernel its groups of sockets."""
    words = ["-i", space.far, "--fanout", "2", "-e", QUERY_ALL]
    with namespace() as other, running(space, *words, folder=tmp_path) as run:
        other.ip("link", "del", other.far)
        wait_for_rings(space, 2)
        replay(space, DEMO_CAPTURE, "--topspeed")
        space.ip("link", "set", space.far, "netns", other.name)
        wait_to_hear(run, "is gone", 2)
        other.ip("link", "set", space.far, "netns", space.name)
        space.ip("link", "set", space.far, "arp", "off", "mtu", 9000, "up")
        space.wait_until_up(space.near, space.far)
        wait_for_rings(space, 2)
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == 2 * DEMO_PACKETS


@pytest.mark.long
@pytest.mark.parametrize("rings", [1, 2])
def test_a_device_that_is_renamed_is_captured_until_another_has_its_name(
    space: Namespace, tmp_path: Path, rings: int
) -> None:
    """Also where packets of the renamed one never pause."""
    query = "SELECT tb, len, count(*) AS n FROM PKT WHERE len > 2000 GROUP BY time AS tb, len"
    words = ["-i", space.far, "--fanout", rings, "-e", query]
    with running(space, *words, folder=tmp_path) as run:
        wait_for_rings(space, rings)
        rename(space, space.far, "other")
        wait_to_hear(run, "is gone", rings)
        send(space, frame_of(3000))
        with endless(space):
            second = Namespace(space.name, near="near2")
            second.plug()
            wait_to_hear(run, "is up", rings)
        send(space, frame_of(4000))
        send(second, frame_of(5000))
        run.stop()
        assert {row["len"]: row["n"] for row in run.rows()} == {3000: 1, 5000: 1}


def test_a_device_that_has_its_name_again(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.far, "--fanout", "2", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        wait_for_rings(space, 2)
        rename(space, space.far, "other")
        wait_to_hear(run, "is gone", 2)
        replay(space, DEMO_CAPTURE, "--topspeed")
        rename(space, "other", space.far)
        wait_to_hear(run, "is up", 2)
        replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == 2 * DEMO_PACKETS


def test_any_gives_a_device_its_new_name(space: Namespace, tmp_path: Path) -> None:
    query = "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time AS tb, interface"
    with running(space, "-i", "any", "-e", query, folder=tmp_path) as run:

        def is_seen(name: str) -> bool:
            send(space, frame_of(60))
            return any(row["interface"] == name for row in run.rows())

        wait_until(lambda: is_seen(space.far), "the first name")
        rename(space, space.far, "other")
        wait_until(lambda: is_seen("other"), "the new name")
        run.stop()
        assert {row["interface"] for row in run.rows()} == {space.near, space.far, "other"}


def test_a_greater_mtu_joins_no_packets(space: Namespace, tmp_path: Path) -> None:
    for end in (space.near, space.far):
        space.ip("link", "set", end, "mtu", 1500)
    with running(space, "-i", space.far, "-e", QUERY_ALL, folder=tmp_path) as run:
        for end in (space.near, space.far):
            space.ip("link", "set", end, "mtu", 9000)
        send(space, frame_of(8000))
        (source,) = run.stop()["sources"]
    assert (source["read"], source["oversized"]) == (1, 0)
