# SPDX-License-Identifier: Apache-2.0
"""The tunnels that DEFINE { decapsulate … } names: which IP protocol or UDP port is which.

This is the one table of them: generated code takes its rules from here (csrc/abi/gs_tunnels.h),
and the kernel's filter the ports.
"""

from __future__ import annotations

from collections.abc import Iterator

from gigastream.late_dataclass import dataclass

MOST_DEPTH = 16
DEFAULT_DEPTH = 4
ALL = "all"


@dataclass(frozen=True, slots=True)
class TunnelRule:
    """How a packet is known to be a tunnel's."""

    kind: str
    """What stands before the inner packet, as enum gs_tunnel calls it."""
    ip_protocol: int
    """0: it follows MPLS labels."""
    udp_port: int = 0
    """The destination's; 0: it is not over UDP."""
    is_port_of_either: bool = False
    """The source's port may be it, too."""


UDP = 17
TUNNELS: dict[str, tuple[TunnelRule, ...]] = {
    "vxlan": (TunnelRule("VXLAN", UDP, 4789), TunnelRule("VXLAN", UDP, 8472)),
    "geneve": (TunnelRule("GENEVE", UDP, 6081),),
    "gre": (TunnelRule("GRE", 47),),
    "gtp": (TunnelRule("GTP", UDP, 2152),),
    "ipip": (TunnelRule("IPV4", 4),),
    "6in4": (TunnelRule("IPV6", 41),),
    "teredo": (TunnelRule("TEREDO", UDP, 3544, is_port_of_either=True),),
    "pw": (TunnelRule("PSEUDOWIRE", 0),),
}
"""By the name in the query."""


@dataclass(frozen=True, slots=True)
class Decapsulation:
    """The tunnels that a query opens, in the order of the table, and how many of them at most."""

    tunnels: tuple[str, ...]
    depth: int = DEFAULT_DEPTH

    @property
    def rules(self) -> Iterator[TunnelRule]:
        """How they are known."""
        return (rule for name in self.tunnels for rule in TUNNELS[name])

    def __str__(self) -> str:
        depth = "" if self.depth == DEFAULT_DEPTH else f":{self.depth}"
        return ",".join(self.tunnels) + depth


def parse_decapsulation(text: str) -> Decapsulation:
    """Read `vxlan,gre`, `all`, or `gtp:2`, which opens two of them, one inside of the other.

    ValueError says what is wrong, KeyError which name is none.
    """
    names, colon, depth = text.lower().partition(":")
    if colon and not (depth.isascii() and depth.isdigit() and 1 <= int(depth[:9]) <= MOST_DEPTH):
        raise ValueError(f"how many tunnels are opened is a whole number from 1 to {MOST_DEPTH}")
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in TUNNELS and name != ALL:
            raise KeyError(name)
    chosen = tuple(name for name in TUNNELS if name in wanted or ALL in wanted)
    return Decapsulation(chosen, int(depth[:9]) if colon else DEFAULT_DEPTH)
