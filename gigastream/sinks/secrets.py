# SPDX-License-Identifier: Apache-2.0
"""Passwords in the name of a place: everybody would read them among the processes, and in logs."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@|(password|passwd|pwd|secret)\s*=", re.IGNORECASE)
"""libpq looks for the @ up to a / alone; it has sslpassword and oauth_client_secret, too."""


def names_secret(place: str) -> bool:
    """Whether a URI, or words of libpq, hold a password."""
    return _PASSWORD.search(place) is not None
