# SPDX-License-Identifier: Apache-2.0
"""A live link as the engine takes it."""

from __future__ import annotations

import os
import sys
from typing import Any

from gigastream.codegen.context import base_of, view_of
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError
from gigastream.engine.host import message_of
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.plan.costs import fields_of
from gigastream.sources import libpcap
from gigastream.sources.files import SourceError
from gigastream.sources.live import LiveSettings, LiveSource

CAPABILITY = "CAP_NET_RAW"
FULL_PACKET_BYTES = 1 << 18
RECORD_BYTES = 64
SPARE_SOCKETS = 64
"""Of all rings of a link: each time that the device comes back takes one for each ring."""
_NS_PER_MS = 10**6


def snap_bytes(plan: Plan, has_filter: bool) -> int:
    """Bytes of each packet that a plan's answer may depend on: few where it is about records alone.

    Headers have no greatest length (tags and extension headers may be any number), so that of a
    packet that is decoded at all everything is captured.
    """
    read = fields_of(*plan.prefilter, *(e for node in plan.low for e in node.expressions))
    fields = [field for field in read if not is_of_stream(field.protocol)]
    of_records = all(field.protocol.upper() == "PKT" for field in fields)
    is_cut_unseen = of_records and all(field.accessor != "caplen" for field in fields)
    is_decoded = any(base_of(node) != "PKT" or view_of(node).is_changed for node in plan.low)
    return FULL_PACKET_BYTES if is_decoded or has_filter or not is_cut_unseen else RECORD_BYTES


def rings(source: LiveSource) -> list[LiveSource]:
    """A link as a source for each of its rings, which share its packets flow by flow."""
    count = source.settings.fanout
    if count == 1 or source.ring is not None:
        return [source]
    group = ffi.gc(lib.gs_fanout_group_new(), lib.gs_fanout_group_free)
    if group == ffi.NULL:
        raise EngineError("no memory for the rings of a link")
    return [replace(source, ring=ring, group=group) for ring in range(count)]


def configure(config: Any, source: LiveSource, snap: int) -> list[Any]:
    """Fill a `struct gs_source_config` for a link; what is returned must live until it is added.

    `snap` are the bytes of a packet that are captured unless the link's settings say else.
    """
    settings = source.settings
    live, device = _link_config(source.device, settings)
    live.snap_length = settings.snap_bytes or snap
    live.spare_sockets = max(1, SPARE_SOCKETS // settings.fanout)
    live.fanout_group = ffi.NULL if source.group is None else source.group
    live.has_socket, live.socket = source.socket is not None, source.socket or 0
    live.is_adopted, live.is_shared = source.adopts, settings.fanout > 1
    live.counts_for_device = not source.ring
    live.is_renewed = source.is_renewed
    library = ffi.NULL
    if source.needs_libpcap:
        library = ffi.new("char[]", os.fsencode(libpcap.shared_object()))
    live.libpcap = library
    live.ring_device = ffi.NULL if source.ring_device is None else source.ring_device
    config.live = live
    config.live_slack_ns, config.max_skew_ns = settings.link_slack_ns, settings.max_skew_ns
    return [live, device, library]


def _link_config(device: str, settings: LiveSettings) -> tuple[Any, Any]:
    """A `struct gs_live_config` with what a link's settings say, and what must live as long."""
    live = ffi.new("struct gs_live_config *")
    live.device = name = ffi.new("char[]", os.fsencode(device))
    live.block_bytes, live.block_count = settings.block_bytes, settings.block_count
    live.retire_timeout_ms = max(1, settings.retire_ns // _NS_PER_MS)
    live.promiscuous, live.outgoing = settings.promiscuous, settings.outgoing
    live.takes_prefilter = settings.kernel_prefilter
    return live, name


def open_packet_sockets(device: str, settings: LiveSettings) -> tuple[int, ...]:
    """Open a link's packet sockets, one a ring, for readers that may not: SourceError.

    They have their rings, and take nothing until they are adopted (adopted_rings); whoever keeps
    them open keeps the rings. Children inherit them by fork alone.
    """
    settings.check()
    live, name = _link_config(device, settings)
    found, error = ffi.new("int[]", settings.fanout), ffi.new("struct gs_error *")
    if lib.gs_packet_sockets_open(live, settings.fanout, found, error) != lib.GS_OK:
        raise SourceError(f"{device}: {message_of(error)}", hint_for(message_of(error)))
    del name
    return tuple(found)


def hint_for(message: str) -> str | None:
    """What to do where a link cannot be opened."""
    if "no such network interface" in message:
        return "gigastream interfaces lists those there are"
    if CAPABILITY not in message:
        return None
    python = os.path.realpath(sys.executable)
    return f"sudo gigastream …, or once: sudo setcap {CAPABILITY.lower()}+ep {python}"
