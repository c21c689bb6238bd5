# SPDX-License-Identifier: Apache-2.0
"""Rows of running queries on their way to who watches them, who may be slow, or gone."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow

from gigastream.daemon.channel import OrderChannel
from gigastream.daemon.messages import TailOrder, TailRows
from gigastream.late_dataclass import dataclass
from gigastream.outputs import Batch, marks_of


@dataclass
class _Tail:
    number: int
    set_name: str
    query: str
    lost: int = 0


class Tails:
    """Those that there are."""

    def __init__(self, channel: OrderChannel) -> None:
        """None as yet."""
        self._channel = channel
        self._tails: dict[int, _Tail] = {}

    def add(self, order: TailOrder, set_name: str) -> None:
        """Begin one."""
        self._tails[order.number] = _Tail(order.number, set_name, order.query)

    def remove(self, number: int) -> None:
        """End one: nobody watches any more."""
        self._tails.pop(number, None)

    def write(self, set_name: str, query: str, batch: Batch) -> None:
        """Send rows to who watches this query; what there is no room for is counted."""
        found = [t for t in self._tails.values() if (t.set_name, t.query) == (set_name, query)]
        if not found:
            return
        arrow, count = _stream_of(batch), batch.row_count
        for tail in found:
            rows = TailRows(tail=tail.number, arrow=arrow, rows=count, lost=tail.lost)
            tail.lost = 0 if self._channel.tail(rows) else tail.lost + batch.row_count

    def end(self, set_name: str, staying: Collection[str] = ()) -> None:
        """Of the set that has gone, or whose queries are now others: tell who watches the rest."""
        for tail in list(self._tails.values()):
            if tail.set_name == set_name and tail.query not in staying:
                over = TailRows(tail=tail.number, arrow=b"", lost=tail.lost, over=True)
                self._channel.tail(over)
                self.remove(tail.number)


def _stream_of(batch: Batch) -> bytes:
    """An Arrow IPC stream of one batch, which says whether its windows are incomplete."""
    rows, sink = batch.to_arrow(), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows, custom_metadata=marks_of(batch) or None)
    written: bytes = sink.getvalue().to_pybytes()
    return written
