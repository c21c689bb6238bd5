# SPDX-License-Identifier: Apache-2.0
"""What systemd is told: sd_notify, by its protocol of datagrams, without its library."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    """Says how the daemon is, where somebody listens ($NOTIFY_SOCKET); says nothing elsewhere.

    Make it before privileges go: the environment goes with them, and the way to the socket may.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        found = os.environ if environment is None else environment
        self._socket = _connected(found.get("NOTIFY_SOCKET", ""))
        period_us = found.get("WATCHDOG_USEC", "")
        is_ours = found.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog_s = int(period_us) / 1e6 if period_us.isdecimal() and is_ours else None
        """Within which WATCHDOG=1 is expected; None: it is not."""

    def ready(self, status: str) -> None:
        """All is at work."""
        self._say("READY=1", f"STATUS={status}", f"MAINPID={os.getpid()}")

    def status(self, text: str) -> None:
        """A line for a person."""
        self._say(f"STATUS={text}")

    def alive(self) -> None:
        """The watchdog's answer."""
        self._say("WATCHDOG=1")

    def reloading(self) -> None:
        """The configuration is read; ready() follows."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._say("RELOADING=1", f"MONOTONIC_USEC={now}")

    def stopping(self) -> None:
        """The end has begun."""
        self._say("STOPPING=1")

    def _say(self, *lines: str) -> None:
        if self._socket is not None:
            with suppress(OSError):  # who does not listen does not stop a capture
                self._socket.send("\n".join(line.replace("\n", " ") for line in lines).encode())


def _connected(address: str) -> socket.socket | None:
    if not address.startswith(("/", "@")):
        return None
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    made.setblocking(False)
    try:
        made.connect("\0" + address[1:] if address[0] == "@" else address)
    except OSError:
        made.close()
        return None
    return made
