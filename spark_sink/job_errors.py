# SPDX-License-Identifier: Apache-2.0
"""What can go wrong around a job, said to a person."""

from __future__ import annotations


class JobError(Exception):
    """A job that cannot start, or that failed: the message says why, the hint what to do."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 1) -> None:
        """`exit_code` is 1 where the job failed, 2 where something wrong was asked for."""
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code
