# SPDX-License-Identifier: Apache-2.0
"""What packets say of how they are captured: a filter that cannot mean them, joined ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gigastream.engine.statistics import SourceStatistics

_OF_TAGS = re.compile(r"\b(vlan|ether\s*\[)")


def tag_hint(source: SourceStatistics, bpf_filter: str) -> str | None:
    """Say that a filter looks at other bytes of a tagged frame, where some did not pass it."""
    if not source.filtered_tagged or _OF_TAGS.search(bpf_filter):
        return None
    return (
        f"{source.label}: frames with a VLAN tag do not pass the filter '{bpf_filter}'; "
        f"'({bpf_filter}) or (vlan and ({bpf_filter}))' asks them, too"
    )


def joined_hint(source: SourceStatistics) -> str | None:
    """Say that packets were longer than the device sends and takes."""
    if not source.oversized:
        return None
    device = source.label.partition("/")[0]
    return (
        f"{source.label}: packets are longer than its MTU allows: they are joined from several, so "
        f"counts are not those of the wire; ethtool -K {device} gro off lro off tso off gso off"
    )
