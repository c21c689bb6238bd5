# SPDX-License-Identifier: Apache-2.0
"""Rings that are exchanged for others: what is refused leaves all as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gigastream.daemon.input_messages import LinkSpec
from gigastream.daemon.renewing import renew_rings
from gigastream.engine.batch import EngineError
from gigastream.engine.engine import Engine
from gigastream.engine.live import open_packet_sockets
from gigastream.sources.files import SourceError
from gigastream.sources.live import LiveSettings, adopted_rings

pytestmark = pytest.mark.privileged
SETTINGS = LiveSettings(ring_bytes=1 << 20, block_bytes=1 << 16, fanout=2)


@pytest.fixture
def link() -> Iterator[LinkSpec]:
    """The loopback device, open."""
    sockets = open_packet_sockets("lo", SETTINGS)
    yield LinkSpec(interface="lo", device="lo", sockets=sockets, settings=SETTINGS, is_renewed=True)
    for socket in sockets:
        os.close(socket)


@contextmanager
def reading(link: LinkSpec, *, is_renewed: bool = True) -> Iterator[Engine]:
    with Engine(is_resident=True) as engine:
        parts = (link.interface, link.device, link.settings, link.sockets)
        for ring in adopted_rings(*parts, is_renewed=is_renewed):
            engine.add_link(ring)
        engine.start()
        yield engine


@pytest.mark.parametrize("is_renewed", [True, False])
def test_a_ring_that_is_in_use_takes_no_other(link: LinkSpec, is_renewed: bool) -> None:
    with reading(link, is_renewed=is_renewed) as engine:
        others = open_packet_sockets("lo", SETTINGS)
        with pytest.raises(EngineError, match="its ring is in use"):
            renew_rings(engine, [link], 0, others)
        assert engine.run(1, 10)
        assert [source.link for source in engine.statistics()] == ["up", "up"]
    for other in others:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(other)


def test_sockets_that_did_not_all_come_change_nothing(link: LinkSpec) -> None:
    """As where there are more files than may be open."""
    with reading(link) as engine:
        with pytest.raises(SourceError, match="could not all be taken over") as refused:
            renew_rings(engine, [link], 0, [os.dup(link.sockets[0])])
        assert refused.value.hint is not None
        assert "LimitNOFILE" in refused.value.hint
        with pytest.raises(EngineError, match="no such source"):
            engine.renew(2, None)
