# SPDX-License-Identifier: Apache-2.0
"""--stats table: what each operator took and gave, what it holds, how far it is behind.

Every figure is a counter of the engine's, or the quotient of two; of a line that is shown while a
run goes on, rates are of the time since the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gigastream.cli.progress import in_bytes
from gigastream.cli.table_slots import collides, wanted_slots
from gigastream.late_dataclass import dataclass

if TYPE_CHECKING:
    from gigastream.engine.statistics import LftaStatistics, OperatorStatistics, Statistics

_NONE, _END = -(1 << 63), (1 << 63) - 1
_SECOND_NS = 10**9
_HEADINGS = (
    "operator", "kind", "in", "out", "in/s", "out/in", "collisions", "refused", "held", "bytes",
    "peak", "behind",
)  # fmt: skip
_TEXTS = 2
"""Columns from the left that are no numbers."""


@dataclass(frozen=True, slots=True)
class _Operator:
    """A line of the table."""

    name: str
    kind: str
    rows_in: int
    rows_out: int
    held: int
    held_bytes: int
    peak_bytes: int
    promised_ns: int
    refused: int | None = None
    """Rows that there was no room for; None: it lets them go on."""
    collisions: int | None = None
    """Packets that found another group in their slot, which left for it; None: it has no table."""


def table(statistics: Statistics, seconds: float, before: Statistics | None = None) -> str:
    """Return the table; `seconds` have passed, since `before` if that is given."""
    earlier = {(o.name, o.kind): o.rows_in for o in (_operators(before) if before else ())}
    newest_ns = _newest(statistics)
    lines = [
        _cells(o, o.rows_in - earlier.get((o.name, o.kind), 0), seconds, newest_ns)
        for o in _operators(statistics)
    ]
    return "\n".join(_aligned([_HEADINGS, *lines]))


def recommendations(statistics: Statistics) -> Iterator[str]:
    """Say of each table that is too small what size would do."""
    yield from map(_recommendation, filter(collides, statistics.lftas))


def _recommendation(lfta: LftaStatistics) -> str:
    where = f"{lfta.name} on {lfta.interface}"
    collided = f"{where}: {100 * lfta.evicted / lfta.accepted:.0f} % of its packets collided"
    wanted = wanted_slots(lfta)
    if wanted is None:
        return f"{collided}: hardly any met its group; more slots would not help"
    option = f"DEFINE {{ aggregate_slots {wanted}; }}, or --slots {wanted},"
    if wanted == lfta.slots:
        return (
            f"{collided}, though its {lfta.slots:,} slots have room: while they were fewer, which "
            f"{option} mends, or because windows as short as its own crowd each other out"
        )
    return f"{collided} in {lfta.slots:,} slots; {option} keeps nearly all groups in"


def _operators(statistics: Statistics) -> Iterator[_Operator]:
    yield from map(_of_lfta, statistics.lftas)
    yield from map(_of_operator, statistics.operators)


def _of_lfta(lfta: LftaStatistics) -> _Operator:
    return _Operator(
        lfta.name,
        f"LFTA on {lfta.interface}",
        lfta.packets,
        lfta.rows_out,
        lfta.groups,
        lfta.held_bytes,
        lfta.peak_bytes,
        lfta.promised_ns,
        collisions=lfta.evicted if lfta.slots else None,
    )


def _of_operator(operator: OperatorStatistics) -> _Operator:
    return _Operator(
        operator.name,
        operator.kind,
        operator.rows_in,
        operator.rows_out,
        operator.held,
        operator.held_bytes,
        operator.peak_bytes,
        operator.promised_ns,
        refused=operator.groups_refused + operator.rows_refused,
    )


def _newest(statistics: Statistics) -> int:
    """Return the greatest time that a source has reached, by its packets or its clock."""
    times = [source.high_ns for source in statistics.sources]
    times += [s.promise_ns for s in statistics.sources if s.promise_ns != _END]
    return max(times, default=_NONE)


def _cells(operator: _Operator, rows_in: int, seconds: float, newest_ns: int) -> tuple[str, ...]:
    return (
        operator.name,
        operator.kind,
        f"{operator.rows_in:,}",
        f"{operator.rows_out:,}",
        f"{rows_in / max(seconds, 1e-9):,.0f}",
        f"{operator.rows_out / operator.rows_in:.3g}" if operator.rows_in else "",
        _count(operator.collisions),
        _count(operator.refused),
        f"{operator.held:,}",
        in_bytes(operator.held_bytes),
        in_bytes(operator.peak_bytes),
        _behind(operator.promised_ns, newest_ns),
    )


def _count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _behind(promised_ns: int, newest_ns: int) -> str:
    """Return how far what it has promised is behind the newest packet; nothing where all is out."""
    if promised_ns == _END or _NONE in (promised_ns, newest_ns):
        return ""
    return f"{max(0, newest_ns - promised_ns) / _SECOND_NS:,.1f} s"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if index < _TEXTS else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
