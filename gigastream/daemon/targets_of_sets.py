# SPDX-License-Identifier: Apache-2.0
"""Outputs as users name them, checked: what they become, and where they may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import OutputSpec, QuerySetSpec, SpoolSpec
from gigastream.outputs import FORMATS
from gigastream.sinks import SINKS

SPOOL = "spool"
OUTPUTS_MAX = 64
"""Of a set."""


def output_specs(spec: QuerySetSpec) -> tuple[OutputSpec, ...]:
    """Where the rows of a set go. DaemonError."""
    if len(spec.outputs) > OUTPUTS_MAX:
        raise DaemonError(
            f"{spec.name}: {len(spec.outputs):,} outputs, of {OUTPUTS_MAX} at the most", "a folder"
        )
    found = tuple(_output(spec, text) for text in spec.outputs)
    paths = [output.path for output in found]
    if len(set(paths)) < len(paths):
        raise DaemonError(f"{spec.name}: two of its outputs have one path", "a path each")
    if spec.low_level_only and {output.format for output in found} != {SPOOL}:
        raise DaemonError(
            f"{spec.name}: the low level alone goes into spools, and into nothing else",
            "spool:PATH; or both levels, without low_level_only",
        )
    return found


def table_refusal(kind: str) -> tuple[str, str]:
    """Why no set has a table as its output, and what fills one. The place may have a password."""
    return (
        f"the daemon writes no tables, of which {kind} is a kind",
        "the output spool:FOLDER, and beside the daemon, as a service of its own: "
        f"gigastream run --spool FOLDER -o {kind}:…",
    )


def _output(spec: QuerySetSpec, text: str) -> OutputSpec:
    name, _, path = text.partition(":")
    if name in SINKS:
        why, hint = table_refusal(name)
        raise DaemonError(f"{spec.name}: {why}", hint)
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
        spool=spec.spool if name == SPOOL else SpoolSpec(),
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
