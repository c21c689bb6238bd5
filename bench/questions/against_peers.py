# SPDX-License-Identifier: Apache-2.0
"""How we compare with the tools that people use.

Those that are installed, each as its whole process, on a capture that its speed allows; we and the
reference loop run on the same one beside it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from context import Bench, rate_ratio, speeds
from measure import DEFAULT_SLOTS_LOG2, command, loop, ours
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Whole path / other tools"
REFERENCE = "reference, read"


@dataclass(frozen=True)
class Peer:
    """A tool, the capture it can finish, and how it is told to do its nearest to our query."""

    name: str
    capture: str
    words: Callable[[Path, Path], list[str]]
    floor: float | None = None
    goal: float | None = None


def _tcpdump(capture: Path, _scratch: Path) -> list[str]:
    return ["tcpdump", "-nr", str(capture), "-w", "/dev/null"]


def _nfpcapd(capture: Path, scratch: Path) -> list[str]:
    return ["nfpcapd", "-r", str(capture), "-w", str(scratch), "-t", "60", "-e", "60,60"]


def _softflowd(capture: Path, scratch: Path) -> list[str]:
    files = ["-p", str(scratch / "pid"), "-c", "none"]  # with a control socket it may never end
    limits = ["-T", "ip", "-m", "1000000", "-t", "maxlife=60"]
    return ["softflowd", "-d", "-r", str(capture), *files, *limits, "-n", "127.0.0.1:9"]


def _tshark(capture: Path, _scratch: Path) -> list[str]:
    return ["tshark", "-n", "-q", "-r", str(capture), "-z", "conv,ip"]


PEERS = (
    Peer("tcpdump", "uniform-260k", _tcpdump, 1.0, 1.5),
    Peer("nfpcapd", "tenth-26k", _nfpcapd, 20, 35),
    Peer("softflowd", "tenth-26k", _softflowd),
    Peer("tshark", "fiftieth-5k", _tshark),
)


def ask(bench: Bench) -> list[Figure]:
    """Rates and ratios for each peer; one that is not installed is said so."""
    return [figure for peer in PEERS for figure in _ask(bench, peer)]


def _ask(bench: Bench, peer: Peer) -> list[Figure]:
    if shutil.which(peer.name) is None:
        return [Figure(peer.capture, peer.name, None, "Mpacket/s", note="not installed")]
    return [
        figure
        for capture in bench.captures([peer.capture])
        for figure in _measure(bench, peer, capture)
    ]


def _measure(bench: Bench, peer: Peer, capture: Capture) -> list[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        words = peer.words(capture.path, Path(scratch))
        turns = bench.in_turn(
            {
                "whole path": ours("whole_path", capture, TALKERS),
                REFERENCE: loop("reference", capture, DEFAULT_SLOTS_LOG2, "--read"),
                peer.name: command(words, capture, bench.time_limit_seconds),
            }
        )
    ratio = rate_ratio(capture, turns, "whole path", (peer.name,), peer.floor, peer.goal)
    by_hand = rate_ratio(capture, turns, REFERENCE, (peer.name,))
    return [*speeds(capture, turns), ratio, by_hand]
