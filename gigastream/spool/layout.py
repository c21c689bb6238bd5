# SPDX-License-Identifier: Apache-2.0
"""Where things are in a spool, and the names in it (README.md shows one)."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

FORMAT = 3
READ_FORMATS = (2, FORMAT)
"""Format 3 has room for joint bounds, which 2 knows nothing of: all else is the same."""
SPOOL = "spool.json"
SETS = "sets"
STREAMS = "streams"
PROGRESS = "progress"
DESCRIPTIONS = "streams.json"
PLAN = "plan.json"
QUERIES = "queries.json"
GENERATION = "generation.json"
RETAINED = "retained"
READERS = "readers"
MAKING = ".making-"
"""Begins the name of what is being made: readers see no name with a first dot."""
FIRST_FORMAT_STREAM = "stream.json"
"""By which a spool of format 1 is known: ROOT/stream/interface/generation/stream.json."""

MAX_NAME_BYTES = 200
_NUMBER = re.compile(r"[0-9]{6,18}")
_SEGMENT = re.compile(r"segment-([0-9]{10,18})\.arrows")
_MANIFEST = re.compile(r"manifest-([0-9]{6,18})")


def check_format(value: Mapping[str, Any]) -> None:
    """Raise ValueError for what another version has written, and this one cannot read."""
    found = value.get("format")
    if type(found) is not int or found not in READ_FORMATS:
        known = " and ".join(map(str, READ_FORMATS))
        raise ValueError(
            f"format {found!r}, of which this version reads {known}: "
            "read it with the version that wrote it, or write it again"
        )


def quoted(name: str) -> str:
    """Return a name as one component of a path; a first dot is quoted, too."""
    component = quote(name, safe="")
    return "%2E" + component[1:] if component.startswith(".") else component


def unquoted(component: str) -> str:
    """Return the name that `quoted` made a component of."""
    return unquote(component)


def is_name(name: object) -> bool:
    """Whether something can be the name of a stream or an interface: short text that prints."""
    return (
        isinstance(name, str)
        and name != ""
        and all(unicodedata.category(character)[0] != "C" for character in name)
        and len(quoted(name)) <= MAX_NAME_BYTES
    )


def number_name(number: int) -> str:
    """Return the name of a generation's folder, or of a set's."""
    return f"{number:06d}"


def number_of(name: str) -> int | None:
    """Return the number of such a folder, None for other names."""
    return int(name) if _NUMBER.fullmatch(name) else None


def segment_name(segment: int) -> str:
    return f"segment-{segment:010d}.arrows"


def segment_of(name: str) -> int | None:
    """Return the number of a segment's file, None for other names."""
    match = _SEGMENT.fullmatch(name)
    return int(match[1]) if match else None


def manifest_name(roll: int) -> str:
    return f"manifest-{roll:06d}"


def roll_of(name: str) -> int | None:
    """Return the number of a manifest's file, None for other names."""
    match = _MANIFEST.fullmatch(name)
    return int(match[1]) if match else None


MANIFEST = manifest_name(1)
"""The first of a generation."""


def track_path(stream: str, interface: str) -> str:
    """Return the way from the root to a track's folder."""
    return f"{STREAMS}/{quoted(stream)}/{quoted(interface)}"


def generation_path(stream: str, interface: str, generation: int) -> str:
    """Return the way from the root to a generation's folder."""
    return f"{track_path(stream, interface)}/{number_name(generation)}"


def progress_path(interface: str) -> str:
    """Return the way from the root to an interface's progress."""
    return f"{PROGRESS}/{quoted(interface)}.json"


def canonical(value: Any) -> bytes:
    """Return JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def hash_of(value: Any) -> str:
    """Return the hexadecimal SHA-256 of plain data."""
    return hashlib.sha256(canonical(value)).hexdigest()
