# SPDX-License-Identifier: Apache-2.0
"""In which order a query sees packets to which segments of TCP come in order: tcp_order.

Numbers are written out here again: two seconds, a window of a gigabyte. Of memory there is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.oracle.fragments import Datagrams, whole
from tests.oracle.packet import Layers

WAIT_NS = 2 * 10**9
WINDOW = 2**30
MODULUS = 2**32


def distance(to: int, since: int) -> int:
    """How far a sequence number is ahead of another, or behind it."""
    return (to - since + MODULUS // 2) % MODULUS - MODULUS // 2


@dataclass
class Held:
    """A segment that waits."""

    begin: int
    end: int
    since_ns: int
    """Its own time, or H with what comes behind it."""
    number: int
    layers: Layers


@dataclass
class Direction:
    """One way of a connection."""

    first: int
    expected: int
    held: list[Held] = field(default_factory=list)

    def in_turn(self) -> Held:
        """The one that goes on first."""
        return min(self.held, key=lambda h: (distance(h.begin, self.expected), h.number))


class Segments:
    """Those of an interface."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._directions: dict[tuple[object, ...], Direction] = {}
        self._now: int | None = None
        self._previous: int | None = None
        self._fresh: Held | None = None

    def see(self, timestamp_ns: int) -> Iterator[Layers]:
        """Time is what two packets, one after the other, have reached."""
        if self._previous is not None:
            both = min(self._previous, timestamp_ns)
            self._now = both if self._now is None else max(self._now, both)
        self._previous = timestamp_ns
        if self._fresh is not None and self._now is not None:
            self._fresh.since_ns = min(self._fresh.since_ns, self._now)
        self._fresh = None
        while (waits := self._longest()) and self._now is not None:
            if self._now - waits[1].since_ns <= WAIT_NS:
                return
            yield from self._give_up(waits[0], "gaps_waited")

    def end(self) -> Iterator[Layers]:
        """No more comes."""
        while waits := self._longest():
            yield from self._give_up(waits[0], "gaps_ended")

    def take(self, layers: Layers, depth: int) -> Iterator[Layers]:
        """What goes on when a packet comes."""
        packet = layers.as_protocol("TCP")
        if packet is None or layers.network is None:
            yield layers
            return
        self.counts["segments"] += 1
        ends = packet["srcPort"], packet["destPort"], layers.network.addresses
        tags = layers.packet.get("vlan"), layers.packet.get("inner_vlan")
        begin, is_syn = packet["sequence_number"], packet["syn"]
        end = (begin + packet["data_length"] + is_syn + packet["fin"]) % MODULUS
        key = (*ends, tags, depth)
        first = (begin + is_syn) % MODULUS
        direction = self._directions.setdefault(key, Direction(first, begin))
        is_far = abs(distance(begin, direction.expected)) > WINDOW
        if is_far or (is_syn and first != direction.first):
            while direction.held:
                yield from self._give_up(direction, "gaps_ended")
            direction.first, direction.expected = first, begin
        if distance(begin, direction.expected) > 0:
            self._hold(direction, begin, end, layers)
            return
        yield layers
        self._pass(direction, begin, end)
        yield from self._release(direction)

    def _hold(self, direction: Direction, begin: int, end: int, layers: Layers) -> None:
        assert layers.record.timestamp_ns is not None
        time_ns, number = layers.record.timestamp_ns, self.counts["segments_held"]
        self._fresh = Held(begin, end, time_ns, number, layers)
        direction.held.append(self._fresh)
        self.counts["segments_held"] += 1

    def _pass(self, direction: Direction, begin: int, end: int) -> None:
        if distance(end, direction.expected) > 0:
            direction.expected = end
        elif begin != end:
            self.counts["segments_repeated"] += 1

    def _release(self, direction: Direction) -> Iterator[Layers]:
        while direction.held:
            following = direction.in_turn()
            if distance(following.begin, direction.expected) > 0:
                return
            direction.held.remove(following)
            yield following.layers
            self._pass(direction, following.begin, following.end)

    def _give_up(self, direction: Direction, cause: str) -> Iterator[Layers]:
        self.counts[cause] += 1
        direction.expected = direction.in_turn().begin
        yield from self._release(direction)

    def _longest(self) -> tuple[Direction, Held] | None:
        held = [(each, one) for each in self._directions.values() for one in each.held]
        return min(held, key=lambda found: (found[1].since_ns, found[1].number), default=None)


def in_order(
    packets: Iterable[Layers],
    decapsulate: str,
    segments: Segments,
    datagrams: Datagrams | None = None,
) -> Iterator[Layers]:
    """The packets of an interface, opened and put together as the query says, TCP in order."""
    for layers in packets:
        assert layers.record.timestamp_ns is not None
        yield from segments.see(layers.record.timestamp_ns)
        found = whole(layers, decapsulate, datagrams)
        if found is not None:
            yield from segments.take(*found)
    if datagrams is not None:
        datagrams.end()
    yield from segments.end()
