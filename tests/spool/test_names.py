# SPDX-License-Identifier: Apache-2.0
"""Columns of one name, as earlier versions wrote them: no reader is given one for the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.spool import Spool, SpoolReadError
from tests.spool.made import write_named


@pytest.mark.parametrize("second", ["count0", "Count0"])
def test_columns_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    write_named(tmp_path, "count0", second)
    spool = Spool(tmp_path)
    (track,) = spool.tracks()
    (entry,) = [entry for entry in track.poll() if entry.is_segment]
    for asked in (lambda: list(track.read(entry)), lambda: spool.check_names("flows")):
        with pytest.raises(
            SpoolReadError, match="two columns of its stream flows are called count0"
        ):
            asked()


def test_other_names_are_not(tmp_path: Path) -> None:
    write_named(tmp_path, "count0", "count0_2")
    spool = Spool(tmp_path)
    spool.check_names("flows")
    (track,) = spool.tracks()
    read = [batch for entry in track.poll() for batch in track.read(entry)]
    assert [batch.schema.names for batch in read] == [["count0", "count0_2"]]


def test_a_schema_of_other_columns_is_damage(tmp_path: Path) -> None:
    write_named(tmp_path, "a", "b")
    (descriptions,) = tmp_path.glob("sets/*/streams.json")
    descriptions.write_text(descriptions.read_text().replace('"name": "b"', '"name": "c"'))
    spool = Spool(tmp_path)
    assert not spool.tracks()
    assert "flows has other columns in its schema" in spool.damage[0]
