# SPDX-License-Identifier: Apache-2.0
"""The captures that golden queries are asked of, by name."""

from __future__ import annotations

from collections.abc import Callable

from captures import DEMO_CAPTURE

from tests.answers.links import Links, links_of
from tests.answers.mixture import START_NS, Mixture, packets_of
from tests.answers.wrapped import wrapped
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap, pcapng


def _demo() -> bytes:
    return DEMO_CAPTURE.read_bytes()


def _mixture() -> bytes:
    return pcap(packets_of(Mixture(seed=20050830, packets=1200, hosts=9)), magic=NANOSECONDS)


def _other() -> bytes:
    """A second interface's: other hosts, other byte order, a section with three interfaces."""
    chosen = packets_of(Mixture(seed=7, packets=250, hosts=3, seconds=130))
    spread = [Packet(p.timestamp_ns, p.data, p.length, at % 3) for at, p in enumerate(chosen)]
    return pcapng(spread, order=">")


def _few() -> bytes:
    """Five packets around a change of minute, one of them late by 0.4 s: rows one can check."""
    times_ms = (59_000, 59_800, 60_200, 59_900, 125_000)
    data = [
        frames.ethernet(0x0800, frames.ipv4(0x0A000001, 0x0A000002, 6, frames.tcp(1, 80, bytes(n))))
        for n in (0, 10, 20, 30, 40)
    ]
    times = (START_NS + ms * 10**6 for ms in times_ms)
    return pcap(list(map(Packet, times, data)), magic=NANOSECONDS)


NEAR, FAR = links_of(Links(seed=20070401, conversations=90, seconds=150))


def _near() -> bytes:
    """One of two links that see the same conversations: links.py."""
    return pcap(NEAR, magic=NANOSECONDS)


def _far() -> bytes:
    return pcap(FAR, magic=NANOSECONDS)


def _none() -> bytes:
    return pcap([])


def _wrapped() -> bytes:
    """The same packets on links of many types."""
    return wrapped(seed=13, packets=40)


def _tunnels() -> bytes:
    """Packets in tunnels of every kind, and what is none, of ten seconds."""
    from tests.strategies.tunnels import as_bytes

    data = [each for _ in range(2) for each in as_bytes().values()]
    times = range(START_NS, START_NS + 10**10, 10**10 // len(data))
    return pcap(map(Packet, times, data), magic=NANOSECONDS)


def _fragments() -> bytes:
    """Fragments of datagrams, honest ones and others, of half a minute."""
    from tests.strategies.fragments import in_turn

    return pcap(in_turn(START_NS), magic=NANOSECONDS)


def _segments() -> bytes:
    """Connections of TCP out of order, with forged segments among them."""
    from tests.strategies.segments import everything

    return pcap(everything(34, START_NS), magic=NANOSECONDS)


INPUTS: dict[str, Callable[[], bytes]] = {
    "demo": _demo,
    "mixture": _mixture,
    "other": _other,
    "few": _few,
    "near": _near,
    "far": _far,
    "wrapped": _wrapped,
    "tunnels": _tunnels,
    "fragments": _fragments,
    "segments": _segments,
    "none": _none,
}
