# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to be so, not for a time to pass."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 300
"""Long enough beside other load; what comes is not waited for any longer."""
_LOOK_AGAIN_S = 0.02


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for it, but not for ever."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(_LOOK_AGAIN_S)
