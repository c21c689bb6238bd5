# SPDX-License-Identifier: Apache-2.0
"""Real captures sent over a link: the answer is that of tcpdump's capture of the same link.

A few by default, forty with --slow. What a sender refuses of them (frames that are too long, or
shorter than Ethernet's header) nobody receives.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from captures import capture_id, captures

from tests.live.namespace import Namespace, needs, running
from tests.live.test_veth import CONVERSATIONS, Tcpdump, answer_of_file, replay, rows_of

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump")]
SEED = 5
COUNT, BY_DEFAULT = 40, 3
BYTES_MAX = 4 << 20
BYTE_ORDERS = {
    bytes.fromhex("d4c3b2a1"): "little",
    bytes.fromhex("4d3cb2a1"): "little",
    bytes.fromhex("a1b2c3d4"): "big",
    bytes.fromhex("a1b23c4d"): "big",
}
"""The byte order by pcap's first bytes."""


def is_of_ethernet(path: Path) -> bool:
    """By the header of a pcap file."""
    with path.open("rb") as file:
        header = file.read(24)
    order: Any = BYTE_ORDERS.get(header[:4])
    return order is not None and int.from_bytes(header[20:], order) == 1


def chosen() -> list[Any]:
    """Of the captures of Ethernet some, by a fixed seed."""
    small = [path for path in captures("good") if path.stat().st_size < BYTES_MAX]
    ethernet = [path for path in small if is_of_ethernet(path)]
    found = Random(SEED).sample(ethernet, min(COUNT, len(ethernet)))
    return [
        pytest.param(path, id=capture_id(path), marks=() if at < BY_DEFAULT else pytest.mark.slow)
        for at, path in enumerate(found)
    ]


@pytest.mark.long
@pytest.mark.parametrize("capture", chosen())
def test_a_capture(space: Namespace, tmp_path: Path, capture: Path) -> None:
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    with running(space, "-i", space.far, "-e", CONVERSATIONS, folder=tmp_path) as run:
        sent = replay(space, capture, "--pps", "20000")
        tcpdump.stop(sent)
        (source,) = run.stop()["sources"]
        rows = rows_of(run.rows())
    assert sent == source["kernel_received"] == source["read"]
    assert rows == answer_of_file(tcpdump.path, "-e", CONVERSATIONS)
