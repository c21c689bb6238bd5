# SPDX-License-Identifier: Apache-2.0
"""Calls made at random of aggregates that keep values one by one (GSQL section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.answers.query_maker import Column

WHOLE, FLOAT, STRING, TIMESTAMP = "whole", "float", "string", "timestamp"


def kept(
    random: Random, columns: Sequence[Column], expression: Callable[[str, int], str]
) -> tuple[str, str]:
    """A call and the kind of its result; `expression` makes one of a kind and depth."""
    addresses = [c.kind for c in columns if c.kind.startswith("I")]
    texted = expression(random.choice([*addresses, WHOLE, WHOLE, STRING]), 1)
    between = random.choice(("''", "', '", "' | '"))
    most = random.choice([*addresses, WHOLE, WHOLE, FLOAT, STRING, TIMESTAMP])
    return random.choice(
        (
            (f"mode({expression(most, 1)})", most),
            (f"count_diff({expression(random.choice(columns).kind, 1)})", WHOLE),
            (f"histogram({texted})", STRING),
            (f"array_agg({texted})", STRING),
            (f"string_agg({texted}, {between})", STRING),
            (f"CAT_aggr({between}, {texted})", STRING),
        )
    )
