# SPDX-License-Identifier: Apache-2.0
"""What the C of an accumulator consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import Accumulator


@dataclass(frozen=True, slots=True)
class StructMember:
    """One member of a slot's or group's struct."""

    c_type: str
    name: str


@dataclass(frozen=True, slots=True)
class AccumulatorWriter:
    """Statements over members `at` (`slot->a0`), arguments `x` (C values) and partial columns.

    `low` and `high` are the members below and above the border: a sum has 128 bits high, so that
    neither the order of partial rows decides whether it overflows, nor an average fails with it.
    """

    low: Callable[[str, Accumulator], list[StructMember]]
    high: Callable[[str, Accumulator], list[StructMember]]
    start: Callable[[str, Sequence[str]], list[str]]
    """The members of a new slot or group from its first row."""
    add: Callable[[str, Sequence[str]], list[str]]
    overflow: Callable[[str, Sequence[str], Accumulator], str]
    """C condition under which a row would not fit a low slot; "" where it always does."""
    partial: Callable[[str], list[str]]
    """The values of a low slot's partial row."""
    merge_start: Callable[[str, Sequence[str]], list[str]]
    merge: Callable[[str, Sequence[str]], list[str]]
    combine: Callable[[str, str], list[str]]
    """The members of a high group take those of another: of two panes' groups that are one."""
