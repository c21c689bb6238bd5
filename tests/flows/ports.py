# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that hear datagrams, or listen."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to whoever binds to none: nobody takes one that is not used."""


def free_port(
    family: socket.AddressFamily, host: str, kind: socket.SocketKind = socket.SOCK_DGRAM
) -> int:
    """One that nobody has now."""
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        with socket.socket(family, kind) as trial, suppress(OSError):
            trial.bind((host, port))
            return port
    raise OSError("all ports are taken")
