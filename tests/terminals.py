# SPDX-License-Identifier: Apache-2.0
"""What was written to a terminal."""

from __future__ import annotations

import os


def read_terminal(controller: int) -> bytes:
    """Read all that was written to a terminal, until nobody holds its other side.

    One read gives what the kernel has passed on by then, which may be less than was written.
    """
    parts: list[bytes] = []
    while True:
        try:
            parts.append(os.read(controller, 1 << 16))
        except OSError:  # EIO: the other side is closed, and all is read
            return b"".join(parts)
