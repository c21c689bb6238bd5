# SPDX-License-Identifier: Apache-2.0
"""Flow records as rows: of a capture of what exporters sent, and of any datagrams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gigastream.records.flow_capture import datagrams
from gigastream.records.flows.columns import COLUMNS, FlowRows
from gigastream.records.flows.decoder import FlowDecoder
from gigastream.records.record_input import RecordInput
from gigastream.records.values import MISSING

Row = tuple[int, Sequence[object] | str]
_NO_ADDRESS = bytes(10) + b"\xff\xff" + bytes(4)
_UNSAID: dict[str, Any] = {"INET": _NO_ADDRESS, "string": ""}
"""By type, where the exporter says nothing; numbers are 0, times those of the datagram."""
_CAUSES = {
    "unknown": "it is of no exporter that is known",
    "damaged": "its header is cut off",
    "damaged_sets": "a part of it is damaged",
    "unknown_sets": "records whose template has not come, or was forgotten",
}
"""Counts of the decoder's account, each of which is a record that is none."""


def rows(source: RecordInput, names: Sequence[str]) -> Iterator[Row]:
    """Yield the flow records of a capture, with the number of their packet."""
    decoding = FlowDecoding(names)
    for number, datagram in datagrams(source):
        if isinstance(datagram, str):
            yield number, datagram
            continue
        for values in decoding.rows(*datagram):
            yield number, values


class FlowDecoding:
    """Datagrams to rows of the columns that a STREAM has; what could not be read among them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._decoder = FlowDecoder()
        self._names = names

    @property
    def missing(self) -> int:
        """What the exporters' numbers say has not come."""
        return self._decoder.account.missing

    def rows(
        self, data: bytes, exporter: bytes, timestamp_ns: int
    ) -> Iterator[Sequence[object] | str]:
        """Yield the rows of a datagram, then a reason for each part that gave none."""
        before = [getattr(self._decoder.account, name) for name in _CAUSES]
        self._decoder.take(data, exporter, timestamp_ns)
        yield from _in_order(self._decoder.rows(), self._names, timestamp_ns)
        for count, (name, reason) in zip(before, _CAUSES.items(), strict=True):
            for _ in range(getattr(self._decoder.account, name) - count):
                yield reason


def _in_order(
    found: FlowRows, names: Sequence[str], timestamp_ns: int
) -> Iterator[Sequence[object]]:
    if found.count:
        yield from zip(*(_column(found, name, timestamp_ns) for name in names), strict=True)


def _column(found: FlowRows, name: str, timestamp_ns: int) -> Sequence[object]:
    if name not in COLUMNS:
        return [MISSING] * found.count
    unsaid = timestamp_ns if COLUMNS[name] == "timestamp" else _UNSAID.get(COLUMNS[name], 0)
    return [unsaid if value is None else value for value in found.columns[name]]
