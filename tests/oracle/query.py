# SPDX-License-Identifier: Apache-2.0
"""Expected answers, said in plain Python.

expected = aggregate(
    packets("IPV4", path),
    key=lambda p: (p["time"] // 60, p["srcIP"], p["destIP"]),
    aggs={"packets": count(), "bytes": sum_of(lambda p: p["len"])},
)
assert_same_rows(expected, csv_of_the_engine)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.models.source_time import DEFAULT_DISORDER_BYTES, FileTime, PipeTime, SourceTime
from tests.oracle.capture import read_bytes, read_capture
from tests.oracle.packet import FieldAbsentError, Layers, Packet, parse
from tests.oracle.records import Capture

Row = tuple[Any, ...]
Source = str | Path | bytes | Capture


@dataclass
class Accounting:
    """The counters of a source: `read` is the sum of the others (OPERATORS §7)."""

    read: int = 0
    undecodable: int = 0
    late: int = 0
    decoded: int = 0


@dataclass
class Decoded:
    """A source taken apart once: what was decoded, and how its reading went."""

    capture: Capture
    layers: list[Layers] = field(default_factory=list)
    accounting: Accounting = field(default_factory=Accounting)


def decode(
    source: Source,
    disorder_bytes: int | None = DEFAULT_DISORDER_BYTES,
    slack_ns: int | None = None,
) -> Decoded:
    """Read and decode a capture; `slack_ns` makes it follow the pipe's rule instead of the file's.

    A refused file decodes to nothing. Raises only what the file system raises.
    """
    decoded = Decoded(_capture(source))
    if decoded.capture.refusal is not None:
        return decoded
    time = FileTime(disorder_bytes) if slack_ns is None else PipeTime(slack_ns)
    _decode_records(decoded, time)
    return decoded


def _capture(source: Source) -> Capture:
    if isinstance(source, Capture):
        return source
    return read_bytes(source) if isinstance(source, bytes) else read_capture(source)


def _decode_records(decoded: Decoded, time: SourceTime) -> None:
    counts = decoded.accounting
    for record in decoded.capture.records:
        counts.read += 1
        late = time.read(record.timestamp_ns, record.file_offset).late
        layers = parse(record)
        if layers is None:
            counts.undecodable += 1
        elif late:
            counts.late += 1
        else:
            counts.decoded += 1
            decoded.layers.append(layers)


def packets(
    protocol: str,
    source: Source | Decoded | Sequence[Source | Decoded],
    names: Iterable[str] = (),
    disorder_bytes: int | None = DEFAULT_DISORDER_BYTES,
    slack_ns: int | None = None,
) -> Iterator[Packet]:
    """The tuples of a protocol in one source or several, in each source's order.

    `names` are fields that the query's text names: a packet that lacks one is no tuple. Fields
    that the helpers below ask for need not be listed, unless a condition may skip them.
    """
    sources: Sequence[Any] = source if isinstance(source, list | tuple) else [source]
    for one in sources:
        decoded = one if isinstance(one, Decoded) else decode(one, disorder_bytes, slack_ns)
        for layers in decoded.layers:
            packet = layers.as_protocol(protocol)
            if packet is not None and _has_all(packet, names):
                yield packet


def _has_all(packet: Packet, names: Iterable[str]) -> bool:
    try:
        for name in names:
            packet[name]
    except FieldAbsentError:
        return False
    return True


def select(
    tuples: Iterable[Packet],
    row: Callable[[Packet], Row],
    where: Callable[[Packet], bool] = lambda packet: True,
) -> list[Row]:
    """SELECT … FROM … WHERE; a packet without a field that is asked for gives no row."""
    rows = []
    for packet in tuples:
        try:
            if where(packet):
                rows.append(row(packet))
        except FieldAbsentError:
            continue
    return rows


@dataclass(frozen=True)
class Aggregate:
    """An aggregate: the value of a packet, and the result of a group's values."""

    value: Callable[[Packet], Any]
    result: Callable[[list[Any]], Any]


def aggregate(
    tuples: Iterable[Packet],
    key: Callable[[Packet], Row],
    aggs: Mapping[str, Aggregate],
    where: Callable[[Packet], bool] = lambda packet: True,
    having: Callable[[dict[str, Any]], bool] = lambda results: True,
) -> list[Row]:
    """SELECT key, aggs FROM … WHERE … GROUP BY key HAVING …: key and results, in no order.

    `having` sees the results by their names.
    """
    groups: dict[Row, list[Row]] = {}
    values = [agg.value for agg in aggs.values()]
    members = select(tuples, lambda p: (key(p), tuple(value(p) for value in values)), where)
    for group, member in members:
        groups.setdefault(group, []).append(member)
    rows = []
    for group, inputs in groups.items():
        columns = zip(*inputs, strict=True) if aggs else ()
        results = [agg.result(list(c)) for agg, c in zip(aggs.values(), columns, strict=True)]
        if having(dict(zip(aggs, results, strict=True))):
            rows.append((*group, *results))
    return rows


Value = Callable[[Packet], Any]


def count() -> Aggregate:
    """COUNT(*)."""
    return Aggregate(lambda packet: None, len)


def sum_of(value: Value) -> Aggregate:
    """SUM."""
    return Aggregate(value, sum)


def min_of(value: Value) -> Aggregate:
    """MIN."""
    return Aggregate(value, min)


def max_of(value: Value) -> Aggregate:
    """MAX."""
    return Aggregate(value, max)


def avg_of(value: Value) -> Aggregate:
    """AVG, a float."""
    return Aggregate(value, lambda values: sum(values) / len(values))


def count_distinct(value: Value) -> Aggregate:
    """COUNT(DISTINCT x)."""
    return Aggregate(value, lambda values: len(set(values)))


def and_of(value: Value) -> Aggregate:
    """AND_AGGR."""
    return Aggregate(value, lambda values: _fold(lambda x, y: x & y, values))


def or_of(value: Value) -> Aggregate:
    """OR_AGGR."""
    return Aggregate(value, lambda values: _fold(lambda x, y: x | y, values))


def xor_of(value: Value) -> Aggregate:
    """XOR_AGGR."""
    return Aggregate(value, lambda values: _fold(lambda x, y: x ^ y, values))


def _fold(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = operation(result, value)
    return result


def first_of(value: Value) -> Aggregate:
    """FIRST, in the order of (timestamp, interface, position in the source)."""
    return Aggregate(_positioned(value), lambda values: min(values)[1])


def last_of(value: Value) -> Aggregate:
    """LAST, in the same order."""
    return Aggregate(_positioned(value), lambda values: max(values)[1])


def _positioned(value: Value) -> Value:
    def at(packet: Packet) -> Any:
        record = packet.record
        return (record.timestamp_ns, record.interface_id, record.index), value(packet)

    return at
