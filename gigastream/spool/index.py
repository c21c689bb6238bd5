# SPDX-License-Identifier: Apache-2.0
"""spool.json: the query set that is written now, and which generation of each track."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gigastream.late_dataclass import dataclass, field
from gigastream.spool import layout
from gigastream.spool.files import read_object, replace_json

Port = tuple[str, str]
"""(stream, interface)."""


_IDENTITY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Index:
    """The set's number, and by (stream, interface) the generation that is its newest.

    `since`: the first of the generations with which the newest goes on in time, where that is
    another. `identity` stays the same wherever the spool is moved; None: of an earlier version.
    """

    set_number: int
    generations: Mapping[Port, int] = field(default_factory=dict)
    made_ns: int = 0
    since: Mapping[Port, int] = field(default_factory=dict)
    identity: str | None = None


def new_identity() -> str:
    """Return an identity that no other spool has."""
    return secrets.token_hex(16)


def write_index(root: Path, index: Index) -> None:
    """Replace the index, durable. Raises OSError."""
    value = {
        "format": layout.FORMAT,
        "identity": index.identity,
        "set": index.set_number,
        "made_ns": time.time_ns(),
        "tracks": _by_stream(index.generations),
        "since": _by_stream(index.since),
    }
    replace_json(root / layout.SPOOL, value)


def _by_stream(numbers: Mapping[Port, int]) -> dict[str, dict[str, int]]:
    streams: dict[str, dict[str, int]] = {}
    for (stream, interface), number in sorted(numbers.items()):
        streams.setdefault(stream, {})[interface] = number
    return streams


def read_index(root: Path) -> Index | None:
    """Return the index for a writer, None if there is none that can be read."""
    value = read_object(root / layout.SPOOL)
    try:
        return None if value is None else parse_index(value)
    except ValueError:
        return None


def parse_index(value: Mapping[str, Any]) -> Index:
    """Return what spool.json says. Raises ValueError."""
    layout.check_format(value)
    tracks = value.get("tracks")
    generations = _by_port(tracks, "tracks")
    if not tracks or not all(tracks.values()):  # a writer has one at least, of each stream
        raise ValueError("a stream has no track" if tracks else "no tracks")
    since = _by_port(value.get("since", {}), "since")
    if any(number >= generations.get(port, 0) for port, number in since.items()):
        raise ValueError("a generation goes on with none before it")
    identity, made_ns = value.get("identity"), value.get("made_ns")
    if identity is not None and not (isinstance(identity, str) and _IDENTITY.fullmatch(identity)):
        raise ValueError("no identity")
    if type(made_ns) is not int:
        raise ValueError("no made_ns")
    return Index(_number(value.get("set")), generations, made_ns, since, identity)


def _by_port(streams: object, what: str) -> dict[Port, int]:
    if not isinstance(streams, dict) or not all(isinstance(s, dict) for s in streams.values()):
        raise ValueError(f"no {what}")
    numbers = {
        (stream, interface): _number(number)
        for stream, interfaces in streams.items()
        for interface, number in interfaces.items()
    }
    for name in {name for port in numbers for name in port}:
        if not layout.is_name(name):
            raise ValueError(f"a track cannot be called {name!r}")
    return numbers


def _number(value: object) -> int:
    if type(value) is not int or not 0 < value < 10**18:
        raise ValueError(f"{value!r} is not the number of a folder"[:200])
    return value
