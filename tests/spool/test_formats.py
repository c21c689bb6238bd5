# SPDX-License-Identifier: Apache-2.0
"""Spools of other formats: the one before is read and gone on with; what is newer is refused.

`format_2` was written by the last version that wrote it, in two runs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gigastream.punctuation import JointBound
from gigastream.spool import END, NOTHING, Spool, SpoolReadError, SpoolWriter
from gigastream.spool.layout import SPOOL
from tests.spool.made import BY_HAND, all_numbers, only_track, open_track, rows, write_run

FORMAT_2 = Path(__file__).with_name("format_2")


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FORMAT_2, tmp_path / "spool"))


def test_format_2_is_read() -> None:
    track = only_track(FORMAT_2)
    assert all_numbers(track) == list(range(7))
    assert not track.damage
    assert [entry.joint for entry in track.entries] == [None] * 5


def test_format_2_is_gone_on_with(older: Path) -> None:
    """In the same generation; the spool is of the newer format then."""
    write_run(older, 4, end=True)
    assert json.loads((older / SPOOL).read_text())["format"] == 3
    track = only_track(older)
    assert (track.generation, all_numbers(track), track.is_ended) == (1, list(range(11)), True)
    assert not track.damage


def test_a_newer_format_is_refused(older: Path) -> None:
    for path in older.rglob("*.json"):
        path.write_text(path.read_text().replace('"format": 2', '"format": 4'))
    with pytest.raises(SpoolReadError, match="format 4, of which this version reads 2 and 3"):
        Spool(older)


# The joint bound

FIRST, SECOND, OTHER = (JointBound((0, 1), bounds) for bounds in ((5, -6), (7, -6), (9, -9)))


def test_joint_bounds_come_back(tmp_path: Path) -> None:
    """With segments, behind the last of them, and after the run: a greater one replaces another."""
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        track.write(rows(0, 3), (NOTHING, NOTHING), NOTHING, 0, joint=FIRST)
        track._cut()
        track.write(None, (NOTHING, NOTHING), NOTHING, 1, joint=SECOND)
        track.write(None, (NOTHING, NOTHING), NOTHING, 2, joint=OTHER)
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        assert track.resume.joint == SECOND
        track.write(None, (END, END), END, 3, is_end=True)
    kept = only_track(tmp_path)
    kept.poll()
    assert [(entry.kind, entry.joint) for entry in kept.entries] == [
        ("run", None),
        ("segment", FIRST),
        ("punctuation", SECOND),
        ("run", SECOND),
        ("end", SECOND),
    ]


def test_progress_tells_of_joint_bounds(tmp_path: Path) -> None:
    """Of a track that has no manifest yet."""
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        track.write(None, (NOTHING, NOTHING), NOTHING, 0, joint=FIRST)
    assert [entry.joint for entry in only_track(tmp_path).poll()] == [FIRST]


def test_a_joint_bound_is_of_64_bits(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        with pytest.raises(ValueError, match="64-bit"):
            track.write(None, (1, NOTHING), 1, 0, joint=JointBound((0, 1), (1 << 63, 0)))
