# SPDX-License-Identifier: Apache-2.0
"""Packets that something else lets through, at random: what makers of such joins share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from tests.answers.query_maker import ADDRESSES, BOOL, PROTOCOLS, WHOLE
from tests.answers.stream_maker import CLOCKS, StreamMaker

PLACE = "PLACE"
"""Stands for FROM until it is known what is joined."""


class PassingMaker(StreamMaker):
    """Asks about rows of packets; some queries group them by windows in brackets."""

    def __init__(self, random: Random, interfaces: Sequence[str]) -> None:
        super().__init__(random, interfaces, ())

    def _asked(self, name: str) -> str:
        """A query over PLACE."""
        if self._random.random() < 0.3:
            return self._windowed(name, PLACE, CLOCKS)
        return self._query(name, PLACE, "")[0]

    def _placed(self, text: str, join: str, sources: tuple[str, str], where: Sequence[str]) -> str:
        """The query over two sources; a bracket behind PLACE stands behind either."""
        head, _, rest = text.partition(f"\nFROM {PLACE}")
        bracket, condition, clauses = _parts(rest)
        first, second = self._random.choice(((bracket, ""), ("", bracket)))
        conditions = [*where, *([f"({self._own(condition)})"] if condition else [])]
        self._random.shuffle(conditions)
        source = f"{join} FROM {sources[0]}{first}, {sources[1]}{second}"
        return f"{head}\n{source}\nWHERE {' AND '.join(conditions)}{clauses}"

    def _own(self, condition: str) -> str:
        """The condition, where names alone are not clear."""
        return condition


def _parts(rest: str) -> tuple[str, str, str]:
    """What stands behind FROM: a bracket, the condition of WHERE, and the clauses behind it."""
    found = re.search(r"\n(GROUP|HAVING|ORDER) BY |\nHAVING ", rest)
    at = len(rest) if found is None else found.start()
    bracket, _, condition = rest[:at].partition("\nWHERE ")
    return bracket, condition, rest[at:]


class FilterMaker(PassingMaker):
    """FILTER_JOINs (GSQL section 6.9): what WHERE says is of r, but for what is added."""

    def _text(self, name: str) -> str:
        protocol = self._pick("PKT", "IPV4", "IP", "DataProtocol", "TCP")
        self._columns = self._some(PROTOCOLS[protocol])
        text = self._asked(name)
        conditions = [f"r.{r} = s.{s}" for r, s in self._pairs(protocol).items()]
        conditions += [self._pick("s.len > 60", "s.len % 3 = 1", "TRUE", "s.packet_id > 20")]
        window = self._pick("time, 0", "time, 9", "time_ms, 400", "timestamp, 30000000000")
        sources = (f"{protocol} r", f"{protocol} s")
        return self._placed(text, f"FILTER_JOIN({window})", sources, conditions)

    def _own(self, condition: str) -> str:
        names = "|".join(column.name for column in self._columns)
        named = rf"(?<!AS )\b({names})\b(?=(?:[^']*'[^']*')*[^']*$)"
        return re.sub(named, r"r.\1", condition)

    def _pairs(self, protocol: str) -> dict[str, str]:
        """What of r is equated with what of s."""
        keys = [c.name for c in PROTOCOLS[protocol] if c.kind in (WHOLE, BOOL, *ADDRESSES)]
        keys = [key for key in keys if key not in ("time", "time_ms", "packet_id", "srcMAC")]
        if "srcIP" in keys and self._pick("", "x"):
            return {"srcIP": "destIP"}
        return {key: key for key in self._random.sample(keys, min(2, len(keys)))}
