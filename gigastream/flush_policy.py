# SPDX-License-Identifier: Apache-2.0
"""When groups leave the tables of the low level (OPERATORS section 3)."""

from __future__ import annotations

from enum import StrEnum


class FlushPolicy(StrEnum):
    """The policies under the names of DEFINE and --flush, in the order of enum gs_flush_policy."""

    SLOW = "slow"
    IMMEDIATE = "immediate"
    SLOW_INORDER = "slow_inorder"
    LAZY = "lazy"

    @property
    def constant(self) -> str:
        """The name in C."""
        return f"GS_FLUSH_{self.name}"

    @property
    def number(self) -> int:
        """The value in C."""
        return list(FlushPolicy).index(self)


MAX_DISORDER_WINDOWS = 2
"""Windows that a group may leave late, unless DEFINE says else."""
FLUSH_POLICIES = tuple(policy.value for policy in FlushPolicy)
