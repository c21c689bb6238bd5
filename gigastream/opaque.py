# SPDX-License-Identifier: Apache-2.0
"""Values that nothing looks into: N bytes, of the type `fstringN`."""

from __future__ import annotations

import re

OPAQUE = 13
OPAQUE_MAX = 16384
"""GS_OPAQUE, GS_OPAQUE_MAX: its number in C, and the bytes of the largest value."""
_NAME = re.compile("fstring(0|[1-9][0-9]{0,17})", re.IGNORECASE | re.ASCII)


def opaque_size(name: str) -> int | None:
    """The N of a name `fstringN`, be it too large; None for other names."""
    found = _NAME.fullmatch(name)
    return None if found is None else int(found[1])
