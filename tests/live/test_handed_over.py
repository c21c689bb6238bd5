# SPDX-License-Identifier: Apache-2.0
"""Sockets that somebody else has opened: privileges can go first."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine.engine import Engine
from gigastream.sources.files import SourceError
from gigastream.sources.live import LiveSettings, LiveSource
from tests.captures import DEMO_CAPTURE
from tests.live.handed_over import ALL_PROTOCOLS, packet_socket
from tests.live.namespace import (
    PATIENCE_S,
    ROOT,
    Namespace,
    folder_for_all,
    wait_for_delivery,
)
from tests.processes import program

BEFORE, AFTER, SENT, DEMO_PACKETS = 100, 200, 30, 2010
SEND = """
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
for _ in range(int(sys.argv[3])):
    link.send(bytes(12) + b"\\x88\\xb5" + bytes(int(sys.argv[2]) - 14))
"""


@pytest.fixture
def precious() -> Iterator[Path]:
    """A capture that only root may open."""
    with folder_for_all() as folder:
        path = folder / "precious.pcap"
        shutil.copy(DEMO_CAPTURE, path)
        path.chmod(0o600)
        yield path


def send(space: Namespace, length: int) -> None:
    space.run(sys.executable, "-c", SEND, space.near, length, SENT)
    wait_for_delivery()


@pytest.mark.privileged
def test_what_root_has_opened_is_read_by_nobody(space: Namespace, precious: Path) -> None:
    """And what came in before the link was added is none of it."""
    command = [*program("tests.live.handed_over"), space.far, precious, SENT, DEMO_PACKETS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    reader = space.start(*command, cwd=ROOT, **pipes)
    assert reader.stdout is not None
    assert reader.stdin is not None
    assert reader.stdout.readline() == "bound\n"
    send(space, BEFORE)
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert reader.stdout.readline() == "captures\n"
    send(space, AFTER)
    said = json.loads(reader.communicate(timeout=PATIENCE_S)[0])
    assert reader.returncode == 0
    assert said["user"] == [pwd.getpwnam("nobody").pw_uid] * 3
    assert said["refused"] == ["link", "file"]
    link, file = said["sources"]
    assert (link["read"], link["kernel_received"], link["link"]) == (SENT, SENT, "up")
    assert (file["read"], file["damage"]) == (DEMO_PACKETS, None)
    counted: Counter[int] = Counter()
    for row in said["rows"]:
        _, length, n = map(int, row.split(","))
        counted[length] += n
    assert counted.total() == SENT + DEMO_PACKETS
    assert counted[AFTER] >= SENT


def refusal(source: LiveSource) -> str:
    with Engine() as engine, pytest.raises(SourceError) as refused:
        engine.add_link(source)
    return str(refused.value)


def test_what_is_no_packet_socket_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        said = refusal(LiveSource("lo", "lo", socket=other.fileno()))
    assert said == "lo: what was handed over is no raw packet socket"
    said = refusal(LiveSource("lo", "lo", socket=other.fileno()))
    assert said == f"lo: the socket that was handed over: {os.strerror(9)}"
    said = refusal(LiveSource("lo", "lo", socket=2**31))
    assert said == "lo: 2147483648 is no descriptor"


def test_one_socket_is_one_ring() -> None:
    source = LiveSource("lo", "lo", LiveSettings(fanout=2), socket=0)
    assert refusal(source) == "lo: one socket was handed over, which is one ring"


@pytest.mark.privileged
def test_the_socket_is_of_the_device() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ALL_PROTOCOLS) as unbound:
        said = refusal(LiveSource("lo", "lo", socket=unbound.fileno()))
        assert said == "lo: the socket that was handed over is not bound to it"
        unbound.bind(("lo", ALL_PROTOCOLS))
        with Engine() as engine:  # what was refused is as it was
            engine.add_link(LiveSource("lo", "lo", socket=unbound.fileno()))
    with packet_socket("lo") as bound:
        source = LiveSource("lo", "lo", socket=bound.fileno())
        assert "no such network interface" in refusal(replace(source, device="nowhere"))
        with Engine() as engine:
            engine.add_link(source)


@pytest.mark.privileged
def test_a_socket_that_is_captured_already_goes_on() -> None:
    """Whoever is given it a second time is refused, and the first loses nothing."""
    with packet_socket("lo") as bound, Engine() as first:
        source = LiveSource("lo", "lo", socket=bound.fileno())
        first.add_link(source)
        said = refusal(source)
        assert said == "lo: the socket that was handed over is captured already"
        first.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(SENT):
                sender.sendto(b"x", ("127.0.0.1", 9))
        wait_for_delivery()  # what a busy kernel delivers later is taken, too
        first.stop()
        while first.run(1, 100):
            pass
        assert first.statistics()[0].read >= SENT
