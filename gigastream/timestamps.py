# SPDX-License-Identifier: Apache-2.0
"""Whose time the packets of an interface have: its property (Bai et al., ICDE 2007, section 5)."""

from __future__ import annotations

from typing import Literal, get_args

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
