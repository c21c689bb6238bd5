# SPDX-License-Identifier: Apache-2.0
"""Small words of messages: `1 row is`, `2,010 rows are`, `an int`."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Write `1 row` or `2,010 rows`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def are(count: int) -> str:
    """Write what comes behind so many."""
    return "is" if count == 1 else "are"


def kind_of(value: object) -> str:
    """Write the type of a value with its article: `an int`, `a str`."""
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"
