# SPDX-License-Identifier: Apache-2.0
"""Segments that are listed and not there yet, as in a spool that is being copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.spool.arrivals import PATIENCE_SECONDS, Arrivals
from gigastream.spool.layout import segment_name
from tests.spool.made import folder_of, numbers, only_track, write_run


class Copy:
    """A spool of three segments, of which the second is on its way, and a clock to be moved."""

    def __init__(self, root: Path) -> None:
        write_run(root, 2, 2, 2, end=True)
        self.segment = folder_of(root) / segment_name(1)
        self.content = self.segment.read_bytes()
        self.segment.unlink()
        self.now_s = 100.0
        self.track = only_track(root).track
        self.arrivals = Arrivals(clock=lambda: self.now_s)

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.arrivals.poll(self.track)]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_what_is_on_its_way_is_waited_for_with_all_behind_it(copy: Copy) -> None:
    assert copy.kinds() == ["run", "segment"]
    for size in range(0, len(copy.content), len(copy.content) // 3):
        copy.now_s += PATIENCE_SECONDS - 1
        copy.segment.write_bytes(copy.content[:size])
        assert copy.kinds() == []
        assert copy.arrivals.are_awaited
    copy.segment.write_bytes(copy.content)
    (second, third, end) = copy.arrivals.poll(copy.track)
    assert numbers(copy.track, second) + numbers(copy.track, third) == [2, 3, 4, 5]
    assert end.kind == "end"
    assert not copy.arrivals.are_awaited


def test_another_thing_that_comes_is_a_sign_of_life(copy: Copy) -> None:
    copy.kinds()
    for name in ("a", "b", "c"):
        copy.now_s += PATIENCE_SECONDS - 1
        (copy.segment.parent / name).touch()
        assert copy.kinds() == []


def test_where_nothing_comes_it_is_lost_and_the_rest_is_read(copy: Copy) -> None:
    copy.kinds()
    copy.now_s += PATIENCE_SECONDS - 1
    assert copy.kinds() == []
    copy.now_s += 1
    assert copy.kinds() == ["segment", "segment", "end"]


def test_what_retention_has_deleted_is_not_waited_for(copy: Copy) -> None:
    (copy.segment.parent / "retained").write_text(
        '{"first": 2, "segments": 2, "rows": 4, "size_bytes": 0}'
    )
    assert copy.kinds() == ["run", "segment", "segment", "segment", "end"]
