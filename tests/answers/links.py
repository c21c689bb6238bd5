# SPDX-License-Identifier: Apache-2.0
"""Two links that see the same conversations, each a little later than the other, and not all.

What goes to a server passes the near link first, what comes back the far one. Some conversations
take one link only, some answer over the other, some never; some packets are sent twice, some lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.answers.mixture import START_NS
from tests.strategies import frames
from tests.strategies.files import Packet

MS = 10**6
SYN, ACK, PUSH, FIN = 2, 16, 8, 1
LOST, TWICE = 0.06, 0.1
"""The parts of the packets that one link does not see, and that are sent again."""


@dataclass(frozen=True)
class Links:
    """What the two captures are like; equal ones have equal packets."""

    seed: int
    conversations: int = 40
    seconds: int = 120
    delay_ms: int = 40
    """At most between the links."""
    answer_ms: int = 900
    """At most between a question and its answer."""
    hosts: int = 4


@dataclass(frozen=True)
class _Passage:
    """A packet, when it passes the first of its links, and whether it goes to the server."""

    moment_ns: int
    data: bytes
    goes_out: bool


def links_of(links: Links) -> tuple[list[Packet], list[Packet]]:
    """The packets of the near link and of the far one, each in the order of their capture."""
    chance = Random(links.seed)
    near: list[Packet] = []
    far: list[Packet] = []
    for _ in range(links.conversations):
        _carry(chance, links, _conversation(chance, links), near, far)
    return sorted(near, key=_moment), sorted(far, key=_moment)


def _moment(packet: Packet) -> int:
    return packet.timestamp_ns


def _carry(
    chance: Random,
    links: Links,
    passages: Iterator[_Passage],
    near: list[Packet],
    far: list[Packet],
) -> None:
    """Both links see most conversations; of some each sees one direction."""
    way = chance.choice(("both", "both", "both", "near", "far", "apart"))
    for passage in passages:
        delay = chance.randrange(links.delay_ms * MS)
        first, second = (near, far) if passage.goes_out else (far, near)
        for link, moment in ((first, passage.moment_ns), (second, passage.moment_ns + delay)):
            is_alone = way == ("far" if link is near else "near")
            is_other = way == "apart" and passage.goes_out != (link is near)
            if not (is_alone or is_other or chance.random() < LOST):
                link.append(Packet(moment, passage.data))


def _conversation(chance: Random, links: Links) -> Iterator[_Passage]:
    moment = START_NS + chance.randrange(links.seconds * 1000 + 1) * MS
    client, server = 0x0A000001 + chance.randrange(links.hosts), 0x0A000064 + chance.randrange(2)
    port = 40_000 + chance.randrange(64)
    make = _name_asked if chance.random() < 0.4 else _opened
    for passage in make(chance, links, (client, server, port)):
        yield _Passage(moment + passage.moment_ns, passage.data, passage.goes_out)
        if chance.random() < TWICE:
            again = moment + passage.moment_ns + chance.randrange(200, 3000) * MS
            yield _Passage(again, passage.data, passage.goes_out)


Parties = tuple[int, int, int]
"""Client, server, and the client's port."""


def _name_asked(chance: Random, links: Links, parties: Parties) -> Iterator[_Passage]:
    """A question to port 53, and mostly its answer; `id` is the question's number in both."""
    client, server, port = parties
    number = chance.randrange(1, 1 << 16)
    question = frames.udp(port, 53, number.to_bytes(2, "big") + bytes(20))
    yield _Passage(0, _ipv4(client, server, frames.UDP, question, number), True)
    if chance.random() < 0.8:
        answer = frames.udp(53, port, number.to_bytes(2, "big") + bytes(60))
        after = chance.randrange(1, links.answer_ms) * MS
        yield _Passage(after, _ipv4(server, client, frames.UDP, answer, number), False)


def _opened(chance: Random, links: Links, parties: Parties) -> Iterator[_Passage]:
    """A handshake, of which the answer may be missing, and a few packets of data."""
    client, server, port = parties
    out, back = (port, 80), (80, port)
    yield _Passage(0, _tcp(chance, client, server, out, SYN), True)
    if chance.random() < 0.2:
        return
    moment = chance.randrange(1, links.answer_ms) * MS
    yield _Passage(moment, _tcp(chance, server, client, back, SYN | ACK), False)
    yield _Passage(moment + MS, _tcp(chance, client, server, out, ACK), True)
    for _ in range(chance.randrange(4)):
        moment += chance.randrange(1, 2000) * MS
        goes_out = chance.random() < 0.5
        ends, ports = ((client, server), out) if goes_out else ((server, client), back)
        yield _Passage(moment, _tcp(chance, *ends, ports, ACK | PUSH, 100), goes_out)


def _tcp(
    chance: Random, source: int, destination: int, ports: tuple[int, int], flags: int, size: int = 0
) -> bytes:
    segment = frames.tcp(*ports, bytes(chance.randrange(size + 1)), flags=flags)
    return _ipv4(source, destination, frames.TCP, segment, chance.randrange(1 << 16))


def _ipv4(source: int, destination: int, protocol: int, payload: bytes, number: int) -> bytes:
    packet = frames.ipv4(source, destination, protocol, payload, identification=number)
    return frames.ethernet(frames.ETHERTYPE_IPV4, packet)
