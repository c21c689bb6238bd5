# SPDX-License-Identifier: Apache-2.0
"""Outputs as users name them, checked: what they become, and where they may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import OutputSpec, QuerySetSpec, SpoolSpec
from gigastream.daemon.places import SPOOL, OutputPlaces, check_words, no_disk, normal
from gigastream.daemon.tables_of_sets import (
    check_tables,
    file_of,
    folder_of,
    tables_of,
)
from gigastream.outputs import FORMATS
from gigastream.sinks import SINKS, is_sink

OUTPUTS_MAX = 64
"""Of a set."""


def output_specs(spec: QuerySetSpec) -> tuple[OutputSpec, ...]:
    """Where the rows of a set go. DaemonError."""
    check_words(spec)
    if len(spec.outputs) > OUTPUTS_MAX:
        raise DaemonError(
            f"{spec.name}: {len(spec.outputs):,} outputs, of {OUTPUTS_MAX} at the most", "a folder"
        )
    found = tuple(_output(spec, text) for text in spec.outputs if not is_sink(text))
    paths = [Path(output.path) for output in found]
    if len(set(paths)) < len(paths):
        raise DaemonError(f"{spec.name}: two of its outputs have one path", "a path each")
    if spec.low_level_only and {output.format for output in found} != {SPOOL}:
        raise DaemonError(
            f"{spec.name}: the low level alone goes into spools, and into nothing else",
            "spool:PATH; or both levels, without low_level_only",
        )
    return found


def _output(spec: QuerySetSpec, text: str) -> OutputSpec:
    name, _, path = text.partition(":")
    if name not in FORMATS and name != SPOOL:
        known = ", ".join((*FORMATS, SPOOL, *SINKS))
        raise DaemonError(f"{spec.name}: there is no output format '{name}'", f"one of {known}")
    if not path.startswith("/"):
        raise DaemonError(
            f"{spec.name}: the output {text} names no absolute path",
            f"{name}:/FOLDER/FILE: the daemon has no folder that it is in",
        )
    if refused := no_disk(Path(normal(path))):
        raise DaemonError(f"{spec.name}: {refused}", f"{name}:/FOLDER/FILE on a disk")
    return OutputSpec(
        format=name,
        path=normal(path),
        rotate_bytes=spec.rotate_bytes,
        rotate_ns=spec.rotate_ns,
        keep=spec.keep,
        cut_column=spec.cut_column,
        spool=spec.spool if name == SPOOL else SpoolSpec(),
    )


def check_places(
    spec: QuerySetSpec, places: OutputPlaces, others: Iterable[QuerySetSpec], *, is_configured: bool
) -> tuple[OutputSpec, ...]:
    """The outputs of a set, none of which another set has, or lies where none may. DaemonError."""
    found = output_specs(spec)
    taken = {path: other.name for other in others for path in output_paths(other)}
    for output in found:
        path = Path(output.path)
        if path in taken:
            raise DaemonError(f"{spec.name}: {path} is an output of {taken[path]}", "another path")
        places.check(spec.name, path, is_configured=is_configured)
    check_tables(spec, places, taken, is_configured=is_configured)
    return found


def output_paths(spec: QuerySetSpec) -> tuple[Path, ...]:
    """Where the rows of a set go, each by its one name. DaemonError."""
    files = (file_of(table) for table in tables_of(spec))
    own = (Path(output.path) for output in output_specs(spec))
    return (*own, *(path for path in files if path is not None))


def folders_of(given: Sequence[Path], specs: Iterable[QuerySetSpec]) -> tuple[Path, ...]:
    """Folders below which the kernel lets files change: those that are given, and the sets' own."""
    specs = tuple(specs)
    own = (path.parent for spec in specs for path in output_paths(spec))
    tables = (folder_of(table) for spec in specs for table in tables_of(spec))
    return tuple(dict.fromkeys((*given, *own, *(each for each in tables if each is not None))))
