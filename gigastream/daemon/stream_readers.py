# SPDX-License-Identifier: Apache-2.0
"""The capture process's part of STREAMs: a thread for each reads its place, once it is wanted.

Ports are heard from the start, as links are. Files, pipes and folders wait for the first set that
reads the STREAM, which so misses nothing of them; from then on they are read whoever is there.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence

from gigastream.daemon.input_messages import PeerOrder, StreamSpec
from gigastream.daemon.renewing import TooEarlyError
from gigastream.engine.engine import Engine
from gigastream.engine.statistics import END
from gigastream.gsql.stream_names import stream_interface
from gigastream.plan import Plan
from gigastream.records.flow_port import FlowPort
from gigastream.records.memory import RecordRows
from gigastream.records.peers import HandedPeers
from gigastream.records.places import RecordFolder, RecordPlace
from gigastream.records.source import Residence, StreamSource


class StreamReaders:
    """The STREAMs of a capture process, in the order of their specs."""

    def __init__(self, specs: Sequence[StreamSpec], promises: Mapping[str, int]) -> None:
        """Nothing is read yet; nor later what ended for the reader before (END of `promises`)."""
        self._specs, self._promises = specs, promises
        self._peers: dict[int, HandedPeers] = {}
        self._folders: dict[int, RecordFolder] = {}
        self._told: dict[int, str | None] = {}
        """What is told of each folder that went away."""
        self._wanted = [threading.Event() for _ in specs]
        self.sources = [self._source(at, spec) for at, spec in enumerate(specs)]

    def _source(self, at: int, spec: StreamSpec) -> StreamSource:
        opened: RecordPlace | None = None
        if self._promises.get(stream_interface(spec.layout.name)) == END:
            opened = RecordRows(())
        elif spec.socket is not None:
            opened = FlowPort(socket.socket(fileno=os.dup(spec.socket)))
        elif spec.has_peers:
            opened = self._peers[at] = HandedPeers(spec.format)
        elif spec.is_folder:
            folder = RecordFolder(spec.place, spec.format, is_awaited=True)
            opened = self._folders[at] = folder
        if opened is not None and at not in self._folders:
            self._wanted[at].set()
        residence = Residence(self._wanted[at], opened)
        return StreamSource(spec.layout, spec.place, spec.format, residence=residence)

    def want(self, plan: Plan) -> None:
        """A set is attached that reads what it reads."""
        read = {node.source.interface for node in plan.low}
        for source, wanted in zip(self.sources, self._wanted, strict=True):
            if source.interface in read:
                wanted.set()

    def take(self, order: PeerOrder, sockets: Sequence[int]) -> None:
        """Read a peer that was handed over. TooEarlyError: there is no room for it yet."""
        if not sockets:  # the kernel leaves out what there is no descriptor for
            self._peers[order.stream].make_room()
            raise TooEarlyError(f"{order.label}: more files cannot be open at once")
        for descriptor in sockets:
            peer = socket.socket(fileno=descriptor)
            if not self._peers[order.stream].take(peer, order.label):
                peer.close()
                raise TooEarlyError(f"{order.label}: there is no room for it yet")

    def news(self) -> Iterator[str]:
        """Folders that have gone away, and those that are back, since it was asked last."""
        for at, folder in self._folders.items():
            absence, before = folder.absence, self._told.get(at)
            if absence != before:
                self._told[at] = absence
                what = "it is back" if absence is None else f"{absence}; it is waited for"
                yield f"{self._specs[at].place} ({self.sources[at].interface}): {what}"

    def tell_unseen(
        self, engine: Engine, promises: Mapping[str, int], now_ns: int, away_ns: int
    ) -> None:
        """Windows that a reader before this one may have seen in part are cut.

        Of a UDP port these reach to now, as of a link; of a TCP port, whose records have a time of
        their own, as far behind the last promise as time may have gone on unreported (`away_ns`);
        of what is read from its beginning again, to what was promised.
        """
        for spec, source in zip(self._specs, self.sources, strict=True):
            promise_ns = promises.get(source.interface)
            if spec.socket is not None:
                engine.unseen(now_ns, source.interface)
            elif promise_ns is not None:
                reach_ns = away_ns if spec.has_peers else -1
                engine.unseen(promise_ns + reach_ns, source.interface)
