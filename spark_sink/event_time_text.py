# SPDX-License-Identifier: Apache-2.0
"""Event times in words: when a value is over, and why nobody can say."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.gsql.order.functions import inverse_text
from gigastream.gsql.order.inference import Monotone
from gigastream.gsql.types import Temporal
from gigastream.plan.base_time import Alternatives


def end_text(name: str, alternatives: Alternatives) -> str:
    """`tb: a value w is over at base time 1000000000*60*v, with v = w + 1`."""
    sign = "-" if alternatives[0].temporal is Temporal.DECREASING else ""
    over = latest_text([(function, "v") for function in alternatives])
    return f"{name}: a value w is over at base time {over}, with v = {sign}w + 1"


def latest_text(ends: Sequence[tuple[Monotone, str]]) -> str:
    """The latest of what inverses of functions give of these."""
    shown = list(dict.fromkeys(_inverse_text(function, value) for function, value in ends))
    return shown[0] if len(shown) == 1 else f"the latest of {', '.join(shown)}"


def _inverse_text(function: Monotone, value: str) -> str:
    text = inverse_text(function.function, value)
    return text if text is not None else f"the inverse of {function.forward_text} at {value}"


def why_no_event_time(alternatives: Alternatives) -> str:
    """Of a column without one."""
    if not alternatives:
        return "it is no function of the packet's time"
    text = alternatives[0].forward_text
    return f"{text} has no inverse that can be written down"
