# SPDX-License-Identifier: Apache-2.0
"""Segments that tasks have left out, since their rows cannot be read: a file each.

A worker's log may be on any machine, and a task may be run twice: a file has the segment's name,
lies in the job's checkpoint, and stays there for all runs of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow
import pyarrow.fs

from gigastream.spool import SegmentDamage, Spool, Track, layout
from spark_sink.errors import tell


def note_damage(folder: str, spool: str, track: Track, damage: SegmentDamage) -> None:
    """Write down a segment of a spool; where that fails, it is told."""
    try:
        system, path = _place(folder, Spool(spool).identity or spool, track)
        system.create_dir(path, recursive=True)
        with system.open_output_stream(f"{path}/{damage.segment}") as stream:
            stream.write(json.dumps({"rows": damage.rows}).encode())
    except (OSError, pyarrow.ArrowInvalid) as error:
        tell(f"note: {folder}: {error}: the account will not have this segment")


def damaged_segments(folder: str, spool: str, track: Track) -> Mapping[int, int]:
    """By number, the rows of a track's segments that were left out. Raises OSError."""
    system, path = _place(folder, spool, track)
    found = system.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True))
    return {int(f.base_name): _rows(system, f.path) for f in found if f.base_name.isdecimal()}


def _rows(system: pyarrow.fs.FileSystem, path: str) -> int:
    with system.open_input_stream(path) as stream:
        try:
            return int(json.loads(stream.read())["rows"])
        except (ValueError, LookupError, TypeError):  # it was cut when a machine went down
            return 0


def _place(folder: str, spool: str, track: Track) -> tuple[pyarrow.fs.FileSystem, str]:
    is_here = "://" not in folder
    system, root = (
        (pyarrow.fs.LocalFileSystem(), folder)
        if is_here
        else pyarrow.fs.FileSystem.from_uri(folder)
    )
    below = layout.generation_path(track.stream, track.interface, track.generation)
    return system, f"{root}/{layout.quoted(spool)}/{below}"
