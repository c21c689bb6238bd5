# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that hear datagrams, or listen."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to whoever binds to none: nobody takes one that is not used."""
_names: list[socket.socket] = []
"""Of the ports that this process has given."""


def free_port(
    family: socket.AddressFamily, host: str, kind: socket.SocketKind = socket.SOCK_DGRAM
) -> int:
    """One that nobody has now, nor is given: here, or to the tests of another process.

    While a server is away no client of anybody takes its port, nor connects to itself by it. Before
    it listens its port would be free for others, too; and who has asked one server is not asked to
    believe another.
    """
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        name = socket.socket(socket.AF_UNIX)
        with socket.socket(family, kind) as trial, suppress(OSError):
            name.bind(f"\0gigastream-tests-{kind.name}-{port}")  # one alone has it, until it ends
            trial.bind((host, port))
            _names.append(name)
            return port
        name.close()
    raise OSError("all ports are taken")
