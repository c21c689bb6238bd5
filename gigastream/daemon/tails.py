# SPDX-License-Identifier: Apache-2.0
"""Rows of running queries on their way to who watches them, who may be slow, or gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow

from gigastream.daemon.channel import OrderChannel
from gigastream.daemon.messages import TailOrder, TailRows


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

    def write(self, set_name: str, query: str, batch: Any) -> None:
        """Send rows to who watches this query; what there is no room for is counted."""
        found = [t for t in self._tails.values() if (t.set_name, t.query) == (set_name, query)]
        if not found:
            return
        arrow = _stream_of(batch.to_arrow())
        for tail in found:
            count = batch.row_count
            rows = TailRows(tail=tail.number, arrow=arrow, rows=count, lost=tail.lost)
            tail.lost = 0 if self._channel.tail(rows) else tail.lost + count

    def end(self, set_name: str, staying: Collection[str] = ()) -> None:
        """Of the set that has gone, or whose queries are now others: tell who watches the rest."""
        for tail in list(self._tails.values()):
            if tail.set_name == set_name and tail.query not in staying:
                over = TailRows(tail=tail.number, arrow=b"", lost=tail.lost, over=True)
                self._channel.tail(over)
                self.remove(tail.number)


def _stream_of(batch: Any) -> bytes:
    """An Arrow IPC stream of one batch."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written
