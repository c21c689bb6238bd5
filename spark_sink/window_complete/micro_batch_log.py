# SPDX-License-Identifier: Apache-2.0
"""The checkpoint of window-complete micro-batches: what each one is of, and which are done.

A micro-batch is written down before it runs, and again when its rows are with the sink. One that
was begun and not done is run again, the same, under its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs

from spark_sink.checkpoint import (
    filesystem,
    newest_number,
    read_json,
    write_json,
    write_new_json,
)
from spark_sink.job_errors import JobError
from spark_sink.offsets import Offsets, from_json, to_json

StreamOffsets = Mapping[str, Offsets]
"""By stream, the positions of its tracks."""
KEPT = 16
"""Micro-batches that stay written down; two would do."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What closes between two punctuations, and the segments among which its rows are."""

    number: int
    held: StreamOffsets
    """Below are no rows of what had not closed before."""
    end: StreamOffsets
    """How far the manifests had been read."""
    after_ms: int | None
    """The punctuation of the one before; None: this is the first."""
    until_ms: int
    late: int = 0
    """Rows behind the answer of their window so far, since the checkpoint began."""
    unread: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By stream and track, those of them in segments that no micro-batch opens."""

    def to_json(self) -> dict[str, Any]:
        """Return what its file holds."""
        return {
            "held": {name: to_json(each) for name, each in self.held.items()},
            "end": {name: to_json(each) for name, each in self.end.items()},
            "after_ms": self.after_ms,
            "until_ms": self.until_ms,
            "late": self.late,
            "unread": self.unread,
        }


class MicroBatchLog:
    """The files of one query's micro-batches: `planned/N`, and `done/N` once it is."""

    def __init__(self, folder: str) -> None:
        """Raises JobError where the folder cannot be used."""
        self._system, self._path = filesystem(folder)
        try:
            for part in ("planned", "done"):
                self._system.create_dir(f"{self._path}/{part}", recursive=True)
            self.last = self._newest()
            done = None if self.last is None else self._done(self.last.number)
            self.is_done = self.last is None or done is not None
            self._let_go = _let_go(done)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None

    @property
    def done(self) -> tuple[MicroBatch, StreamOffsets] | None:
        """The last one and what it has let go; None where it is not done.

        Nor where an earlier version has done it, which wrote nothing of the kind.
        """
        if self.last is None or self._let_go is None:
            return None
        return self.last, self._let_go

    def plan(self, batch: MicroBatch) -> None:
        """A micro-batch begins. Raises OSError; JobError where another job has begun one."""
        known = None if self.last is None else self.last.number
        path = self._file("planned", batch.number)
        is_alone = newest_number(self._system, f"{self._path}/planned") == known
        if not is_alone or not write_new_json(self._system, path, batch.to_json()):
            raise JobError(
                f"another job is at work on the checkpoint {self._path}, with micro-batches that "
                "this one knows nothing of",
                "one job a checkpoint: this one has ended, and the other goes on",
            )
        self.last, self.is_done, self._let_go = batch, False, None

    def finish(self, let_go: StreamOffsets) -> None:
        """The last one's rows are with the sink, nothing below is needed. Raises OSError.

        It is written down: once retention has the segments, none can say it any more.
        """
        assert self.last is not None
        number = self.last.number
        done = {"let_go": {name: to_json(each) for name, each in let_go.items()}}
        write_json(self._system, self._file("done", number), done)
        self.is_done, self._let_go = True, let_go
        for part in ("done", "planned") if number >= KEPT else ():
            self._system.delete_file(self._file(part, number - KEPT))

    def _newest(self) -> MicroBatch | None:
        number = newest_number(self._system, f"{self._path}/planned")
        if number is None:
            return None
        value = read_json(self._system, self._file("planned", number)) or {}
        held, end = (
            {name: from_json(each) for name, each in value[which].items()}
            for which in ("held", "end")
        )
        after_ms, until_ms = value["after_ms"], value["until_ms"]
        # an earlier version did not count them
        late, unread = value.get("late", 0), value.get("unread", {})
        return MicroBatch(number, held, end, after_ms, until_ms, late, unread)

    def _done(self, number: int) -> Mapping[str, Any] | None:
        path = self._file("done", number)
        if self._system.get_file_info(path).type == pyarrow.fs.FileType.NotFound:
            return None
        return read_json(self._system, path) or {}

    def _file(self, part: str, number: int) -> str:
        return f"{self._path}/{part}/{number}"


def _let_go(done: Mapping[str, Any] | None) -> StreamOffsets | None:
    """Of what a done micro-batch has written down."""
    if not done:
        return None
    return {name: from_json(each) for name, each in done["let_go"].items()}
