# SPDX-License-Identifier: Apache-2.0
"""The decoder against the oracle's packet table, which shares nothing with it.

Over the frames of every case, over mutants of them, and over the captures of ../shared/pcaps where
that folder is there.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.decode.harness import HERE, LINKS, ROOT, Frame, decode, read_cases
from tests.oracle.capture import read_capture
from tests.oracle.packet import Layers, parse
from tests.oracle.records import Record
from tests.oracle.tunnels import OF_LINK_NETWORK_AND_PORTS

PCAPS = Path(os.environ.get("GIGASTREAM_PCAPS", ROOT.parent / "shared" / "pcaps"))
LINK_TYPES = {  # LINKTYPE_ of libpcap's registry
    "null": 0,
    "ethernet": 1,
    "ppp": 9,
    "raw": 101,
    "ieee802_11": 105,
    "loop": 108,
    "sll": 113,
    "radiotap": 127,
    "ipv4": 228,
    "ipv6": 229,
    "sll2": 276,
    "cisco_hdlc": 104,
    "frame_relay": 107,
    "ppi": 192,
    "pktap": 258,
    "pflog": 117,
    "nflog": 239,
    "ipoib": 242,
    "sunatm": 123,
    "token_ring": 6,
    "fddi": 10,
}
PROTOCOLS = ("PKT", "ETH", "IPV4", "IPV6", "IP", "TCP", "UDP", "ICMP", "DataProtocol")
MAY_BE_ABSENT = frozenset({"etherType", "community_id"})
MAY_BE_ABSENT |= {f"outer_{name}" for name in OF_LINK_NETWORK_AND_PORTS}
ABSENT = "-"
MUTANTS = 20_000
SEED = 20050830


@pytest.mark.long
def test_cases(driver: Path) -> None:
    _assert_same(driver, _case_frames())


def test_mutants(driver: Path) -> None:
    _assert_same(driver, list(mutants(_case_frames(), random.Random(SEED))))


@pytest.mark.long
@pytest.mark.skipif(not PCAPS.is_dir(), reason=f"no captures in {PCAPS}")
@pytest.mark.parametrize("folder", ["good", "hostile", "broken", "ng-odd"])
def test_captures(driver: Path, folder: str) -> None:
    for path in sorted((PCAPS / folder).iterdir()):
        _assert_same(driver, list(capture_frames(path)), path.name)


def _case_frames() -> list[Frame]:
    cases = [case for path in sorted((HERE / "cases").glob("*.txt")) for case in read_cases(path)]
    return [
        replace(case.frame, depth=3)
        for case in cases
        if case.frame.link < len(LINKS) and case.frame.timestamp_ns >= 0
    ]


def mutants(frames: list[Frame], dice: random.Random) -> Iterator[Frame]:
    """Frames that are cut, spliced and changed."""
    for _ in range(MUTANTS):
        frame = dice.choice(frames)
        data = bytearray(frame.bytes + dice.choice(frames).bytes[: dice.choice((0, 8, 40))])
        for _ in range(dice.randrange(4)):
            if data:
                data[dice.randrange(min(len(data), 70))] = dice.choice((0, 1, 6, 17, 44, 69, 255))
        cut = dice.choice((len(data), dice.randrange(len(data) + 1)))
        yield replace(frame, bytes=bytes(data[:cut]), len_bytes=dice.choice((len(data), 30, 2000)))


def capture_frames(path: Path) -> Iterator[Frame]:
    """Those of a capture file."""
    links = {number: LINKS.index(name) for name, number in LINK_TYPES.items()}
    for record in read_capture(path).records:
        if record.link_type in links and record.timestamp_ns is not None:
            link, at = links[record.link_type], record.timestamp_ns
            yield Frame(link, record.data, record.length, timestamp_ns=at)


def _assert_same(driver: Path, frames: list[Frame], name: str = "") -> None:
    for frame, fields in zip(frames, decode(driver, frames), strict=True):
        layers = parse(record_of(frame))
        assert layers is not None
        assert_same_fields(frame, fields, layers, name)


def assert_same_fields(frame: Frame, fields: dict[str, str], layers: Layers, name: str) -> None:
    """Raise AssertionError where the driver has other fields than the oracle."""
    wrong = {k: (fields[k], text) for k, text in _expected(layers) if fields[k] != text}
    assert not wrong, f"{name} {LINKS[frame.link]} {frame.bytes.hex(' ')}: {wrong}"


def _expected(layers: Layers) -> Iterable[tuple[str, str]]:
    """Name and text of each field that the oracle gives an answer to."""
    names = [name for name in PROTOCOLS if layers.as_protocol(name) is not None]
    yield "protocols", " ".join(names)
    values = dict(layers.as_protocol("IP") or layers.as_protocol("PKT") or {})
    values |= layers.packet | layers.transport
    for name in _comparable(layers, values):
        yield name, _text(name, values[name])
    for name in MAY_BE_ABSENT - values.keys():
        yield name, ABSENT


def _comparable(layers: Layers, values: dict[str, object]) -> set[str]:
    """Without what a decoded packet does not know: its interface's name, its place, the run."""
    return set(values) - {"interface", "packet_id", "systemTime"}


def _text(name: str, value: object) -> str:
    if name in ("TCP_data", "UDP_data"):
        assert isinstance(value, bytes)
        return value[:65536].hex() or "empty"
    if name in ("etherType", "outer_etherType", "flags"):
        return f"0x{value:04x}"
    return str(int(value)) if name == "timestamp" else str(value)  # type: ignore[call-overload]


def record_of(frame: Frame) -> Record:
    """The record that a frame is captured as."""
    length = len(frame.bytes) if frame.len_bytes is None else frame.len_bytes
    return Record(
        index=7,
        file_offset=0,
        timestamp_ns=frame.timestamp_ns,
        captured_length=len(frame.bytes),
        length=length,
        link_type=LINK_TYPES[LINKS[frame.link]],
        interface_id=0,
        data=frame.bytes,
    )
