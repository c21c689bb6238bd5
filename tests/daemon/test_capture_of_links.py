# SPDX-License-Identifier: Apache-2.0
"""The capture process on a link: sets come and go, and the others do not notice."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gigastream.daemon.input_messages import LinkSpec
from gigastream.daemon.messages import (
    AttachOrder,
    CaptureReport,
    DetachOrder,
    FirstWindow,
    OverloadSettings,
)
from gigastream.engine.live import open_packet_sockets
from gigastream.sources.live import LiveSettings
from tests.daemon.capture import Captured, capturing, object_of, output_to, start_of
from tests.live.namespace import Namespace, folder_for_all, namespace, needs
from tests.live.test_veth import DEMO_CAPTURE, DEMO_PACKETS, Tcpdump, answer_of_file, rows_of
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump", "ip")]
FRAMES = """DEFINE { query_name frames; }
    SELECT tb, count(*) AS n, sum(len) AS bytes FROM PKT GROUP BY time AS tb"""
PAIRS = """DEFINE { query_name pairs; }
    SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM IP
    GROUP BY time/10 AS tb, srcIP, destIP"""
GUEST = """DEFINE { query_name guest; }
    SELECT tb, count(*) AS n FROM TCP WHERE destPort = 80 GROUP BY time/2 AS tb"""
RECORDS = "DEFINE { query_name records; } SELECT timestamp, len FROM PKT"
NETNS_FLAG = 0x40000000  # CLONE_NEWNET
TIMES = 20
NUMBERS = itertools.count(1 << 20)
"""Of the orders of the start: none of those that a capture process is given later."""


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
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        assert libc.setns(other, NETNS_FLAG) == 0
        yield
    finally:
        assert libc.setns(own, NETNS_FLAG) == 0
        os.close(own)
        os.close(other)


@dataclass
class Site:
    """A namespace whose far end is captured, and beside us by tcpdump."""

    space: Namespace
    folder: Path
    link: LinkSpec
    tcpdump: Tcpdump

    def order(self, name: str, text: str, first_window: FirstWindow = "cut") -> AttachOrder:
        return AttachOrder(
            number=next(NUMBERS),
            name=name,
            object_path=str(object_of(self.folder, name, text, ["default"])),
            outputs=(output_to(self.folder / f"{name}.json", "json"),),
            first_window=first_window,
        )

    @contextmanager
    def capturing(self, **options: Any) -> Iterator[Captured]:
        """A capture process in the namespace."""
        with inside(self.space):
            made = capturing(start_of(self.folder, links=(self.link,), **options))
            capture = made.__enter__()
        try:
            yield capture
        finally:
            made.__exit__(None, None, None)

    @contextmanager
    def traffic(self, loops: int = 0) -> Iterator[None]:
        """While we do something; then until the last packet, where there is one."""
        words = ("--pps", "4000", "--loop", loops, "-i", self.space.near, DEMO_CAPTURE)
        null = subprocess.DEVNULL
        sender = self.space.start("tcpreplay", *words, stdout=null, stderr=null)
        try:
            yield
            assert loops == 0 or sender.wait(PATIENCE_S) == 0
        finally:
            sender.kill()
            sender.wait()

    def killed_amid_rows(self, name: str, **options: Any) -> dict[str, int]:
        """What a capture process has promised last that was killed when it had written rows."""
        with self.capturing(**options) as capture:
            known = len(self.lines(name))
            wait_until(lambda: capture.hear(0.1) and len(self.lines(name)) > known, "rows")
            os.kill(capture.pid, signal.SIGKILL)
            while capture.hear(PATIENCE_S):
                pass
            return capture.last(CaptureReport).promises

    def lines(self, name: str) -> list[str]:
        path = self.folder / f"{name}.json"
        return path.read_text().splitlines() if path.exists() else []

    def rows(self, name: str) -> Counter[str]:
        return rows_of([json.loads(line) for line in self.lines(name)])


@pytest.fixture
def site(space: Namespace, folder: Path, tmp_path: Path) -> Iterator[Site]:
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    with inside(space):
        # A tenth of a second may take a block: so many last while who reads stands still.
        settings = LiveSettings(block_bytes=1 << 16)
        sockets = open_packet_sockets(space.far, settings)
    link = LinkSpec(interface="default", device=space.far, sockets=sockets, settings=settings)
    try:
        yield Site(space, folder, link, tcpdump)
    finally:
        for socket in sockets:
            os.close(socket)


def accounted(report: CaptureReport) -> dict[str, int]:
    (source,) = report.sources
    terms = source.undecodable + source.filtered + source.late + source.skew + source.decoded
    assert source.read == terms + source.sampled_out
    assert source.kernel_received == source.read + source.kernel_dropped
    return {"read": source.read, "dropped": source.kernel_dropped, "late": source.late}


def test_others_do_not_notice_sets_that_come_and_go(site: Site) -> None:
    sets = (site.order("frames", FRAMES), site.order("pairs", PAIRS))
    guest = object_of(site.folder, "guest", GUEST, ["default"])
    with site.capturing(sets=sets) as capture:
        with site.traffic(10):
            for _ in range(TIMES):
                assert capture.attach("guest", guest).error is None
                done = capture.done(DetachOrder(number=capture.number(), name="guest"))
                assert done.error is None
        sent = site.tcpdump.stop()
        over = capture.end()
    assert accounted(over.report) == {"read": sent, "dropped": 0, "late": 0}
    assert sent == 10 * DEMO_PACKETS
    for name, text in {"frames": FRAMES, "pairs": PAIRS}.items():
        assert site.rows(name) == answer_of_file(site.tcpdump.path, "-e", text)


@pytest.mark.long
@pytest.mark.parametrize("text", [FRAMES, RECORDS], ids=["windows", "packets"])
def test_a_set_that_is_replaced_by_its_like_gives_every_row_once(site: Site, text: str) -> None:
    """At a window's edge where there are windows, else between two packets."""
    first = site.order("query", text)
    with site.capturing(sets=(first,)) as capture:
        with site.traffic(20):
            for _ in range(8):
                order = replace(first, number=capture.number(), replaces=True)
                assert capture.done(order).error is None
                capture.report()
        sent = site.tcpdump.stop()
        over = capture.end()
    assert accounted(over.report) == {"read": sent, "dropped": 0, "late": 0}
    assert site.rows("query") == answer_of_file(site.tcpdump.path, "-e", text)
    (found,) = over.report.sets
    assert sum(found.rows.values()) == site.rows("query").total()
    assert found.cut_rows == 0


def test_the_window_that_is_running_at_the_start_is_left_out(site: Site) -> None:
    """The one that is running at the end comes."""
    sets = (site.order("frames", FRAMES, "edge"),)
    began = int(time.time())
    with site.traffic(), site.capturing(sets=sets) as capture:
        wait_until(lambda: capture.hear(0.1) and len(site.lines("frames")) > 1, "rows")
        known = len(site.lines("frames"))
        over = capture.end()
    site.tcpdump.stop()
    rows, answer = site.rows("frames"), answer_of_file(site.tcpdump.path, "-e", FRAMES)
    ended = rows.total() - known  # by the end: on a busy host more windows than one are open
    assert over.report.sets[0].cut_rows <= ended
    seconds = [row["tb"] for row in map(json.loads, site.lines("frames"))]
    assert min(seconds) > began
    assert (rows - answer).total() <= 1  # of the second of the end


@pytest.mark.parametrize(
    "has_spool",
    [pytest.param(False, id="alone"), pytest.param(True, id="with-spool", marks=pytest.mark.long)],
)
def test_no_window_comes_twice_where_a_capture_was_killed(site: Site, has_spool: bool) -> None:
    """And each that comes is whole: the next one begins behind what the last has said."""
    frames, promises = site.order("frames", FRAMES, "edge"), dict[str, int]()
    if has_spool:
        spool = output_to(site.folder / "spool", "spool")
        frames = replace(frames, outputs=(*frames.outputs, spool))
    with site.traffic():
        for incarnation in range(4):
            promises = site.killed_amid_rows(
                "frames", sets=(frames,), incarnation=incarnation, promises=promises
            )
    site.tcpdump.stop()
    rows = site.rows("frames")
    seconds = [json.loads(row)["tb"] for row in rows.elements()]
    assert len(seconds) == len(set(seconds)) >= 4
    assert rows <= answer_of_file(site.tcpdump.path, "-e", FRAMES)


def test_under_overload_flows_are_sampled(site: Site) -> None:
    """Where any ring is too full, so that overload needs no luck."""
    overload = OverloadSettings(policy="sample", high_percent=0, most=3)
    with site.capturing(sets=(site.order("frames", FRAMES),), overload=overload) as capture:
        capture.wait(CaptureReport, lambda report: report.sampling_shift == 3)
        with site.traffic(1):
            pass
        sent = site.tcpdump.stop()
        report = capture.end().report
    assert accounted(report) == {"read": sent, "dropped": 0, "late": 0}
    assert 0 < report.sources[0].sampled_out < sent


def test_under_overload_the_least_set_rests(site: Site) -> None:
    """And the others go on."""
    sets = (replace(site.order("frames", FRAMES), priority=1), site.order("pairs", PAIRS))
    overload = OverloadSettings(policy="shed", high_percent=0)
    with site.capturing(sets=sets, overload=overload) as capture:
        capture.wait(CaptureReport, lambda report: any(each.shed for each in report.sets))
        with site.traffic(1):
            pass
        sent = site.tcpdump.stop()
        report = capture.end().report
    assert {each.name: each.shed for each in report.sets} == {"frames": False, "pairs": True}
    assert accounted(report) == {"read": sent, "dropped": 0, "late": 0}
    assert site.rows("frames") == answer_of_file(site.tcpdump.path, "-e", FRAMES)
    assert site.lines("pairs") == []
