# SPDX-License-Identifier: Apache-2.0
"""gigastream spool ls and verify: what spools hold, and whether it can be read."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gigastream.cli.errors import UsageError, complain
from gigastream.cli.progress import in_bytes
from gigastream.late_dataclass import asdict
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.spool import Spool, Track
    from gigastream.spool.contents import TrackContents
    from gigastream.spool.verification import Verified

_HEADINGS = (
    "stream", "interface", "gen", "segments", "rows", "bytes", "first listed", "last listed",
    "age", "come to", "state", "readers",
)  # fmt: skip
_NUMBERS = range(2, 6)
_SECOND_NS = 10**9
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def list_spools(arguments: argparse.Namespace) -> int:
    """Print what spools hold; 1 where something of one cannot be read."""
    from gigastream.spool.contents import contents_of

    is_sound = True
    for path in arguments.spools:
        spool = open_spool(path, arguments)
        found = [contents_of(track) for track in chosen(spool, arguments)]
        damage = [*spool.damage, *(text for each in found for text in each.damage)]
        is_sound &= not damage
        if arguments.json:
            _print_json(spool, streams=[each.as_json() for each in found], damage=damage)
        else:
            _print_list(spool, found)
            for text in damage:
                complain(text)
    return 0 if is_sound else 1


def verify_spools(arguments: argparse.Namespace) -> int:
    """Print what is damaged in spools; 1 where something is."""
    is_sound = True
    for path in arguments.spools:
        spool = open_spool(path, arguments)
        has_writer = bool(spool.has_writer())
        found = _verify(spool, chosen(spool, arguments), has_writer=has_writer)
        # what is asked of the set alone is said with the rest
        damage = [*_of_set(spool), *spool.damage, *(t for each in found for t in each.findings)]
        is_sound &= not damage
        if arguments.json:
            _print_json(spool, streams=list(map(_verified_json, found)), damage=damage)
        else:
            _print_verified(spool, found, damage)
    return 0 if is_sound else 1


def open_spool(path: str, arguments: argparse.Namespace) -> Spool:
    """Open a spool at a path or URI. Raises SpoolReadError."""
    from gigastream.spool import Access, Spool

    generation = getattr(arguments, "generation", None)
    return Spool(path, generation, Access(arguments.token_file, arguments.ca_file))


def chosen(spool: Spool, arguments: argparse.Namespace) -> list[Track]:
    """Return the generations that are asked for; UsageError where the names fit none."""
    found = spool.kept()
    for option, known in (
        ("stream", {track.stream for track in found}),
        ("interface", {track.interface for track in found}),
    ):
        wanted = getattr(arguments, option)
        if wanted is not None and wanted not in known:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"{spool.path} has no {option} {wanted}", f"there are: {there}")
    return [
        track
        for track in found
        if arguments.stream in (None, track.stream)
        and arguments.interface in (None, track.interface)
    ]


def aligned(rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> Iterator[str]:
    """Yield lines whose columns stand below each other, those of `numbers` to the right."""
    right = set(numbers)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _print_json(spool: Spool, **values: object) -> None:
    head = {"spool": spool.path, "identity": spool.identity, "has_writer": spool.has_writer()}
    print(json.dumps(head | values))


# ---- ls ----


def _print_list(spool: Spool, found: Sequence[TrackContents]) -> None:
    from gigastream.spool.errors import printable

    writer = {True: "a run writes it", False: "nobody writes it", None: "a writer cannot be told"}
    print(f"{printable(spool.path)}: {writer[spool.has_writer()]}")
    rows = [_HEADINGS, *(_cells(each, time.time_ns()) for each in found)]
    print("\n".join(aligned(rows, _NUMBERS)) if found else "no stream")


def _cells(found: TrackContents, now_ns: int) -> tuple[str, ...]:
    last_ns = found.last_made_ns
    return (
        found.stream,
        found.interface,
        str(found.generation),
        f"{found.segments:,}",
        f"{found.rows:,}",
        in_bytes(found.size_bytes),
        _when(found.first_made_ns),
        _when(last_ns),
        "" if last_ns is None else _age(now_ns - last_ns),
        _when(found.come_to_ns),
        "ended" if found.is_ended else "open",
        _readers(found),
    )


def _when(time_ns: int | None) -> str:
    if time_ns is None:
        return ""
    try:
        return datetime.fromtimestamp(time_ns // _SECOND_NS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):  # a damaged line may say anything
        return f"{time_ns} ns"


def _age(age_ns: int) -> str:
    seconds = max(0, age_ns) // _SECOND_NS
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:,} {unit}"
    return f"{seconds} s"


def _readers(found: TrackContents) -> str:
    """Return `spark: 3 behind`: how many segments are kept, and not committed."""
    from gigastream.spool.errors import printable

    if found.readers is None:
        return "unknown"
    behind = (found.last_segment if found.last_segment is not None else -1) + 1
    return ", ".join(
        f"{printable(name)}: {max(0, behind - max(segment, found.first_segment or 0))} behind"
        for name, segment in sorted(found.readers.items())
    )


# ---- verify ----


def _verify(spool: Spool, tracks: Iterable[Track], *, has_writer: bool) -> list[Verified]:
    from gigastream.spool.verification import verify

    return [verify(track, has_writer=has_writer) for track in tracks]


def _of_set(spool: Spool) -> Iterator[str]:
    """Yield what is wrong with what describes the query set."""
    from gigastream.spool import SpoolAwayError, SpoolReadError

    for read in (spool.plan, spool.queries):
        try:
            read()
        except SpoolAwayError:
            raise
        except SpoolReadError as error:
            yield str(error)


def _verified_json(found: Verified) -> dict[str, object]:
    track = found.track
    names = {
        "stream": track.stream,
        "interface": track.interface,
        "generation": track.generation,
    }
    numbers = ("segments", "rows", "size_bytes", "lost_segments", "lost_rows")
    lost = [asdict(each) for each in track.lost]
    return names | {name: getattr(found, name) for name in numbers} | {"lost_by_runs": lost}


def _print_verified(spool: Spool, found: Sequence[Verified], damage: Sequence[str]) -> None:
    for text in damage:
        print(text)
    segments = sum(each.segments for each in found)
    rows, size = sum(each.rows for each in found), sum(each.size_bytes for each in found)
    sound = (
        f"{counted(rows, 'row')} in {counted(segments, 'segment')} of {in_bytes(size)} are sound"
    )
    lost = sum(each.lost_segments for each in found)
    lost_rows = sum(each.lost_rows for each in found)
    tail = f"; lost are {counted(lost_rows, 'row')} in {counted(lost, 'segment')}" if lost else ""
    print(f"{spool.path}: {sound}{tail}" if damage or lost else f"{spool.path}: sound: {sound}")
