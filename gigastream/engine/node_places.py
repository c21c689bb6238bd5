# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a plan a query set does not run, where several sets run a plan together."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NodePlaces:
    """By the numbers of the nodes in the plan."""

    elsewhere: Sequence[int] = ()
    """Others run them, and nothing of them comes here."""
    pushed: Sequence[int] = ()
    """Others run them, and their batches are pushed into this set, which stands alone."""

    @property
    def of_others(self) -> frozenset[int]:
        """All that the set does not run."""
        return frozenset((*self.elsewhere, *self.pushed))


ALL_HERE = NodePlaces()
