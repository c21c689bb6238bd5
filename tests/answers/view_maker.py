# SPDX-License-Identifier: Apache-2.0
"""Queries at random that open tunnels, put datagrams together, order TCP; packets for them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.answers.mixture import START_NS, Mixture, packets_of
from tests.answers.query_maker import INET, WHOLE, Column, QueryMaker
from tests.strategies import fragments, segments, tunnels
from tests.strategies.files import Packet

TUNNELS = ("all", "gre", "vxlan", "gre,vxlan:1", "ipip,6in4", "gtp,teredo", "pw,geneve", "all:2")
OUTER = [
    *(Column(name, INET) for name in ("outer_srcIP", "outer_destIP")),
    *(Column(f"outer_{name}", WHOLE, is_small=True)
      for name in ("protocol", "vlan", "ttl", "srcPort", "destPort")),
]  # fmt: skip


class ViewMaker(QueryMaker):
    """Each query that reads packets says how it sees them."""

    _opens = False

    def _over_packets(self, name: str, options: str) -> tuple[str, list[Column]]:
        return super()._over_packets(name, f"{options} {self._view()}")

    def _over_union(self, name: str) -> str:
        text = super()._over_union(name)
        return text.replace("visibility internal;", f"visibility internal; {self._view()}")

    def _view(self) -> str:
        self._opens = False
        chosen = []
        if self._random.random() < 0.6:
            chosen.append(f"decapsulate '{self._pick(*TUNNELS)}';")
            self._opens = True
        if self._random.random() < 0.4:
            chosen.append("defragment 'yes';")
        if self._random.random() < 0.3:
            chosen.append("tcp_order;")
        return " ".join(chosen)

    def _some(self, columns: Sequence[Column]) -> list[Column]:
        """What is around the packet too; of it, as of the packet, what is named must be there."""
        found = super()._some(columns)
        is_ip = any(column.name == "srcIP" for column in columns)
        if self._opens and is_ip and self._random.random() < 0.5:
            found += self._random.sample(OUTER, 2)
        return found


def seen_packets(chance: Random) -> list[Packet]:
    """Tunnels, fragments, segments, or a mixture."""
    kind = chance.randrange(5)
    if kind == 0:
        return fragments.everything(chance.randrange(1 << 32), START_NS)
    if kind == 1:
        return segments.everything(chance.randrange(1 << 32), START_NS)
    if kind == 2:
        return packets_of(Mixture(chance.randrange(1 << 32), packets=100, hosts=3, seconds=90))
    found, moment = [], START_NS
    frames = list(tunnels.as_bytes().values())
    for _ in range(chance.choice((30, 200))):
        frame = chance.choice(frames)
        moment += chance.choice((0, 10**6, 10**9))
        kept = chance.randrange(len(frame)) if chance.random() < 0.1 else len(frame)
        found.append(Packet(moment, frame[:kept], len(frame)))
    return found
