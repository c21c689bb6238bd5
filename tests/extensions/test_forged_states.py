# SPDX-License-Identifier: Apache-2.0
"""States in a spool are anybody's bytes: what is none is no value, counted, and breaks nothing."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import Result, gigastream
from tests.extensions.forged import Change, forge
from tests.extensions.traffic import DEFINITIONS

QUERY = """
SELECT tb, count(*) AS packets, distinct_about(destPort, 8) AS ports,
    size_quantile(len, 0.5) AS middle
FROM TCP GROUP BY time/60 AS tb, srcIP, destIP
"""
NAMED = ("--definitions", DEFINITIONS)


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("forged") / "spool"
    words = ("--slots", "1", "--segment-rows", "20", "-o", f"spool:{root}")
    done = gigastream("run", *NAMED, "-e", QUERY, "-r", DEMO_CAPTURE, *words)
    assert done.code == 0, done.err
    return root


def answered(spool: Path, folder: Path, change: Change) -> tuple[Result, int]:
    """What a forged spool gives, and how many rows it has."""
    root = folder / "spool"
    shutil.copytree(spool, root)
    rows = forge(root, change)
    done = gigastream("run", *NAMED, "--spool", root, "-o", "csv")
    assert done.code == 0, done.err
    return done, rows


def no_values(done: Result) -> int:
    """How many rows the aggregation has dropped."""
    found = re.search(r"\(aggregate\).* no value ([0-9,]+)", done.err)
    return 0 if found is None else int(found[1].replace(",", ""))


def test_as_they_are(spool: Path, tmp_path: Path) -> None:
    done, rows = answered(spool, tmp_path, lambda state: state)
    plain = gigastream("run", *NAMED, "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv")
    assert sorted(done.lines) == sorted(plain.lines)
    assert rows > 50
    assert no_values(done) == 0


@pytest.mark.parametrize("fill", [0, 0xFF])
def test_none_is_a_state(fill: int, spool: Path, tmp_path: Path) -> None:
    """Rows of them are dropped, and no group is left."""
    done, rows = answered(spool, tmp_path, lambda state: bytes([fill]) * len(state))
    assert len(done.lines) == 1
    assert no_values(done) == rows


def test_some_are_no_states(spool: Path, tmp_path: Path) -> None:
    rng = random.Random(5)

    def change(state: bytes) -> bytes:
        return rng.randbytes(len(state)) if rng.random() < 0.3 else state

    done, rows = answered(spool, tmp_path, change)
    assert 0 < no_values(done) < rows
    assert len(done.lines) > 1
