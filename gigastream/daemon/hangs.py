# SPDX-License-Identifier: Apache-2.0
"""Whose turn it was when a capture process hung: a set that does it again and again is left out."""

from __future__ import annotations

from gigastream.daemon.messages import AttachOrder
from gigastream.engine.turns import TurnWord

TURN = TurnWord()
"""Made when this is imported, before the launcher is forked: all processes have the same. The
number is that of the set's AttachOrder."""
HANGS = 3
"""In a row in one set's turn, after which it is left out, whatever time lies between them."""


class Hangs:
    """Counts them, on the supervisor's side."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[str, str]] = {}
        """Of the capture process of now, by the numbers of their orders: name and object."""
        self._last: tuple[str, str] | None = None
        self._count = 0

    def ordered(self, order: AttachOrder) -> None:
        """A set is attached by this."""
        self._sets[order.number] = order.name, order.object_path

    def ended(self, hung_in: int | None) -> str | None:
        """A process has ended that hung in this turn, or did not hang: None; whose turn it was.

        A set that was changed meanwhile has another object, and begins anew.
        """
        last = None if hung_in is None else self._sets.get(hung_in)
        self._count = self._count + 1 if last == self._last else 1
        self._last = last
        self._sets.clear()
        return None if last is None else last[0]

    @property
    def guilty(self) -> str | None:
        """Who is to be left out."""
        return self._last[0] if self._last is not None and self._count >= HANGS else None
