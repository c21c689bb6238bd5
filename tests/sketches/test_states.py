# SPDX-License-Identifier: Apache-2.0
"""Sketches: their promises over many seeds, their merges, and bytes that are none of theirs."""

from __future__ import annotations

import ctypes
import random
from collections import Counter

import pytest

from tests.sketches.states import U64, Sketch, load

SEEDS = 1_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("sketches"))


@pytest.mark.parametrize(
    ("count", "bound", "share"), [(10, 0.0, 0.95), (100, 0.02, 0.9), (20_000, 0.02, 0.75)]
)
def test_distinct_counts(library: ctypes.CDLL, count: int, bound: float, share: float) -> None:
    """Of 1.6 % standard error: within 2 % in 78 of 100 cases, within 5 % nearly always."""
    assert library.hll_within(count, SEEDS, bound or 0.05) >= share * SEEDS
    assert library.hll_within(count, SEEDS, 0.06) >= 0.98 * SEEDS


@pytest.mark.parametrize("rank", [0.01, 0.5, 0.9])
def test_quantiles(library: ctypes.CDLL, rank: float) -> None:
    """Within 1 % of rank in 99 of 100 cases."""
    assert library.kll_within(20_000, SEEDS, rank, 0.01) >= 0.99 * SEEDS


def _parts(chance: random.Random, values: list[int]) -> list[list[int]]:
    cuts = sorted(chance.randrange(len(values) + 1) for _ in range(chance.randrange(6)))
    return [values[a:b] for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_merged_is_as_of_all(library: ctypes.CDLL, seed: int) -> None:
    chance = random.Random(seed)
    count = int(10 ** chance.uniform(0, 4.3))
    values = [chance.randrange(1 + int(10 ** chance.uniform(0, 5))) for _ in range(count)]
    whole = {kind: Sketch(library, kind) for kind in ("hll", "kll", "frequent")}
    merged = {kind: Sketch(library, kind) for kind in whole}
    for kind, sketch in whole.items():
        sketch.add(values)
        for part in _parts(chance, values):
            other = Sketch(library, kind)
            other.add(part)
            merged[kind].merge(other)
        assert sketch.is_valid
        assert merged[kind].is_valid
    assert merged["hll"].memory.raw == whole["hll"].memory.raw
    for rank in (0.0, 0.25, 0.5, 0.99, 1.0):
        _check_rank(sorted(values), merged["kll"]("quantile", rank), rank)
    _check_counts(merged["frequent"], values)


def _check_rank(ordered: list[int], found: float, rank: float) -> None:
    below = sum(value < found for value in ordered) / len(ordered)
    upto = sum(value <= found for value in ordered) / len(ordered)
    assert below - 0.02 <= rank <= upto + 0.02
    if len(ordered) <= 280:  # no level was ever full
        assert below < rank <= upto or found == ordered[0]


def _check_counts(sketch: Sketch, values: list[int]) -> None:
    offset = sketch("offset")
    assert offset <= len(values) / 256
    for value, count in Counter(values).items():
        assert count - offset <= sketch("weight", U64(value)) <= count


@pytest.mark.parametrize("kind", ["hll", "kll", "frequent"])
def test_bytes_that_are_no_sketch(library: ctypes.CDLL, kind: str) -> None:
    """What is_valid accepts can be merged and asked, whatever else its bytes are."""
    chance = random.Random(7)
    sketch = Sketch(library, kind)
    sketch.add(range(3_000))
    whole, accepted = sketch.memory.raw, 0
    for _ in range(3_000):
        other = Sketch(library, kind)
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 63, 64, 128, 255))
        other.memory.raw = bytes(changed)
        if other.is_valid:
            accepted += 1
            merged = Sketch(library, kind)
            merged.add(range(1_000))
            merged.merge(other)
            merged.merge(other)
    assert accepted < 3_000
    nothing = Sketch(library, kind)
    for fill in (0, 255):
        nothing.memory.raw = bytes([fill]) * len(whole)
        assert not nothing.is_valid or (kind == "frequent" and fill == 0)


def test_more_than_all_levels_are_told(library: ctypes.CDLL) -> None:
    greatest, merged = Sketch(library, "kll"), Sketch(library, "kll")
    greatest("greatest")
    assert greatest.is_valid
    for _ in range(20):
        merged.merge(greatest)
    assert merged("is_overfull")
    assert not merged.is_valid


def test_registers_that_are_forged_full_are_a_number(library: ctypes.CDLL) -> None:
    """Whoever chooses addresses knows the hash, and may fill all of them."""
    sketch, full = Sketch(library, "hll"), bytes([63]) * 4096
    sketch.memory.raw = sketch.memory.raw[:40] + full
    assert 0 < sketch("estimate") <= 2.0**62
