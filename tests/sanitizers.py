# SPDX-License-Identifier: Apache-2.0
"""`make sanitize`: the sanitizers' libraries are loaded before every program that is started."""

from __future__ import annotations

import os

import pytest

IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""What the tests run in has AddressSanitizer."""


def not_sanitized(reason: str) -> pytest.MarkDecorator:
    """Skips a test under sanitizers, and says why it is none of theirs."""
    return pytest.mark.skipif(IS_SANITIZED, reason=reason)


def without_sanitizers() -> dict[str, str]:
    """The environment of a program that is not ours: some hang with a foreign allocator."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
