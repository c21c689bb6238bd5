# SPDX-License-Identifier: Apache-2.0
"""Apache DataSketches reads our sketches, and hashes as we do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

import gigastream
from tests.captures import DEMO_CAPTURE
from tests.sketches.states import PLACE, U64, Sketch, load

datasketches = pytest.importorskip("datasketches")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("sketches"))


@pytest.mark.parametrize("count", [0, 3, 3_000, 100_000])
def test_registers_are_the_same(library: ctypes.CDLL, count: int) -> None:
    ours = Sketch(library, "hll")
    theirs = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
    ours.add(range(count))
    for value in range(count):
        theirs.update(value)
    read = datasketches.hll_sketch.deserialize(ours.memory.raw)
    assert read.get_estimate() == pytest.approx(count, rel=0.06, abs=0.5)
    union = datasketches.hll_union(12)
    union.update(theirs)
    union.update(read)
    assert union.get_estimate() == pytest.approx(read.get_estimate(), rel=0.001, abs=0.01)
    if count > 1_000:
        assert theirs.serialize_updatable()[40:] == ours.memory.raw[40:]


def test_texts_hash_alike(library: ctypes.CDLL) -> None:
    ours, theirs = Sketch(library, "hll"), datasketches.hll_sketch(12)
    for number in range(1, 300):
        text = f"{'n' * (number % 40)}{number}"
        theirs.update(text)
        ours("add_bytes", text.encode(), U64(len(text)))
    union = datasketches.hll_union(12)
    union.update(theirs)
    before = union.get_estimate()
    union.update(datasketches.hll_sketch.deserialize(ours.memory.raw))
    assert union.get_estimate() == pytest.approx(before, rel=0.02)


def test_a_part_is_a_sketch_too(library: ctypes.CDLL) -> None:
    memory = ctypes.create_string_buffer(library.hll_part_size())
    values = (ctypes.c_uint64 * 20)(*(number % 15 for number in range(20)))
    assert library.hll_part(memory, values, U64(20)) == 15
    read = datasketches.hll_sketch.deserialize(memory.raw[: 12 + 4 * 15])
    assert read.get_estimate() == pytest.approx(15, rel=0.001)


@pytest.mark.parametrize("count", [0, 1, 200, 100_000])
def test_quantiles_are_read_back(library: ctypes.CDLL, count: int) -> None:
    ours = Sketch(library, "kll")
    ours.add(float(value * 7919 % count) for value in range(count))
    room = ctypes.create_string_buffer(20_000)
    size = ours("bytes", PLACE(ctypes.addressof(room)))
    read = datasketches.kll_doubles_sketch.deserialize(room.raw[:size])
    assert read.n == count
    for rank in (0.1, 0.5, 0.9) if count else ():
        assert read.get_quantile(rank, True) == ours("quantile", rank)


def test_sketches_of_a_query() -> None:
    query = """SELECT h, hll_sketch(srcIP) AS hosts, quantile_sketch(len) AS sizes,
        count(*) AS packets FROM IPV4 GROUP BY time/100000 AS h"""
    (batch,) = gigastream.run(query, Path(DEMO_CAPTURE))
    (row,) = batch.to_pylist()
    assert round(datasketches.hll_sketch.deserialize(row["hosts"]).get_estimate()) == 8
    assert datasketches.kll_doubles_sketch.deserialize(row["sizes"]).n == row["packets"]
