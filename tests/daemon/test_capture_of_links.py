# SPDX-License-Identifier: Apache-2.0
"""The capture process on a link: sets come and go, and the others do not notice."""

from __future__ import annotations

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gigastream.daemon.messages import AttachOrder, CaptureReport, DetachOrder, LinkSpec
from gigastream.sources.live import LiveSettings
from tests.daemon.capture import capturing, object_of, output_to, start_of
from tests.live.handed_over import packet_socket
from tests.live.namespace import Namespace, folder_for_all, namespace, needs
from tests.live.test_veth import DEMO_CAPTURE, Tcpdump, answer_of_file, rows_of

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump", "ip")]
FRAMES = """DEFINE { query_name frames; }
    SELECT tb, count(*) AS n, sum(len) AS bytes FROM PKT GROUP BY time AS tb"""
PAIRS = """DEFINE { query_name pairs; }
    SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM IP
    GROUP BY time/10 AS tb, srcIP, destIP"""
GUEST = """DEFINE { query_name guest; }
    SELECT tb, count(*) AS n FROM TCP WHERE destPort = 80 GROUP BY time/2 AS tb"""
NETNS_FLAG = 0x40000000  # CLONE_NEWNET
TIMES = 20


@pytest.fixture
def space() -> Iterator[Namespace]:
    with namespace() as made:
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        made.chmod(0o777)
        yield made


@contextmanager
def inside(space: Namespace) -> Iterator[None]:
    """Be in a namespace for a while."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{space.name}", os.O_RDONLY)
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    try:
        assert libc.setns(other, NETNS_FLAG) == 0
        yield
    finally:
        assert libc.setns(own, NETNS_FLAG) == 0
        os.close(own)
        os.close(other)


def link_of(packets: socket.socket, device: str) -> LinkSpec:
    return LinkSpec(
        interface="default", device=device, sockets=(packets.fileno(),), settings=LiveSettings()
    )


def written(path: Path) -> Counter[str]:
    return rows_of([json.loads(line) for line in path.read_text().splitlines()])


def accounted(report: CaptureReport) -> dict[str, Any]:
    (source,) = report.sources
    terms = source.undecodable + source.filtered + source.late + source.skew + source.decoded
    assert source.read == terms
    assert source.kernel_received == source.read + source.kernel_dropped
    return {"read": source.read, "dropped": source.kernel_dropped, "late": source.late}


def test_others_do_not_notice_sets_that_come_and_go(
    space: Namespace, folder: Path, tmp_path: Path
) -> None:
    objects = {
        name: object_of(folder, name, text, ["default"])
        for name, text in {"frames": FRAMES, "pairs": PAIRS, "guest": GUEST}.items()
    }
    sets = tuple(
        AttachOrder(
            number=-1,
            name=name,
            object_path=str(objects[name]),
            outputs=(output_to(folder / f"{name}.json", "json"),),
        )
        for name in ("frames", "pairs")
    )
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    with inside(space):
        packets = packet_socket(space.far)
        start = start_of(folder, links=(link_of(packets, space.far),), sets=sets)
        capturing_here = capturing(start)
        capture = capturing_here.__enter__()
    try:
        sender = space.start(
            *("tcpreplay", "--pps", "4000", "--loop", "10", "-i", space.near, DEMO_CAPTURE),
            stdout=-3,
            stderr=-3,
        )
        for turn in range(TIMES):
            assert capture.attach("guest", objects["guest"]).error is None
            done = capture.done(DetachOrder(number=capture.number(), name="guest"))
            assert done.error is None, turn
        assert sender.wait(120) == 0
        sent = tcpdump.stop()
        over = capture.end()
    finally:
        capturing_here.__exit__(None, None, None)
    assert accounted(over.report) == {"read": sent, "dropped": 0, "late": 0}
    assert sent > 20000
    for name, text in {"frames": FRAMES, "pairs": PAIRS}.items():
        assert written(folder / f"{name}.json") == answer_of_file(tcpdump.path, "-e", text)
    assert capture.code == 0
