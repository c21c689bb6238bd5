# SPDX-License-Identifier: Apache-2.0
"""Tables that a set has as outputs: what a user may name, and where they may lie.

A table is filled from the set's spool by a loader. Places on other hosts are the administrator's to
name, in the configuration: who may ask the daemon is not thereby to reach what its host can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec
from gigastream.daemon.places import SET_NAME, OutputPlaces, is_spool, no_disk, normal
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.sinks import SINKS, TABLE_MARK, SinkError, SinkPlace, is_sink, parse_sink_place
from gigastream.sinks.secrets import names_secret

_SECRETS = {"postgres": "PGPASSWORD, PGPASSFILE or PGSERVICEFILE in the daemon's environment"}
_REMOTE = "://"
_REMOTE_KINDS = ("delta",)
"""Whose places may be URIs."""
_OF_ONE = ("duckdb",)
"""Whose file one process alone has open."""


def tables_of(spec: QuerySetSpec) -> tuple[SinkPlace, ...]:
    """The tables of a set, each by its one name. DaemonError."""
    found = tuple(_table(spec, text) for text in spec.outputs if is_sink(text))
    if found and len(spools_of(spec)) != 1:
        raise DaemonError(
            f"{spec.name}: {found[0].text} is filled from a spool of the set, which names "
            f"{len(spools_of(spec)) or 'none'}",
            f'output = ["spool:/FOLDER", "{found[0].sink}:…"]: each set with tables has one spool',
        )
    if len({file_of(place) or place.text for place in found}) < len(found):
        raise DaemonError(
            f"{spec.name}: two of its tables are one, or in one file, which one alone has open",
            "each once; one output for the tables of all queries of a set",
        )
    return found


@dataclass(frozen=True, slots=True)
class WantedTable:
    """A table of a set that is at work."""

    set_name: str
    spool: str
    table: str
    since_ns: int = field(default=0, compare=False)
    """When the set that names it was made; where that one is changed it is the same table."""
    python: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The files that its set calls functions of: a loader has them as they were when it began."""


def wanted_tables(
    spec: QuerySetSpec, since_ns: int = 0, python: Mapping[str, str] | None = None
) -> Iterator[WantedTable]:
    """What a set's loaders fill. DaemonError."""
    for place in tables_of(spec):
        yield WantedTable(spec.name, spools_of(spec)[0], place.text, since_ns, python or {})


def spools_of(spec: QuerySetSpec) -> tuple[str, ...]:
    """The folders of a set's spools."""
    given = filter(is_spool, spec.outputs)
    return tuple(normal(text.partition(":")[2]) for text in given)


def is_remote(place: SinkPlace) -> bool:
    """Whether it lies on a server, or may."""
    return SINKS[place.sink].has_server or _REMOTE in place.place


def file_of(place: SinkPlace) -> Path | None:
    """What no other set may have; None: several may write there."""
    return Path(place.place) if place.sink in _OF_ONE else None


def folder_of(place: SinkPlace) -> Path | None:
    """Below which it writes; None: nowhere here."""
    if is_remote(place):
        return None
    return Path(place.place).parent if place.sink in _OF_ONE else Path(place.place)


def written_folder(text: str) -> Path | None:
    """The part that is there of the folder below which a table is written; None: none is."""
    folder = folder_of(parse_sink_place(text))
    if folder is None:
        return None
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def check_tables(
    spec: QuerySetSpec, places: OutputPlaces, taken: Mapping[Path, str], *, is_configured: bool
) -> None:
    """Refuse tables that this daemon does not fill, or that lie where none may. DaemonError."""
    tables = tables_of(spec)
    if tables and not places.tables:
        raise DaemonError(
            f"{spec.name}: this daemon fills no tables, such as {tables[0].text}",
            "tables = true in its configuration, and a restart",
        )
    for place in tables:
        if is_remote(place):
            _check_remote(spec, place, is_configured=is_configured)
            continue
        path = Path(place.place)
        own = (text.partition(":")[2] for text in spec.outputs if not is_sink(text))
        if path in map(Path, own):
            raise DaemonError(f"{spec.name}: two of its outputs have one path", "a path each")
        if file_of(place) in taken:
            raise DaemonError(f"{spec.name}: {path} is an output of {taken[path]}", "another path")
        _check_apart(spec, path)
        if not (is_configured and path in places.own):
            places.check(spec.name, path, is_configured=is_configured)


def _check_remote(spec: QuerySetSpec, place: SinkPlace, *, is_configured: bool) -> None:
    if not is_configured:
        raise DaemonError(
            f"{spec.name}: {place.text} is not on this host, and only sets of the configuration "
            "have tables elsewhere",
            "the set, with its output, in the daemon's configuration, and gigastream ctl reload",
        )


def _check_apart(spec: QuerySetSpec, path: Path) -> None:
    for folder in map(Path, spools_of(spec)):
        if path.is_relative_to(folder) or folder.is_relative_to(path):
            raise DaemonError(
                f"{spec.name}: {path} and its spool {folder} are one in the other", "another place"
            )


def _table(spec: QuerySetSpec, text: str) -> SinkPlace:
    kind, _, rest = text.partition(":")
    if names_secret(rest):
        raise DaemonError(
            f"{spec.name}: {kind}: an output is shown to who may ask, and this one has a password",
            _SECRETS.get(kind, "the daemon's environment"),
        )
    try:
        place = parse_sink_place(text)
    except SinkError as error:
        raise DaemonError(f"{spec.name}: {error}", error.hint) from None
    if place.table is not None and SET_NAME.fullmatch(place.table) is None:
        raise DaemonError(
            f"{spec.name}: '{place.table[:40]}' is no name of a table here",
            "letters, digits, _ . -, of which the first is no . or -",
        )
    if SINKS[place.sink].has_server or (place.sink in _REMOTE_KINDS and _REMOTE in place.place):
        return place
    return _local(spec, place)


def _local(spec: QuerySetSpec, place: SinkPlace) -> SinkPlace:
    if not place.place.startswith("/") or _REMOTE in place.place:
        raise DaemonError(
            f"{spec.name}: the output {place.text} names no absolute path",
            f"{place.sink}:/FOLDER/…: the daemon has no folder that it is in",
        )
    path = normal(place.place).removesuffix("/")
    if refused := no_disk(Path(path)):
        raise DaemonError(f"{spec.name}: {refused}", f"{place.sink}:/FOLDER/… on a disk")
    mark = "" if place.table is None else f"{TABLE_MARK}{place.table}"
    return replace(place, text=f"{place.sink}:{path}{mark}", place=path)
