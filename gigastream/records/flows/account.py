# SPDX-License-Identifier: Apache-2.0
"""What became of datagrams: each that was read is in one of the causes, or decoded."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass


@dataclass(slots=True)
class FlowAccount:
    """Counts of datagrams, of the parts in them, and of records."""

    datagrams: int = 0
    """Read: unknown + damaged + decoded."""
    unknown: int = 0
    """Of no format that is known."""
    damaged: int = 0
    """Whose header is cut off."""
    decoded: int = 0
    records: int = 0
    """Flow records given on."""
    damaged_sets: int = 0
    """Sets, or samples, that could not be read, in datagrams that were."""
    unknown_sets: int = 0
    """Sets without their template: it has not come yet, or was forgotten."""
    other_samples: int = 0
    """Of sFlow: counters, and samples that have no packet of IP; they are no flows."""
    missing: int = 0
    """What has not come, by exporters' numbers: v5 and IPFIX count records, others datagrams."""
