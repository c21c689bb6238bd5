# SPDX-License-Identifier: Apache-2.0
"""Rings of a link that was removed, exchanged in the capture process for those of its successor."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gigastream.daemon.input_messages import LinkSpec
from gigastream.engine.engine import Engine
from gigastream.sources.files import SourceError


class TooEarlyError(Exception):
    """What was captured before the link was removed is not read out yet."""

    hint = None


def renew_rings(
    engine: Engine, links: Sequence[LinkSpec], place: int, sockets: Sequence[int]
) -> None:
    """Let all rings of a link go on with other sockets, or none: between two bursts.

    They take the numbers of those that were inherited, and are closed. TooEarlyError, EngineError.
    """
    try:
        link = links[place]
        if len(sockets) != len(link.sockets):
            hint = "a greater limit of open files (ulimit -n, LimitNOFILE=)"
            raise SourceError(f"{link.device}: its sockets could not all be taken over", hint)
        first = sum(len(before.sockets) for before in links[:place])
        rings = range(first, first + len(sockets))
        read_out = [engine.renew(ring, None) for ring in rings]  # each begins to be
        if not all(read_out):
            raise TooEarlyError(f"{link.device}: what it had is not read out yet")
        for ring, socket, inherited in zip(rings, sockets, link.sockets, strict=True):
            engine.renew(ring, socket)
            os.dup2(socket, inherited, inheritable=False)
    finally:
        for socket in sockets:
            os.close(socket)
