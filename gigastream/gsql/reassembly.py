# SPDX-License-Identifier: Apache-2.0
"""What is done to packets before a query sees them: DEFINE { defragment …; tcp_order … }."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Reassembly:
    """What is put together, or in order, before the query sees it; at least one of these."""

    datagrams: bool
    """IP datagrams, of their fragments."""
    segments: bool
    """Segments of TCP, in the order of their sequence."""
