# SPDX-License-Identifier: Apache-2.0
"""The source's options: named, checked before anything is opened, answered with a hint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from gigastream.spool import NO_ACCESS, Access
from spark_sink.admission import Limits
from spark_sink.errors import SpoolSourceError
from spark_sink.segments import Slice
from spark_sink.silences import GO_ON, STOP

_TABLE = (
    "a table is made by CREATE TABLE … USING gigastream LOCATION '/var/spool/…', without columns"
)
EARLIEST = "earliest"
LATEST = "latest"


@dataclass(frozen=True)
class SourceOptions:
    """What a query asks of its spools."""

    paths: tuple[str, ...]
    stream: str | None = None
    interfaces: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    generation: int | None = None
    starting_at: str | int = EARLIEST
    limits: Limits = field(default_factory=Limits)
    partitions: int | None = None
    inside: frozenset[str] = frozenset()
    """The types of GSQL whose values are wanted as they are inside."""
    heartbeats: bool = True
    fails_on_damage: bool = True
    damage_log: str | None = None
    reader: str | None = None
    idle_after_s: int | None = None
    on_idle: str = GO_ON
    access: Access = NO_ACCESS
    segments: tuple[tuple[Slice, ...], ...] | None = None
    """By task, what is to be read; None: all that there is."""


def access_of(given: Mapping[str, str]) -> Access:
    """What opens other hosts' spools, of the same options."""
    names = {name.lower(): text for name, text in given.items()}
    return Access(names.get("tokenfile"), names.get("cafile"))


def parse(given: Mapping[str, str]) -> SourceOptions:
    """Read the options of `readStream`; SourceError for one that is unknown, wrong or missing."""
    values = {_known(name): _parsed(name, text) for name, text in given.items()}
    paths = _paths(values)
    return SourceOptions(
        paths=paths,
        stream=values.get("stream"),
        interfaces=values.get("interfaces"),
        columns=values.get("columns"),
        generation=values.get("generation"),
        starting_at=values.get("startingat", EARLIEST),
        limits=Limits(
            values.get("maxrowspertrigger"),
            values.get("maxsegmentspertrigger"),
            values.get("maxbytespertrigger"),
        ),
        partitions=values.get("partitions"),
        inside=_inside(values),
        heartbeats=values.get("heartbeats", True),
        fails_on_damage=values.get("ondamage") != "skip",
        damage_log=values.get("damagelog"),
        reader=values.get("reader"),
        idle_after_s=values.get("idleafterseconds"),
        on_idle=values.get("onidle", GO_ON),
        access=access_of(given),
        segments=values.get("segments"),
    )


def _inside(values: Mapping[str, Any]) -> frozenset[str]:
    wanted = (types for name, (choice, types) in _INSIDE.items() if values.get(name) == choice)
    return frozenset[str]().union(*wanted)


_INSIDE = {
    "timestamps": ("nanoseconds", ("timestamp",)),
    "unsigned": ("bits", ("ullong",)),
    "strings": ("bytes", ("string",)),
    "addresses": ("bytes", ("IP", "IPV6", "INET")),
}


def _known(name: str) -> str:
    if name.lower() in _PARSERS:
        return name.lower()
    close = get_close_matches(name.lower(), _PARSERS, n=1, cutoff=0.5)
    names = ", ".join(spelling for spelling, _ in _OPTIONS)
    hint = f"did you mean {_SPELLINGS[close[0]]}?" if close else f"the options are {names}"
    raise SpoolSourceError(f"the source gigastream has no option {name}", hint)


def _parsed(name: str, text: str) -> Any:
    try:
        return _PARSERS[name.lower()](text)
    except ValueError as error:
        spelling = _SPELLINGS[name.lower()]
        raise SpoolSourceError(f"option {spelling}: {text!r} is not {error}") from None


def _paths(values: Mapping[str, Any]) -> tuple[str, ...]:
    if ("path" in values) == ("paths" in values):
        message = "the source gigastream needs the path of a spool"
        hint = 'give it as .load("/var/spool/…"), or several as a list'
        raise SpoolSourceError(message, f"{hint}; {_TABLE}")
    return values["paths"] if "paths" in values else (values["path"],)


def _text(text: str) -> str:
    if not text:
        raise ValueError("a name")
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("a whole number greater than 0")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    """A JSON list, or names with commas between them; no name is an empty list."""
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        names = json.loads(text)
    except json.JSONDecodeError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("a list of names: a,b or a JSON list")
    return tuple(names)


def _some_names(text: str) -> tuple[str, ...]:
    names = _names(text)
    if not names:
        raise ValueError("a list of names, which needs one at least")
    return names


def _slices(text: str) -> tuple[tuple[Slice, ...], ...]:
    """What `slices_text` made."""
    return tuple(tuple(map(Slice.from_values, part)) for part in json.loads(text))


def slices_text(parts: Iterable[Iterable[Slice]]) -> str:
    """Slices by task, for the option `segments`."""
    return json.dumps([[piece.to_values() for piece in part] for part in parts])


def _starting_at(text: str) -> str | int:
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    if text.isdecimal():
        return int(text)
    raise ValueError(f"{EARLIEST}, {LATEST} or the number of a segment")


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse_choice(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(" or ".join(choices))
        return text.lower()

    return parse_choice


def _is_true(text: str) -> bool:
    return _one_of("true", "false")(text) == "true"


_OPTIONS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("path", _text),
    ("paths", _some_names),
    ("stream", _text),
    ("interfaces", _some_names),
    ("columns", _names),
    ("generation", _count),
    ("startingAt", _starting_at),
    ("maxRowsPerTrigger", _count),
    ("maxSegmentsPerTrigger", _count),
    ("maxBytesPerTrigger", _count),
    ("partitions", _count),
    ("timestamps", _one_of("microseconds", "nanoseconds")),
    ("unsigned", _one_of("decimal", "bits")),
    ("strings", _one_of("text", "bytes")),
    ("addresses", _one_of("text", "bytes")),
    ("heartbeats", _is_true),
    ("onDamage", _one_of("skip", "fail")),
    ("damageLog", _text),
    ("reader", _text),
    ("idleAfterSeconds", _count),
    ("onIdle", _one_of(GO_ON, STOP)),
    ("tokenFile", _text),
    ("caFile", _text),
    ("segments", _slices),
)
_PARSERS = {name.lower(): parser for name, parser in _OPTIONS}
_SPELLINGS = {name.lower(): name for name, _ in _OPTIONS}
