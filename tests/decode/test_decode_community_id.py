# SPDX-License-Identifier: Apache-2.0
"""Community ID v1, seed 0, against the baseline of its specification.

That is corelight/community-id-spec, baseline/baseline_deflt.json: protocol, source, destination,
two numbers, ID. The numbers are ports; of ICMP the type and its answer's, or the code where no
answer is defined.
"""

from __future__ import annotations

import ipaddress
import struct
from pathlib import Path

import pytest

from tests.decode.harness import LINKS, Frame, decode

V6_A = "fe80::200:86ff:fe05:80da"
V6_B = "fe80::260:97ff:fe07:69ea"
V6_C = "3ffe:507:0:1:200:86ff:fe05:80da"
MAIL_A = "2001:470:e5bf:dead:4957:2174:e82c:4887"
MAIL_B = "2607:f8b0:400c:c03::1a"
BASELINE = (
    (58, V6_A, V6_B, 135, 136, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
    (58, V6_B, V6_A, 136, 135, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
    (58, V6_B, V6_A, 135, 136, "1:zavyT/cezQr1fmImYCwYnMXbgck="),
    (58, V6_A, V6_B, 136, 135, "1:zavyT/cezQr1fmImYCwYnMXbgck="),
    (58, "3ffe:501:1800:2345::2", V6_C, 3, 0, "1:2ObVBgIn28oZvibYZhZMBgh7WdQ="),
    (58, "3ffe:501:410:0:2c0:dfff:fe47:33e", V6_C, 1, 4, "1:hLZd0XGWojozrvxqE0dWB1iM6R0="),
    (58, V6_C, "3ffe:501:0:1001::2", 128, 129, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="),
    (58, "3ffe:501:0:1001::2", V6_C, 129, 128, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="),
    (58, V6_A, "ff02::2", 133, 134, "1:hO+sN4H+MG5MY/8hIrXPqc4ZQz0="),
    (58, V6_B, "ff02::1", 134, 133, "1:pkvHqCL88/tg1k4cPigmZXUtL00="),
    (1, "192.168.0.89", "192.168.0.1", 8, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
    (1, "192.168.0.1", "192.168.0.89", 0, 8, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
    (1, "10.0.0.1", "10.0.0.2", 11, 0, "1:YHxtAirCG//0OzkcVAukqKQN9xM="),
    (6, MAIL_A, MAIL_B, 63943, 25, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
    (6, MAIL_B, MAIL_A, 25, 63943, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
    (132, "192.168.170.8", "192.168.170.56", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="),
    (132, "192.168.170.56", "192.168.170.8", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="),
    (6, "128.232.110.120", "66.35.250.204", 34855, 80, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
    (6, "66.35.250.204", "128.232.110.120", 80, 34855, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
    (17, "192.168.1.52", "8.8.8.8", 54585, 53, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
    (17, "8.8.8.8", "192.168.1.52", 53, 54585, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
    (46, "10.1.12.1", "10.1.12.2", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="),
    (46, "10.1.12.2", "10.1.12.1", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="),
)


@pytest.mark.parametrize("depth", [2, 3])
def test_baseline(driver: Path, depth: int) -> None:
    frames = [_frame(*row[:5], depth=depth) for row in BASELINE]
    ids = [fields["community_id"] for fields in decode(driver, frames)]
    assert ids == [row[5] for row in BASELINE]


def test_ports_that_were_not_captured(driver: Path) -> None:
    whole = _frame(6, MAIL_A, MAIL_B, 63943, 25, depth=3)
    cut = Frame(whole.link, whole.bytes[:43], len(whole.bytes))
    assert decode(driver, [cut])[0]["community_id"] == "-"


def test_addresses_alone_suffice_where_there_are_no_ports(driver: Path) -> None:
    whole = _frame(46, "10.1.12.1", "10.1.12.2", 0, 0, depth=3)
    cut = Frame(whole.link, whole.bytes[:20], len(whole.bytes))
    assert decode(driver, [cut])[0]["community_id"] == "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="


def _frame(
    protocol: int, source: str, target: str, first: int, second: int, *, depth: int
) -> Frame:
    payload = _payload(protocol, first, second)
    addresses = [ipaddress.ip_address(text) for text in (source, target)]
    packed = b"".join(address.packed for address in addresses)
    if addresses[0].version == 4:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0)
    else:
        header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64)
    return Frame(LINKS.index("raw"), header + packed + payload, depth=depth)


def _payload(protocol: int, first: int, second: int) -> bytes:
    if protocol in (1, 58):
        is_answered = {first, second} not in ({3, 0}, {1, 4}, {11, 0})
        return struct.pack("!BB18x", first, 0 if is_answered else second)
    return struct.pack("!HHII4xI", first, second, 0, 0x5000, 0)
