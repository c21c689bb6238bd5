# SPDX-License-Identifier: Apache-2.0
"""H, W and lateness (OPERATORS section 2) against the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture.capture_files import pcap, record
from tests.models.bounds import END, NEVER, Bound
from tests.models.source_time import FileTime, PipeTime, before_opening
from tests.oracle.capture import read_bytes

Driver = Callable[..., list[str]]
Packet = tuple[int, int, int]  # offset, timestamp, flags

NONE, MOST = -(2**63), 2**63 - 1
TIMELY, LATE, TIMELESS = 0, 1, 2
NO_TIME = 1

MODELS = {"blocks": FileTime, "slack": PipeTime, "any": lambda _: FileTime(None)}


def number(bound: Bound) -> int:
    """A bound as the engine holds it."""
    return NONE if bound == NEVER else MOST if bound == END else max(NONE, int(bound))


def expected(packets: list[Packet], rule: str, argument: int, floor: int) -> list[str]:
    model, lines = MODELS[rule](argument), []
    for offset, timestamp, flags in packets:
        timeless = bool(flags & NO_TIME)
        reading = model.read(None if timeless else timestamp, offset)
        promise = max(floor, number(reading.promise))
        late = TIMELESS if timeless else LATE if timestamp < promise else TIMELY
        lines.append(f"{number(reading.high)} {promise} {late}")
    return lines


def observe(
    driver: Driver, packets: list[Packet], rule: str, argument: int, floor: int = NONE
) -> list[str]:
    stdin = "".join("{} {} {}\n".format(*packet) for packet in packets).encode()
    return driver("time", rule, argument, floor, stdin=stdin)


def stream(rng: random.Random) -> list[Packet]:
    """Mostly rising, with steps back, lies, equal times, gaps in the file, timeless packets."""
    packets, offset, now = [], 24, rng.randrange(1000)
    for _ in range(rng.randrange(1, 60)):
        now += rng.choice((0, 1, 1, 2, 5, 40))
        timestamp = now - rng.choice((0, 0, 0, 1, 10, 60))
        timestamp = rng.choice((timestamp,) * 20 + (0, 10**6, MOST - 1))
        packets.append((offset, max(timestamp, 0), rng.choice((0, 0, 0, 0, 2, 4, NO_TIME))))
        offset += rng.choice((16, 16, 20, 50, 200))
    return packets


@pytest.mark.parametrize("rule", MODELS)
@pytest.mark.parametrize("seed", range(40))
def test_against_the_model(driver: Driver, rule: str, seed: int) -> None:
    rng = random.Random(f"{rule} {seed}")
    packets = stream(rng)
    argument = rng.choice((1, 16, 64, 100, 1000, MOST))
    floor = rng.choice((NONE, NONE, 0, 500))
    assert observe(driver, packets, rule, argument, floor) == expected(
        packets, rule, argument, floor
    )


def test_one_lie_raises_nothing(driver: Driver) -> None:
    packets = [(0, 5, 0), (100, MOST, 0), (200, 6, 0), (300, 7, 0)]
    assert observe(driver, packets, "slack", 0)[-1] == "6 6 0"


def test_less_than_two_blocks_promise_nothing(driver: Driver) -> None:
    packets = [(i * 10, 1000 - i, 0) for i in range(20)]
    assert {line.split()[1] for line in observe(driver, packets, "blocks", 100)} == {str(NONE)}


def test_a_step_back_of_less_than_a_block_is_never_late(driver: Driver) -> None:
    rng = random.Random(5)
    offsets = [i * 10 for i in range(400)]
    order = sorted(offsets, key=lambda offset: offset + rng.randrange(100))
    packets = [(offset, timestamp, 0) for offset, timestamp in zip(offsets, order, strict=True)]
    assert {line.split()[2] for line in observe(driver, packets, "blocks", 100)} == {str(TIMELY)}


@pytest.mark.parametrize("seed", range(20))
def test_scanned_promise(driver: Driver, tmp_path: Path, seed: int) -> None:
    """Of a file that is not open: the least of its first two blocks, and H behind them."""
    rng = random.Random(seed)
    times = [100 + i - rng.randrange(30) for i in range(rng.randrange(40))]
    data = pcap(*(record(t, data=bytes(rng.randrange(300))) for t in times))
    data += rng.choice((b"", b"cut"))
    (tmp_path / "file").write_bytes(data)
    block_bytes = rng.choice((1, 100, 1000, 2**64 - 1))
    records = [(r.timestamp_ns, r.file_offset) for r in read_bytes(data).records]
    seen = before_opening(records, block_bytes)
    least, high = (min(MOST, number(bound)) for bound in (seen.least, seen.high))
    (line,) = driver("promise", block_bytes, tmp_path / "file")
    assert line.split()[:3] == ["0", str(least), str(high)]


def test_scanned_promise_of_a_refused_file(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert driver("promise", 100, tmp_path / "file")[0].startswith("4 ")
