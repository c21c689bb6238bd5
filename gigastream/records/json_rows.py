# SPDX-License-Identifier: Apache-2.0
"""JSON lines: an object a line, whose keys are the fields' names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gigastream.records.lines import lines
from gigastream.records.record_input import RecordInput
from gigastream.records.values import MISSING, shown


def rows(source: RecordInput, names: Sequence[str]) -> Iterator[tuple[int, Sequence[object] | str]]:
    """Yield the fields of each object, or what is wrong with it, with the number of its line."""
    wanted = [(name, name.lower()) for name in names]
    for number, line in enumerate(lines(source), 1):
        if isinstance(line, str):
            yield number, line
        elif line.strip():
            yield number, _fields(line, wanted)


def _fields(line: bytes, wanted: Sequence[tuple[str, str]]) -> Sequence[object] | str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return f"{shown(line)} is no JSON"
    if not isinstance(found, dict):
        return f"{shown(line)} is no object"
    if any(name not in found for name, _ in wanted):
        lower = {key.lower(): value for key, value in found.items()}
        return [found.get(name, lower.get(key, MISSING)) for name, key in wanted]
    return [found[name] for name, _ in wanted]
