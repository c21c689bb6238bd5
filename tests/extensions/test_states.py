# SPDX-License-Identifier: Apache-2.0
"""The STATE of examples/extensions on the paths that sample, against plain Python."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tests.cli.command import gigastream
from tests.extensions.test_aggregates import PACKETS, capture  # noqa: F401
from tests.extensions.traffic import DEFINITIONS, FOLDER, Segment, splitmix64

ASKED = ("--definitions", DEFINITIONS, FOLDER / "samples.gsql")
ROOM = 20
Sampled = tuple[int, int, int, int, int]


def some_pairs(packets: Sequence[Segment]) -> Iterator[Sampled]:
    """Packet by packet: half of the pairs leave whenever there are too many."""
    level = 0
    for minute, each in groupby(packets, lambda packet: packet.minute):
        level, found = max(0, level - 1), Counter[tuple[int, int]]()
        for packet in each:
            if _is_drawn(packet.ports, level):
                found[packet.ports] += 1
            if len(found) > ROOM:
                level += 1
                found = Counter({pair: n for pair, n in found.items() if _is_drawn(pair, level)})
        for pair, packets_ in found.items():
            yield minute, *pair, packets_, 1 << level


def _is_drawn(pair: tuple[int, int], level: int) -> bool:
    return splitmix64(pair[0] << 32 | pair[1]) % (1 << level) == 0


EXPECTED = sorted(some_pairs(PACKETS))


def check(folder: Path) -> None:
    with (folder / "some_pairs.csv").open(newline="") as file:
        _, *found = csv.reader(file)
    assert sorted(tuple(map(int, row)) for row in found) == EXPECTED


def test_some_of_each_minute_are_left() -> None:
    """Of some 240 pairs a minute, nearly all of them once."""
    minutes = Counter(row[0] for row in EXPECTED)
    assert len(minutes) > 3
    assert all(1 <= groups <= ROOM for groups in minutes.values())
    assert {row[4] for row in EXPECTED} >= {16, 32}


def test_a_file(capture: Path, tmp_path: Path) -> None:  # noqa: F811
    done = gigastream("run", *ASKED, "-r", capture, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    check(tmp_path)


def test_a_compiled_object(capture: Path, tmp_path: Path) -> None:  # noqa: F811
    made = tmp_path / "samples.so"
    done = gigastream("compile", *ASKED, "-o", made)
    assert done.code == 0, done.err
    done = gigastream("run", made, "-r", capture, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    check(tmp_path)


def test_a_spool_and_back(capture: Path, tmp_path: Path) -> None:  # noqa: F811
    """The rows of the low level; the state is above it."""
    done = gigastream("run", *ASKED, "-r", capture, "-o", f"spool:{tmp_path / 'spool'}")
    assert done.code == 0, done.err
    words = ("--definitions", DEFINITIONS, "-o", f"csv:{tmp_path}")
    done = gigastream("run", "--spool", tmp_path / "spool", *words)
    assert done.code == 0, done.err
    check(tmp_path)
