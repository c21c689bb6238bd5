# SPDX-License-Identifier: Apache-2.0
"""The mark of cut windows as a column: csv and JSON have no other place for it.

It is of batches, as the mark is in Arrow: a row with `false` is of a window that was seen whole,
one with `true` may be of one of which only a part was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gigastream.late_dataclass import dataclass, replace
from gigastream.outputs import CUT, Batch, OutputError, OutputQuery

FORMATS_WITH_COLUMN = ("csv", "json")


def with_cut_column(query: OutputQuery) -> OutputQuery:
    """The query with one column more, the last. OutputError where it has one of that name."""
    if CUT in query.columns:
        raise OutputError(
            f"{query.name} has a column called {CUT}, as the mark of cut windows is",
            "another name for it; or no cut-column",
        )
    return replace(
        query,
        columns=(*query.columns, CUT),
        numeric=(*query.numeric, False),
        times=(*query.times, False),
        quantities=(*query.quantities, False),
    )


@dataclass(frozen=True, slots=True)
class CutColumnBatch:
    """A batch whose rows say whether they are cut."""

    batch: Batch

    @property
    def row_count(self) -> int:
        return self.batch.row_count

    @property
    def memory_bytes(self) -> int:
        return self.batch.memory_bytes

    @property
    def is_partial(self) -> bool:
        return self.batch.is_partial

    @property
    def missing(self) -> tuple[str, ...]:
        return self.batch.missing

    @property
    def is_cut(self) -> bool:
        return self.batch.is_cut

    @property
    def bounds(self) -> Sequence[int]:
        return self.batch.bounds

    @property
    def is_end(self) -> bool:
        return self.batch.is_end

    def csv(self) -> bytes:
        """One cell more a line; what is between double quotes ends none."""
        pieces = self.batch.csv().split(b'"')
        pieces[::2] = [piece.replace(b"\n", b",%s\n" % self._cell) for piece in pieces[::2]]
        return b'"'.join(pieces)

    def json(self, query_name: str | None) -> bytes:
        """One member more an object; a newline ends each, and is nowhere else."""
        member = b',"%s":%s}\n' % (CUT.encode(), self._cell)
        return self.batch.json(query_name).replace(b"}\n", member)

    def to_arrow(self) -> Any:
        """As it is: there the mark is in the metadata."""
        return self.batch.to_arrow()

    @property
    def _cell(self) -> bytes:
        return b"true" if self.batch.is_cut else b"false"
