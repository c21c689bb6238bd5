# SPDX-License-Identifier: Apache-2.0
"""Datagrams of any format to rows."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.records.flows.account import FlowAccount
from gigastream.records.flows.columns import FlowRows
from gigastream.records.flows.datagram import Datagram
from gigastream.records.flows.exporters import Exporters
from gigastream.records.flows.netflow5 import read_netflow5
from gigastream.records.flows.sets import read_ipfix, read_netflow9
from gigastream.records.flows.sflow5 import read_sflow5

_Reader = Callable[[Datagram, Exporters, FlowRows, FlowAccount], bool]
_READERS: dict[int, _Reader] = {5: read_netflow5, 9: read_netflow9, 10: read_ipfix}
"""By the first two bytes; of sFlow they are 0."""
_SFLOW5 = b"\0\0\0\5"


class FlowDecoder:
    """Keeps what exporters have said; gives the rows of what came since it was last asked."""

    def __init__(self) -> None:
        self.account = FlowAccount()
        self._exporters = Exporters()
        self._rows = FlowRows()

    def take(self, data: bytes, exporter: bytes, timestamp_ns: int) -> int:
        """Decode a datagram of an exporter (16 bytes of its address), which came at that time.

        Returns how many rows wait.
        """
        self.account.datagrams += 1
        read = _reader_of(data)
        if read is None:
            self.account.unknown += 1
            return self._rows.count
        datagram = Datagram(memoryview(data), exporter, timestamp_ns)
        if read(datagram, self._exporters, self._rows, self.account):
            self.account.decoded += 1
        else:
            self.account.damaged += 1
        return self._rows.count

    def rows(self) -> FlowRows:
        """The rows that wait, which it has no more."""
        rows, self._rows = self._rows, FlowRows()
        return rows


def _reader_of(data: bytes) -> _Reader | None:
    if data.startswith(_SFLOW5):
        return read_sflow5
    return _READERS.get(int.from_bytes(data[:2], "big")) if len(data) > 1 else None
