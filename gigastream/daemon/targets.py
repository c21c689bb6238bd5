# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a set at work go: what cannot be written is counted, and ends nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gigastream.daemon.messages import OutputSpec, OutputStatistics
from gigastream.outputs import Batch, OutputError, OutputQuery
from gigastream.outputs.rotating import RotatingOutput


class FileTarget:
    """A file or a folder of files, as an OutputSpec says it."""

    def __init__(self, spec: OutputSpec, queries: tuple[OutputQuery, ...]) -> None:
        """Open it. OutputError; a place outside the daemon's folders is told by the first rows."""
        self.spec = spec
        self._output = RotatingOutput(
            spec.format,
            spec.path,
            queries,
            spec.rotate_bytes,
            spec.rotate_ns,
            spec.keep,
        )
        _check_writable(Path(spec.path))

    def write(self, query: str, batch: Batch) -> None:
        """Write rows, or count them as lost."""
        self._output.write(query, batch)

    def rotate(self) -> None:
        """Begin new files."""
        self._output.rotate()

    def tick(self) -> None:
        """End what is due by the clock."""
        self._output.tick()

    def close(self) -> None:
        """End it."""
        self._output.close()

    def statistics(self) -> OutputStatistics:
        """What became of the rows."""
        output = self._output
        return OutputStatistics(
            format=self.spec.format,
            path=self.spec.path,
            rows=output.rows,
            lost=output.lost,
            bytes=output.bytes,
            files=output.files,
            failure=output.failure,
        )


def _check_writable(path: Path) -> None:
    folder = path if path.is_dir() else path.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        hint = "chown it to the daemon's user, or another place"
        raise OutputError(f"{folder} cannot be written by the daemon", hint)


def open_targets(specs: Sequence[OutputSpec], queries: tuple[OutputQuery, ...]) -> list[FileTarget]:
    """Open all, or none. OutputError."""
    opened: list[FileTarget] = []
    try:
        for spec in specs:
            opened.append(FileTarget(spec, queries))
    except BaseException:
        for target in opened:
            target.close()
        raise
    return opened
