# SPDX-License-Identifier: Apache-2.0
"""Queries at random of which threads can divide many: groups of packets, and what reads these.

Of those that QueryMaker makes they are one in ten: most pass rows, or keep values in their order.
"""

from __future__ import annotations

from tests.answers.query_maker import WHOLE, Column, QueryMaker


class DividedMaker(QueryMaker):
    """Aggregations over packets; one in three has a query over it."""

    def _text(self, name: str) -> str:
        if self._random.random() < 0.65:
            return self._over_packets(name, "")[0]
        return self._over_query(name)

    def _query(self, name: str, source: str, options: str) -> tuple[str, list[Column]]:
        is_above = source.endswith("_in")
        kind = self._random.random()
        make = self._selection if is_above and kind < 0.6 else self._aggregation
        make = self._distinct if kind > 0.9 else make
        body, columns = make(source)
        return f"DEFINE {{ query_name {name};{options} }}\n{body}", columns

    def _kind(self) -> str:
        """Groups of numbers and addresses can be parted; most are."""
        return super()._kind() if self._random.random() < 0.2 else WHOLE

    def _in_sets(self, groups: list[str]) -> tuple[list[str], list[str]]:
        """Rarely: groups in sets are completed by one."""
        return super()._in_sets(groups) if self._random.random() < 0.3 else (groups, [])
