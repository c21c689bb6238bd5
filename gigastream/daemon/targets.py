# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a set at work go: what cannot be written is counted, and ends nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gigastream.daemon.messages import OutputSpec, OutputStatistics
from gigastream.outputs import Batch, Content, OutputQuery, RowOutput

_CONTENT = Content(outlives_reader=True)


class FileTarget:
    """A file, or one for each query."""

    def __init__(self, spec: OutputSpec, queries: tuple[OutputQuery, ...]) -> None:
        """Open it; OutputError. What was in it is there until begin()."""
        self.spec = spec
        self._output = RowOutput(spec.format, Path(spec.path), queries, None, _CONTENT)

    def begin(self) -> None:
        """Empty it. OutputError."""
        self._output.begin()

    def write(self, query: str, batch: Batch) -> None:
        """Write rows, or count them as lost."""
        self._output.write(query, batch)

    def rotate(self) -> None:
        """There is nothing to begin anew."""

    def tick(self) -> None:
        """Nothing is due by the clock."""

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self._output.close()

    def statistics(self) -> OutputStatistics:
        """What became of the rows."""
        output = self._output
        failures = output.failures
        return OutputStatistics(
            format=self.spec.format,
            path=self.spec.path,
            rows=output.rows,
            lost=output.lost,
            bytes=sum(place.file.tell() for place in output.places),
            files=len(output.places),
            failure=failures[0].message if failures else None,
        )


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
