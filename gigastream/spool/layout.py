# SPDX-License-Identifier: Apache-2.0
"""Where things are in a spool: ROOT/stream/interface/generation/, and the names in it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any
from urllib.parse import quote, unquote

FORMAT = 1
STREAM = "stream.json"
PLAN = "plan.json"
QUERIES = "queries.json"
MANIFEST = "manifest"
RETAINED = "retained"
READERS = "readers"
MAKING = ".making-"
"""Begins the name of a generation that is being made: readers see no name with a first dot."""

_GENERATION = re.compile(r"[0-9]{6,18}")
_SEGMENT = re.compile(r"segment-([0-9]{10,18})\.arrows")


def quoted(name: str) -> str:
    """Return a name as one component of a path; a first dot is quoted, too."""
    component = quote(name, safe="")
    return "%2E" + component[1:] if component.startswith(".") else component


def unquoted(component: str) -> str:
    """Return the name that `quoted` made a component of."""
    return unquote(component)


def generation_name(generation: int) -> str:
    return f"{generation:06d}"


def generation_of(name: str) -> int | None:
    """Return the number of a generation's folder, None for other names."""
    return int(name) if _GENERATION.fullmatch(name) else None


def segment_name(segment: int) -> str:
    return f"segment-{segment:010d}.arrows"


def segment_of(name: str) -> int | None:
    """Return the number of a segment's file, None for other names."""
    match = _SEGMENT.fullmatch(name)
    return int(match[1]) if match else None


def canonical(value: Any) -> bytes:
    """Return JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def query_set_hash(plan: dict[str, Any]) -> str:
    """Return the hexadecimal SHA-256 that names a query set."""
    return hashlib.sha256(canonical(plan)).hexdigest()
