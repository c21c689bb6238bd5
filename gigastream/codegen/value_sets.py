# SPDX-License-Identifier: Apache-2.0
"""The sets of values that groups keep, as C (csrc/hfta/value_sets.h): DISTINCT, mode, histogram.

Aggregates of the same distinct argument share a set, which is asked once a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import Lines
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass
from gigastream.plan.accumulators import Accumulator, expression_key


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of each group, of the values of an accumulator's first argument."""

    number: int
    first: int
    """The accumulator that asks it."""

    @property
    def met(self) -> str:
        """C variable: the row's value as the group keeps it; NULL for none."""
        return f"met{self.number}"

    @property
    def is_new(self) -> str:
        """C condition: the row's value is one that the group has not met."""
        return f"{self.met} != NULL && {self.met}->times == 1"


def value_sets(accumulators: Sequence[Accumulator]) -> dict[int, ValueSet]:
    """The sets of accumulators, by index, of those that have one."""
    known: dict[object, ValueSet] = {}
    found = {}
    for index, accumulator in enumerate(accumulators):
        if accumulator.has_set and accumulator.argument is not None:
            key = expression_key(accumulator.argument)
            found[index] = known.setdefault(key, ValueSet(len(known), index))
    return found


def write_met_values(
    lines: Lines, accumulators: Sequence[Accumulator], sets: dict[int, ValueSet]
) -> None:
    """Of each set the row's value; there is none of NULL, nor where there is no room."""
    for kept in dict.fromkeys(sets.values()):
        argument = accumulators[kept.first].argument
        assert argument is not None
        value = f"r->x{kept.first}_0"
        is_null = f"{value}_null" if argument.nullable else "0"
        lines.add(f"struct gs_group_value *{kept.met} = NULL;")
        with lines.block(f"if (!{is_null})"):
            bytes_ = _bytes_of(lines, argument.type, value)
            lines.add(f"{kept.met} = {_asked(kept, bytes_)};")


def _asked(kept: ValueSet, bytes_: str) -> str:
    return f"op->host->group_value(op, r->table, number, {kept.number}, {bytes_})"


def _bytes_of(lines: Lines, type_: Type, value: str) -> str:
    """C expression: the bytes of a value, equal where the values are."""
    if type_ is Type.STRING:
        return value
    if type_ is Type.FLOAT:
        name = lines.name("bits")
        lines.add(f"const double {name} = {value} + 0.0; /* 0 and -0 are one */")
        value = name
    return f"(struct gs_string){{(const uint8_t *)&{value}, sizeof {value}}}"
