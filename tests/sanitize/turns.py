# SPDX-License-Identifier: Apache-2.0
"""How often something random is tried: the same inputs on every machine, unless it is told longer.

Where GIGASTREAM_FUZZ_SECONDS says how long, as many as there is time for, at least one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count

SECONDS = float(os.environ.get("GIGASTREAM_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("GIGASTREAM_FUZZ_SEED", "1"))


def turns(few: int) -> Iterator[int]:
    """Count them."""
    if SECONDS == 0:
        yield from range(few)
        return
    until = time.monotonic() + SECONDS
    for number in count():
        if number > 0 and time.monotonic() >= until:
            return
        yield number
