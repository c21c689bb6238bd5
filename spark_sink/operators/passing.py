# SPDX-License-Identifier: Apache-2.0
"""How temporal values pass in base time: when one is over, and since when it has been there."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.order.bounds import NONE
from gigastream.plan.base_time import Alternatives


def begins_with(values: Sequence[Alternatives], base_ns: int) -> int:
    """The least base time (ns) of rows whose values are not over at another.

    What has several values is over as soon as one of them is; what has none ends with the stream,
    and may have rows of any time.
    """
    return max((_value_begins(ways, base_ns) for ways in values if ways), default=NONE)


def closes_by(values: Sequence[Alternatives], after_ns: int, until_ns: int) -> bool:
    """Whether one of the values is over at one base time (ns) that was not at another."""
    return any(f.forward(until_ns) > f.forward(after_ns) for ways in values for f in ways)


def _value_begins(ways: Alternatives, base_ns: int) -> int:
    """The least base time at which a column has the value that it has at this one."""
    return min(f.inverse(f.forward(base_ns)) for f in ways)
