# SPDX-License-Identifier: Apache-2.0
"""Tunnels that are opened: against the oracle, and against scapy, which has built the packets."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from scapy.compat import raw

from gigastream.gsql.tunnels import TUNNELS
from tests.decode.harness import HERE, LINKS, Frame, decode
from tests.decode.test_decode_oracle import (
    PCAPS,
    SEED,
    assert_same_fields,
    capture_frames,
    mutants,
    record_of,
)
from tests.oracle.tunnels import BY_PORT, BY_PROTOCOL, NAMES, parse_inside
from tests.strategies.tunnels import closed, innermost, tunnelled

OF_TUNNELS = 10
"""What the driver takes a number from here on for: so many tunnels are opened."""
UNKNOWN_TO_SCAPY = ("pptp", "teredo", "pw whose address looks like IP", "vxlan with ARP")


def _frames(packets: dict[str, object], tunnels: int = 4) -> list[Frame]:
    return [_frame(raw(packet), tunnels) for packet in packets.values()]


def _frame(data: bytes, tunnels: int = 4) -> Frame:
    return Frame(LINKS.index("ethernet"), data, depth=OF_TUNNELS + tunnels)


def _assert_same(driver: Path, frames: list[Frame], name: str = "") -> None:
    for frame, fields in zip(frames, decode(driver, frames), strict=True):
        layers = parse_inside(record_of(frame), NAMES, frame.depth - OF_TUNNELS)
        assert layers is not None
        assert_same_fields(frame, fields, layers, name)


def test_tunnels_are_opened_as_scapy_opens_them(driver: Path) -> None:
    packets = tunnelled()
    for name, fields in zip(packets, decode(driver, _frames(packets)), strict=True):
        assert fields["outer_vlan"] == "0", f"{name} is closed"
        if not name.startswith(UNKNOWN_TO_SCAPY):
            expected = innermost(packets[name])
            assert expected == {key: fields[key] for key in expected}, name


def test_others_stay_closed(driver: Path) -> None:
    plain = decode(driver, [replace(frame, depth=3) for frame in _frames(closed())])
    for name, fields, before in zip(
        closed(), decode(driver, _frames(closed())), plain, strict=True
    ):
        assert fields == before, name


@pytest.mark.parametrize("tunnels", range(5))
def test_all_fields_are_the_oracle_s(driver: Path, tunnels: int) -> None:
    _assert_same(driver, _frames(tunnelled() | closed(), tunnels))


def test_mutants(driver: Path) -> None:
    dice = random.Random(SEED)
    found = mutants(_frames(tunnelled() | closed()), dice)
    _assert_same(driver, [replace(frame, depth=OF_TUNNELS + dice.randrange(5)) for frame in found])


@pytest.mark.long
@pytest.mark.skipif(not PCAPS.is_dir(), reason=f"no captures in {PCAPS}")
@pytest.mark.parametrize("folder", ["good", "hostile", "broken", "ng-odd"])
def test_captures(driver: Path, folder: str) -> None:
    for path in sorted((PCAPS / folder).iterdir()):
        frames = [replace(frame, depth=OF_TUNNELS + 4) for frame in capture_frames(path)]
        _assert_same(driver, frames, path.name)


def test_the_driver_has_the_rules_of_the_language() -> None:
    rules = [
        f"GS_TUNNEL_{rule.kind}, {rule.ip_protocol}, {rule.udp_port}, "
        f"{str(rule.is_port_of_either).lower()}"
        for rules in TUNNELS.values()
        for rule in rules
    ]
    text = (HERE / "tunnel_rules.h").read_text()
    assert re.findall(r"\{(GS_TUNNEL_.*?)\}", text) == rules


def test_the_oracle_knows_the_same_tunnels() -> None:
    assert set(TUNNELS) == NAMES
    ports = {rule.udp_port: name for name, rules in TUNNELS.items() for rule in rules}
    protocols = {rule.ip_protocol: name for name, rules in TUNNELS.items() for rule in rules}
    assert {port: name for port, (name, _) in BY_PORT.items()}.items() <= ports.items()
    assert {number: name for number, (name, _) in BY_PROTOCOL.items()}.items() <= protocols.items()
