# SPDX-License-Identifier: Apache-2.0
"""Monitoring hosts, each a network namespace: a link, its spool that grows, and the spool's server.

One namespace more is the network between them, a bridge; whoever reads the spools is there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.live.namespace import Namespace, Running, folder_for_all, namespace, running
from tests.serving.servers import Keys, Server, make_keys

NETWORK = "10.77.0"
READER = 1
PORT = 8815
_SENDER = """
import json, socket, sys, time
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
frames = [bytes.fromhex(frame) for frame in json.loads(sys.argv[2])]
while True:
    for frame in frames:
        link.send(frame)
    time.sleep(0.05)
"""


@dataclass
class Probe:
    """A host: what goes into its link's near end is captured at the far one."""

    name: str
    space: Namespace
    run: Running
    server: Server
    spool: Path

    @property
    def url(self) -> str:
        """Where its spool is read from the network."""
        return self.server.url()

    @contextmanager
    def traffic(self, *frames: bytes) -> Iterator[None]:
        """The same frames again and again, twenty times a second."""
        texts = json.dumps([frame.hex() for frame in frames])
        sender = self.space.start(sys.executable, "-c", _SENDER, self.space.near, texts)
        try:
            yield
        finally:
            sender.kill()
            sender.wait()


@dataclass
class Network:
    """The hosts, and where they are read from."""

    space: Namespace
    probes: dict[str, Probe]
    keys: Keys

    @property
    def access(self) -> tuple[str, ...]:
        """Words of a command that reads served spools."""
        return ("--token-file", str(self.keys.token), "--ca-file", str(self.keys.certificate))

    @property
    def spools(self) -> tuple[str, ...]:
        """Words of a command that reads all of them."""
        return tuple(word for probe in self.probes.values() for word in ("--spool", probe.url))


@contextmanager
def network(names: Sequence[str], query: str, words: Sequence[str] = ()) -> Iterator[Network]:
    """Hosts by their names, which capture and serve; `words` are those of the capture."""
    with ExitStack() as stack:
        folder = stack.enter_context(folder_for_all())
        middle = stack.enter_context(namespace())
        _make_bridge(middle)
        addresses = {name: f"{NETWORK}.{READER + 1 + at}" for at, name in enumerate(names)}
        (folder / "keys").mkdir()
        keys = make_keys(folder / "keys", [f"IP:{address}" for address in addresses.values()])
        probes = {}
        for name, address in addresses.items():
            space = stack.enter_context(namespace())
            _connect(middle, space, address)
            probes[name] = stack.enter_context(
                _probe(name, space, address, keys, folder, ("-e", query, *words))
            )
        yield Network(middle, probes, keys)


@contextmanager
def _probe(
    name: str, space: Namespace, address: str, keys: Keys, folder: Path, words: Sequence[str]
) -> Iterator[Probe]:
    home = folder / name
    home.mkdir()
    spool = home / name
    link = ("-i", f"{name}={space.far}", "-o", f"spool:{spool}", "--segment-age", "100ms")
    server = Server(keys, (spool,), port=PORT, address=address, before=tuple(space.command()))
    with running(space, *link, *words, folder=home) as run:
        server.begin()
        try:
            yield Probe(name, space, run, server, spool)
        finally:
            server.end()


def _make_bridge(space: Namespace) -> None:
    space.ip("link", "set", "lo", "up")
    space.ip("link", "add", "bridge", "type", "bridge")
    space.ip("address", "add", f"{NETWORK}.{READER}/24", "dev", "bridge")
    space.ip("link", "set", "bridge", "up")


def _connect(middle: Namespace, space: Namespace, address: str) -> None:
    """A cable of its own from a host to the bridge."""
    port = f"port{address.rpartition('.')[2]}"
    peer = ("peer", "name", "uplink", "netns", space.name)
    middle.ip("link", "add", port, "type", "veth", *peer)
    middle.ip("link", "set", port, "master", "bridge", "up")
    space.ip("link", "set", "lo", "up")
    space.ip("address", "add", f"{address}/24", "dev", "uplink")
    space.ip("link", "set", "uplink", "up")
