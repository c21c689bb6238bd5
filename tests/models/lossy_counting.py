# SPDX-License-Identifier: Apache-2.0
"""Lossy counting (Manku, Motwani, VLDB 2002): rows in buckets."""

from __future__ import annotations


class LossyCounting:
    """The state of a supergroup; its functions by the names that queries call."""

    def __init__(self, _before: LossyCounting | None, _number: int) -> None:
        self.rows, self.bucket = 0, 1

    def end(self) -> None:
        """Nothing changes."""

    def local_count(self, width: int) -> bool:
        self.rows += 1
        is_last = self.rows % max(width, 1) == 0
        self.bucket += is_last
        return is_last

    def current_bucket(self) -> int:
        return self.bucket

    def local_rows(self) -> int:
        return self.rows
