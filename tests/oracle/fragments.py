# SPDX-License-Identifier: Apache-2.0
"""What records are for a query that puts datagrams together: DEFINE { defragment … }.

The fragment that completes a datagram becomes it; the others are no packets. Numbers are written
out here again: thirty seconds, 128 fragments, RFC 5722's rule for what overlaps.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tests.oracle.frame import Frame, Link
from tests.oracle.network import FRAGMENT, IPV6_HEADER_BYTES, Network
from tests.oracle.packet import LINK_FIELDS, Layers, layers_of
from tests.oracle.tunnels import names_of, opened, with_outer

WAIT_NS = 30 * 10**9
MOST_PIECES = 128
MOST_BYTES = 65_535


@dataclass(frozen=True)
class Part:
    """A fragment: which bytes of the payload, those of them that there are, what stands before."""

    begin: int
    end: int
    is_last: bool
    data: bytes
    head: bytes
    layers: Layers


@dataclass
class Waiting:
    """What has come of a datagram."""

    since_ns: int | None = None
    """What time was with the next packet."""
    parts: list[Part] = field(default_factory=list)
    is_dead: bool = False

    @property
    def total(self) -> int | None:
        """How long the payload is, once its last fragment has come."""
        return next((part.end for part in self.parts if part.is_last), None)


class Datagrams:
    """Those of an interface."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._waiting: dict[tuple[object, ...], Waiting] = {}
        self._now: int | None = None
        self._previous: int | None = None

    def see(self, timestamp_ns: int) -> None:
        """Time is what two packets, one after the other, have reached."""
        if self._previous is not None:
            both = min(self._previous, timestamp_ns)
            self._now = both if self._now is None else max(self._now, both)
        self._previous = timestamp_ns
        for key, waiting in list(self._waiting.items()):
            waiting.since_ns = self._now if waiting.since_ns is None else waiting.since_ns
            if self._now is not None and self._now - (waiting.since_ns or 0) > WAIT_NS:
                self._drop("fragments_incomplete", self._waiting.pop(key))

    def end(self) -> None:
        """No more comes."""
        for waiting in self._waiting.values():
            self._drop("fragments_incomplete", waiting)
        self._waiting.clear()

    def take(self, layers: Layers, depth: int) -> Layers | None:
        """The packet, or the datagram that it completes, or None."""
        network = layers.network
        found = None if network is None else _fragment(layers.frame, network)
        if network is None or found is None:
            return layers
        self.counts["fragments"] += 1
        begin, is_last, at, protocol, id_ = found
        size = network.payload_end - at
        head_bytes = at - network.at - (0 if network.version == 4 else IPV6_HEADER_BYTES + 8)
        if not size or (size % 8 and not is_last) or head_bytes + begin + size > MOST_BYTES:
            self.counts["fragments_malformed"] += 1
            return None
        tags = layers.packet.get("vlan"), layers.packet.get("inner_vlan")
        key = (*network.addresses, protocol, id_, tags, depth)
        data, head = layers.frame.data[at : at + size], layers.frame.data[:at]
        part = Part(begin, begin + size, is_last, data, head, layers)
        waiting = self._waiting.setdefault(key, Waiting())
        self._add(waiting, part)
        if sum(p.end - p.begin for p in waiting.parts) != waiting.total:
            return None
        return self._whole(self._waiting.pop(key), layers)

    def _add(self, waiting: Waiting, part: Part) -> None:
        total = waiting.total
        is_beyond = total is not None and (part.end > total or (part.is_last and part.end != total))
        is_short = part.is_last and any(other.end > part.end for other in waiting.parts)
        known = (part.begin, part.end, part.is_last)
        same = any((p.begin, p.end, p.is_last) == known for p in waiting.parts)
        overlaps = any(p.begin < part.end and part.begin < p.end for p in waiting.parts)
        if waiting.is_dead or is_beyond or is_short or (overlaps and not same):
            self._drop("fragments_overlapping", waiting)
            self.counts["fragments_overlapping"] += 1
            waiting.parts, waiting.is_dead = [], True
        elif same:
            self.counts["fragments_repeated"] += 1
        elif len(waiting.parts) == MOST_PIECES:
            self.counts["fragments_no_room"] += 1
        else:
            waiting.parts.append(part)

    def _drop(self, cause: str, waiting: Waiting) -> None:
        self.counts[cause] += len(waiting.parts)

    def _whole(self, waiting: Waiting, last: Layers) -> Layers | None:
        parts = sorted(waiting.parts, key=lambda part: part.begin)
        first = parts[0].layers
        assert first.network is not None
        head = _mended(first.network, parts[0].head, parts[-1].end)
        if head is None:
            self._drop("fragments_malformed", waiting)
            return None
        self.counts["datagrams"] += 1
        data = head + b"".join(_present(parts))
        length = sum(part.layers.record.length for part in parts)
        record = replace(last.record, captured_length=len(data), length=length)
        fields = {name: first.packet[name] for name in LINK_FIELDS & first.packet.keys()}
        link = Link(fields=fields, is_ethernet=first.is_ethernet)
        link.found(first.network.version, first.network.at)
        return layers_of(record, Frame(data, length), link)


def _fragment(frame: Frame, network: Network) -> tuple[int, bool, int, int, int] | None:
    """Where its bytes belong, whether it is the last, where they are, protocol and id."""
    if network.version == 4:
        word = frame.u16(network.at + 6)
        found = (word & 0x1FFF) * 8, not word & 0x2000, network.payload_at
        place = (*found, frame.u8(network.at + 9), frame.u16(network.at + 4))
        return place if word & 0x3FFF else None
    at = _fragment_header(frame, network)
    if at is None:
        return None
    word = frame.u16(at + 2)
    place = word & 0xFFF8, not word & 1, at + 8, 0, frame.u32(at + 4)
    return place if word & 0xFFF9 else None


def _fragment_header(frame: Frame, network: Network) -> int | None:
    """The first one of those that were walked."""
    following, at = frame.u8(network.at + 6), network.at + IPV6_HEADER_BYTES
    while at < network.payload_at:
        if following == FRAGMENT:
            return at
        size = (frame.u8(at + 1) + 2) * 4 if following == 51 else (frame.u8(at + 1) + 1) * 8
        following, at = frame.u8(at), at + size
    return None


def _mended(network: Network, head: bytes, total: int) -> bytes | None:
    """The headers as they were before, or None if they cannot say how long the datagram is."""
    out = bytearray(head)
    if network.version == 4:
        length = len(out) - network.at + total
        flags = struct.unpack_from("!H", out, network.at + 6)[0] & 0xC000
        if length > MOST_BYTES:
            return None
        struct.pack_into("!H", out, network.at + 2, length)
        struct.pack_into("!H", out, network.at + 6, flags)
        return bytes(out)
    following = out[-8]
    del out[-8:]
    named_at, at = network.at + 6, network.at + IPV6_HEADER_BYTES
    while at < len(out):
        size = (out[at + 1] + 2) * 4 if out[named_at] == 51 else (out[at + 1] + 1) * 8
        named_at, at = at, at + size
    out[named_at] = following
    length = len(out) - network.at - IPV6_HEADER_BYTES + total
    if length > MOST_BYTES:
        return None
    struct.pack_into("!H", out, network.at + 4, length)
    return bytes(out)


def _present(parts: Iterable[Part]) -> Iterator[bytes]:
    """What was captured, up to the first byte that was not."""
    for part in parts:
        yield part.data
        if len(part.data) < part.end - part.begin:
            return


def wholes(packets: Iterable[Layers], decapsulate: str, datagrams: Datagrams) -> Iterator[Layers]:
    """The packets of an interface, put together at each depth of the tunnels that are opened."""
    for layers in packets:
        found = whole(layers, decapsulate, datagrams)
        if found is not None:
            yield found[0]
    datagrams.end()


def whole(
    layers: Layers, decapsulate: str, datagrams: Datagrams | None
) -> tuple[Layers, int] | None:
    """The packet that a record is, or completes, and in how many tunnels it is; None: no packet."""
    assert layers.record.timestamp_ns is not None
    if datagrams is not None:
        datagrams.see(layers.record.timestamp_ns)
    tunnels, most = names_of(decapsulate) if decapsulate else ((), 0)
    outermost = packet = datagrams.take(layers, 0) if datagrams else layers
    depth = 0
    while packet is not None and depth < most:
        inner = opened(packet, tunnels)
        if inner is None:
            break
        depth += 1
        packet = datagrams.take(inner, depth) if datagrams else inner
    if packet is None or outermost is None:
        return None
    return (with_outer(packet, outermost) if depth else packet), depth
