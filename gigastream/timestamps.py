# SPDX-License-Identifier: Apache-2.0
"""Whose time the packets of an interface have: its property (Bai et al., ICDE 2007, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from decimal import Decimal

Timestamps = Literal["external", "internal", "latent"]
TIMESTAMPS: tuple[Timestamps, ...] = get_args(Timestamps)
"""As the engine numbers them.

external: what the packets say. internal: this host's clock when they are read, so that they come in
order. latent: the same, and nobody waits for them: their time is the clock's, unasked.
"""
EXTERNAL: Timestamps = "external"
PROPERTY = "timestamps"
"""Of an interface, in a configuration file."""
IN_ORDER = "in_order"
"""What an interface has whose only source gives packets their time as it reads them."""


def parse_timestamps(text: str) -> Timestamps:
    """Read one of them. ValueError."""
    for name in TIMESTAMPS:
        if text == name:
            return name
    raise ValueError(f"'{text}' is none of {', '.join(TIMESTAMPS)}")


_FINEST = -100
"""The power of ten below which a number has no part in any unit."""


def whole_units(number: Decimal, unit: int) -> int:
    """Return how many units a number of times `unit` has: what is finer is cut (GSQL section 8).

    Exactly, where Decimal's own arithmetic rounds to 28 digits.
    """
    if number.adjusted() < _FINEST:
        return -1 if number < 0 else 0
    numerator, denominator = number.as_integer_ratio()
    return numerator * unit // denominator
