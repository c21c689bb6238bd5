# SPDX-License-Identifier: Apache-2.0
"""What keeps the console from being served."""

from __future__ import annotations


class ConsoleError(Exception):
    """It cannot be served so; the message is for a person."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
