# SPDX-License-Identifier: Apache-2.0
"""gigastream run -D: the links of this host, with their state, addresses and rate."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
import time
from pathlib import Path

from gigastream.late_dataclass import dataclass

_MEASURED_S = 0.5
_GET_FLAGS, _GET_ADDRESS = 0x8913, 0x8915  # SIOCGIFFLAGS, SIOCGIFADDR
_UP, _RUNNING = 0x1, 0x40
_ADDRESS_OFFSET = 20
_COUNTERS = Path("/proc/net/dev")
_ADDRESSES_6 = Path("/proc/net/if_inet6")
_RECEIVED, _SENT = 0, 8
"""Of a line of /proc/net/dev, where each direction begins: bytes, packets and more."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a link has carried, both ways."""

    packets: int
    bytes: int


def device_lines() -> list[str]:
    """Return a line for each link, and the names of what else libpcap captures."""
    from gigastream.sources.live import capture_devices

    before, began = _traffic(), time.monotonic()
    time.sleep(_MEASURED_S)
    after, seconds = _traffic(), time.monotonic() - began
    rows = [("link", "state", "rate", "addresses")]
    for _, name in socket.if_nameindex():
        nothing = Traffic(0, 0)
        rate = _rate(before.get(name, nothing), after.get(name, nothing), seconds)
        rows.append((name, _state(name), rate, " ".join(_addresses(name)) or "-"))
    known = {row[0] for row in rows}
    rows += [(name, "-", "-", "by libpcap") for name in capture_devices() if name not in known]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(c.ljust(w) for c, w in zip(row[:3], widths, strict=True)), row[3]])
        for row in rows
    ]


def _rate(before: Traffic, after: Traffic, seconds: float) -> str:
    packets = max(0, after.packets - before.packets) / seconds
    bits = 8 * max(0, after.bytes - before.bytes) / seconds
    for unit in ("bit/s", "kbit/s", "Mbit/s"):
        if bits < 1000:
            return f"{packets:,.0f} packets/s, {bits:.3g} {unit}"
        bits /= 1000
    return f"{packets:,.0f} packets/s, {bits:.3g} Gbit/s"


def _traffic() -> dict[str, Traffic]:
    found = {}
    for line in _COUNTERS.read_text().splitlines()[2:]:
        name, _, rest = line.partition(":")
        counts = [int(count) for count in rest.split()]
        found[name.strip()] = Traffic(
            counts[_RECEIVED + 1] + counts[_SENT + 1], counts[_RECEIVED] + counts[_SENT]
        )
    return found


def _ask(request: int, name: str) -> bytes | None:
    """Ask the kernel about a link; None where it has no answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            return fcntl.ioctl(asked, request, struct.pack("16s24x", name.encode()))
        except OSError:
            return None


def _state(name: str) -> str:
    answer = _ask(_GET_FLAGS, name)
    flags = struct.unpack_from("=H", answer, 16)[0] if answer else 0
    if not flags & _UP:
        return "down"
    return "up" if flags & _RUNNING else "no carrier"


def _addresses(name: str) -> list[str]:
    answer = _ask(_GET_ADDRESS, name)
    found = [str(ipaddress.IPv4Address(answer[_ADDRESS_OFFSET:][:4]))] if answer else []
    lines = _ADDRESSES_6.read_text().splitlines() if _ADDRESSES_6.exists() else []
    own = (line.split() for line in lines if line.split()[-1] == name)
    return found + [str(ipaddress.IPv6Address(bytes.fromhex(words[0]))) for words in own]
