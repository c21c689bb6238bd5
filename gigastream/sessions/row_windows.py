# SPDX-License-Identifier: Apache-2.0
"""Windows of rows count the tuples of one source: several have no order between their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gigastream.codegen.interfaces import is_read
from gigastream.plan import Plan
from gigastream.records.source import AnySource
from gigastream.sources.live import LiveSource
from gigastream.sources.packets import PacketSource


class SeveralSourcesError(Exception):
    """A window of rows is asked for over more than one source."""

    exit_code = 2
    hint = "name one interface, iface.P, with one file or ring; or window a time"

    def __init__(self, node: str, count: int) -> None:
        super().__init__(f"the windows of rows of {node} count one source, not {count} together")


def check_row_windows(plan: Plan, sources: Sequence[AnySource | PacketSource]) -> None:
    """Raise SeveralSourcesError where an LFTA that numbers tuples would have several sources."""
    counted: Counter[str] = Counter()
    for source in sources:
        counted[source.interface] += source.settings.fanout if isinstance(source, LiveSource) else 1
    for node in plan.low:
        if node.row_column is None:
            continue
        count = sum(number for name, number in counted.items() if is_read(node, name))
        if count > 1:
            raise SeveralSourcesError(node.name, count)
