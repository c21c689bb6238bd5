# SPDX-License-Identifier: Apache-2.0
"""When a source has failed, and what then (Johnson et al., VLDB 2005, section 6.1)."""

from __future__ import annotations

from enum import StrEnum

from gigastream.late_dataclass import dataclass


class OnFailure(StrEnum):
    """What becomes of a run, in the order of enum gs_on_failure."""

    WAIT = "wait"
    GO_ON = "go-on"
    END = "end"

    @property
    def number(self) -> int:
        """The value in C."""
        return list(OnFailure).index(self)


POLICIES = tuple(policy.value for policy in OnFailure)


@dataclass(frozen=True, slots=True)
class Liveness:
    """How long a pipe, a link or a stream of a spool may say nothing."""

    silence_ns: int | None = None
    """None: as long as it likes."""
    on_failure: str = "wait"
