# SPDX-License-Identifier: Apache-2.0
"""What keeps the console from being served."""

from __future__ import annotations


class ConsoleError(Exception):
    """It cannot be served so; the message is for a person."""

    exit_code = 2
    status = 503
    """Of the answer to a request that has met it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class TooLongError(ConsoleError):
    """A request is longer than a query can be."""

    status = 413
