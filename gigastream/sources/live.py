# SPDX-License-Identifier: Apache-2.0
"""A live link: an interface of this host, and how it is captured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from gigastream.late_dataclass import dataclass, field
from gigastream.options import Option
from gigastream.settings import parse_bytes, parse_count, parse_duration
from gigastream.sources.files import FileSource, SourceError
from gigastream.timestamps import Timestamps

_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_.:-]*)=(.+)", re.DOTALL)
_LEAST_BLOCK_BYTES = 1 << 16
_SECOND_NS = 10**9
RINGS_MAX = 64
DEFAULT_MAX_SKEW_NS = 2 * 10**9
_GREATEST_DESCRIPTOR = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """How links are captured (OPERATORS section 2, Ring)."""

    ring_bytes: int = 64 << 20
    """Of the ring that the kernel writes into: what a stall of the reader may cost."""
    block_bytes: int = 1 << 20
    """Of a block of the ring, which is handed over when it is full."""
    retire_ns: int = 10**8
    """After which a block is handed over that is not full."""
    max_skew_ns: int = DEFAULT_MAX_SKEW_NS
    """How far behind this host's clock a packet's timestamp may be."""
    link_slack_ns: int = 10**7
    """How far behind the packet before it a packet's timestamp may be."""
    fanout: int = 1
    """Rings that share the link's packets flow by flow, each read by a thread of its own."""
    snap_bytes: int | None = None
    """Of each packet that are captured; None: as much as the queries look at."""
    promiscuous: bool = True
    """Frames that are not for this host, too."""
    outgoing: bool = True
    """Frames that this host sends, too."""
    kernel_prefilter: bool = False
    """The kernel rejects what no query can accept: less work, a shorter account, later windows."""
    user: str = "nobody"
    """Whom a process that was started as root becomes as soon as the link is open."""

    @property
    def block_count(self) -> int:
        """Blocks of the ring."""
        return max(2, self.ring_bytes // self.block_bytes)

    def check(self) -> None:
        """Raise SourceError for what cannot work."""
        if self.block_bytes < _LEAST_BLOCK_BYTES or self.block_bytes & (self.block_bytes - 1):
            raise SourceError(
                f"a ring's block of {self.block_bytes} bytes: a power of two from 64kiB on"
            )
        if self.max_skew_ns < self.retire_ns + _SECOND_NS:
            raise SourceError(
                f"max-skew {self.max_skew_ns / _SECOND_NS:g} s is less than the retire timeout and "
                "a second: packets that nobody has seen yet would be late",
                f"--max-skew {(self.retire_ns + _SECOND_NS) / _SECOND_NS:g}s or more",
            )


@dataclass(frozen=True, slots=True)
class LiveSource:
    """A network device and the interface whose packets it carries."""

    interface: str
    device: str
    settings: LiveSettings = field(default_factory=LiveSettings)
    ring_device: Any = None
    """Read in the place of the device's own: a `struct gs_ring_device *`, for tests."""
    ring: int | None = None
    """Which of the link's rings it is; None: the only one."""
    group: Any = None
    """The rings' group in the kernel: a `struct gs_fanout_group *`, as long as the link is open."""
    socket: int | None = None
    """A raw packet socket that somebody else has opened, and bound to the device.

    It stays the caller's, who may close it when the link has been added.
    """
    adopts: bool = False
    """Of a socket: where it has a ring already, who read that has ended, and this one goes on.

    With several rings each is a source with its number, of open_packet_sockets (adopted_rings).
    """
    is_renewed: bool = False
    """Of one that is adopted, among several: where its device is removed it gets another socket.

    Without, nothing more comes of it then.
    """
    timestamps: Timestamps | None = None
    """Whose time its packets have; None: what the settings say."""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.device if self.ring is None else f"{self.device}/{self.ring}"

    def check(self) -> None:
        """Raise SourceError if there is no such device, or a setting cannot work."""
        self.settings.check()
        if self.socket is not None and self.settings.fanout > 1 and not self._is_of_several:
            raise SourceError(f"{self.device}: one socket was handed over, which is one ring")
        if self.socket is not None and abs(self.socket) > _GREATEST_DESCRIPTOR:
            raise SourceError(f"{self.device}: {self.socket} is no descriptor")
        if self._is_at_hand or self.device in _network_devices():
            return
        names = capture_devices()
        if self.device not in names:
            raise SourceError(
                f"there is no network interface '{self.device}'", "one of " + ", ".join(names)
            )
        if self.settings.fanout > 1:
            raise SourceError(f"{self.device}: rings (--fanout) are of one network device")

    @property
    def needs_libpcap(self) -> bool:
        """No ring is to be had of it: it is all devices at once, or none of the network."""
        return not self._is_at_hand and self.device not in _network_devices()

    @property
    def _is_of_several(self) -> bool:
        """Its socket is in the link's group, as all of them are that are to be adopted."""
        return self.adopts and self.ring is not None

    @property
    def _is_at_hand(self) -> bool:
        """The device need not be one that can be opened from here."""
        return self.ring_device is not None or self.socket is not None


def adopted_rings(
    interface: str,
    device: str,
    settings: LiveSettings,
    sockets: Sequence[int],
    *,
    is_renewed: bool = False,
) -> list[LiveSource]:
    """A link as a source for each of the sockets that open_packet_sockets gave for it."""
    numbers: Iterable[int | None] = [None] if len(sockets) == 1 else range(len(sockets))
    return [
        LiveSource(
            interface,
            device,
            settings,
            ring=number,
            socket=socket,
            adopts=True,
            is_renewed=is_renewed and number is not None,
        )
        for number, socket in zip(numbers, sockets, strict=True)
    ]


def _network_devices() -> list[str]:
    import socket

    return [name for _, name in socket.if_nameindex()]


def capture_devices() -> list[str]:
    """Return the names of all that can be captured here."""
    links = _network_devices()
    return [*links, *(name for name in _others() if name not in links)]


def _others() -> list[str]:
    """What libpcap knows; nothing where there is none."""
    from gigastream.sources.libpcap import LibpcapError, devices

    try:
        return devices()
    except LibpcapError:
        return []


Source = FileSource | LiveSource


def parse_live(text: str) -> tuple[str, str]:
    """Read `[IFACE=]DEVICE`: the interface's name and the device's."""
    named = _NAMED.fullmatch(text)
    return (named[1], named[2]) if named else (text, text)


def parse_switch(text: str) -> bool:
    """Read `on` or `off`."""
    if text not in ("on", "off", "true", "false"):
        raise ValueError(f"'{text}' is neither on nor off")
    return text in ("on", "true")


def _parse_rings(text: str) -> int:
    count = parse_count(text)
    if count > RINGS_MAX:
        raise ValueError(f"from 1 to {RINGS_MAX} rings")
    return count


LIVE_OPTIONS = (
    Option("ring", "ring_bytes", parse_bytes, "BYTES", "of the ring of each link (64MiB)"),
    Option("ring-block", "block_bytes", parse_bytes, "BYTES", "of a block of the ring (1MiB)"),
    Option(
        "retire", "retire_ns", parse_duration, "TIME", "after which a block is handed over (100ms)"
    ),
    Option(
        "max-skew",
        "max_skew_ns",
        parse_duration,
        "TIME",
        "how far behind the clock a packet may be (2s)",
    ),
    Option(
        "link-slack",
        "link_slack_ns",
        parse_duration,
        "TIME",
        "how far behind the one before it a packet may be (10ms)",
    ),
    Option(
        "fanout",
        "fanout",
        _parse_rings,
        "N",
        "rings for each link; `run` reads each with a thread (1)",
    ),
    Option("snap", "snap_bytes", parse_count, "BYTES", "of a packet that are captured"),
    Option("promiscuous", "promiscuous", parse_switch, "on|off", "frames for others, too (on)"),
    Option("outgoing", "outgoing", parse_switch, "on|off", "frames that this host sends, too (on)"),
    Option(
        "kernel-prefilter",
        "kernel_prefilter",
        parse_switch,
        "on|off",
        "let the kernel reject what no query can accept (off)",
    ),
    Option("user", "user", str, "NAME", "whom root becomes when the links are open (nobody)"),
)
