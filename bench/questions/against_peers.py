# SPDX-License-Identifier: Apache-2.0
"""How we compare with the tools that people use.

Those that are installed, each as its whole process, on a capture that its speed allows; we and the
reference loop run on the same one beside it.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from context import Bench, rate_ratio, speeds
from measure import DEFAULT_SLOTS_LOG2, loop, ours
from peers import PEERS, Peer
from queries import TALKERS
from report import Figure
from workloads import Capture

TITLE = "Whole path / other tools"
REFERENCE = "reference, read"


def ask(bench: Bench) -> list[Figure]:
    """Rates and ratios for each peer; one that is not installed is said so."""
    return [figure for peer in PEERS for figure in _ask(bench, peer)]


def _ask(bench: Bench, peer: Peer) -> list[Figure]:
    if peer.missing:
        return [Figure(peer.capture, peer.name, None, "Mpacket/s", note=peer.missing)]
    return [
        figure
        for capture in bench.captures([peer.capture])
        for figure in _measure(bench, peer, capture)
    ]


def _measure(bench: Bench, peer: Peer, capture: Capture) -> list[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        turns = bench.in_turn(
            {
                "whole path": ours("whole_path", capture, TALKERS),
                REFERENCE: loop("reference", capture, DEFAULT_SLOTS_LOG2, "--read"),
                peer.name: peer.contender(capture, Path(scratch), bench.time_limit_seconds),
            }
        )
    ratio = rate_ratio(capture, turns, "whole path", (peer.name,), peer.floor, peer.goal)
    by_hand = rate_ratio(capture, turns, REFERENCE, (peer.name,))
    said = f"answers {peer.answers}" if ratio.value else ratio.note
    return [*speeds(capture, turns), replace(ratio, note=said), by_hand]
