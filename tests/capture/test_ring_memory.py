# SPDX-License-Identifier: Apache-2.0
"""The walk over a ring's blocks under the sanitizers: whole blocks, full rings, blocks that lie."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

Driver = Callable[..., list[str]]
BLOCK_BYTES = 4096
HEADERS_BYTES = 256
"""Of a block: its own header and the first packet's."""


def run(driver: Driver, commands: Sequence[str], blocks: int = 3, burst: int = 7) -> list[str]:
    return driver(BLOCK_BYTES, blocks, burst, stdin="\n".join(commands).encode())


def received(rng: random.Random) -> str:
    caplen = rng.choice([0, 1, 11, 12, 13, 14, 60, 1500, 3900, 5000])
    return f"receive {rng.randrange(1, 1 << 60)} {caplen} {caplen + rng.randrange(3)} " + str(
        rng.choice([-1, -1, 0, 7, 65535])
    )


def checksum(data: bytes) -> int:
    total = 0
    for byte in data:
        total = (total * 31 + byte) % (1 << 32)
    return total


def shown(command: str, number: int) -> str:
    """The line of a packet that came in by a command, as the capture stage must give it."""
    timestamp, caplen, length, tag = map(int, command.split()[1:])
    data = bytes((i * 7 + length) % 256 for i in range(caplen))
    more = 4 if tag >= 0 and caplen >= 12 else 0
    if more:
        data = data[:12] + b"\x81\x00" + tag.to_bytes(2, "big") + data[12:]
    return f"{number} {timestamp} {caplen + more} {length + more} {checksum(data):08x}"


@pytest.mark.parametrize("seed", range(20))
def test_all_that_found_room_is_given_in_order(ring_driver: Driver, seed: int) -> None:
    rng = random.Random(seed)
    commands = [
        rng.choice(["retire", "read", *[received(rng)] * 6]) for _ in range(rng.randrange(300))
    ]
    lines = run(ring_driver, [*commands, "finish", "read", "counts"], blocks=rng.randrange(2, 6))
    receives = [command for command in commands if command.startswith("receive")]
    took = [line for line in lines if line in ("0", "1")]
    kept = [c for c, answer in zip(receives, took, strict=True) if answer == "1"]
    assert [line for line in lines if line.count(" ") == 4] == [
        shown(command, number) for number, command in enumerate(kept)
    ]
    assert lines[-2] == "end"
    assert lines[-1].split()[:2] == [str(len(receives)), str(len(receives) - len(kept))]


@pytest.mark.parametrize("seed", range(60))
def test_blocks_that_lie_are_not_believed(ring_driver: Driver, seed: int) -> None:
    """Whatever a block says of itself, nothing outside of it is read."""
    rng = random.Random(seed)
    commands = []
    for _ in range(40):
        commands += [received(rng) for _ in range(rng.randrange(4))]
        for _ in range(rng.randrange(4)):
            offset = rng.choice([rng.randrange(HEADERS_BYTES), rng.randrange(BLOCK_BYTES)])
            commands.append(f"poke {offset} {rng.choice([0, 1, 0x7F, 0x80, 0xFF])}")
        commands += [rng.choice(["retire", "read"])]
    run(ring_driver, [*commands, "read"])
