# SPDX-License-Identifier: Apache-2.0
"""Outputs as users name them, checked: what they become, and where they may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import OutputSpec, QuerySetSpec
from gigastream.outputs import FORMATS

SPOOL = "spool"


def output_specs(spec: QuerySetSpec) -> tuple[OutputSpec, ...]:
    """Where the rows of a set go. DaemonError."""
    return tuple(_output(spec, text) for text in spec.outputs)


def _output(spec: QuerySetSpec, text: str) -> OutputSpec:
    name, _, path = text.partition(":")
    if name not in FORMATS and name != SPOOL:
        known = ", ".join((*FORMATS, SPOOL))
        raise DaemonError(f"{spec.name}: there is no output format '{name}'", f"one of {known}")
    if not Path(path).is_absolute() or ".." in Path(path).parts:
        raise DaemonError(
            f"{spec.name}: the output {text} names no absolute path",
            f"{name}:/FOLDER/FILE: the daemon has no folder that it is in",
        )
    return OutputSpec(
        format=name,
        path=path,
        rotate_bytes=spec.rotate_bytes,
        rotate_ns=spec.rotate_ns,
        keep=spec.keep,
    )


def check_places(
    spec: QuerySetSpec, folders: Sequence[Path], others: Iterable[QuerySetSpec]
) -> tuple[OutputSpec, ...]:
    """The outputs of a set, none of which another set has, or lies where none may. DaemonError."""
    found = output_specs(spec)
    taken = {o.path: other.name for other in others for o in output_specs(other)}
    for output in found:
        if output.path in taken:
            raise DaemonError(
                f"{spec.name}: {output.path} is an output of {taken[output.path]}", "another path"
            )
        if not any(Path(output.path).is_relative_to(folder) for folder in folders):
            below = ", ".join(map(str, folders)) or "none: no folder was given at the start"
            raise DaemonError(
                f"{spec.name}: {output.path} is below no folder that may be written",
                f"folders that may: {below}",
            )
    return found


def folders_of(given: Sequence[Path], specs: Iterable[QuerySetSpec]) -> tuple[Path, ...]:
    """Folders below which files may change: those that are given, and the sets' own."""
    own = (Path(o.path) for spec in specs for o in output_specs(spec))
    folders = [*given, *(path.parent for path in own)]
    return tuple(dict.fromkeys(folders))
