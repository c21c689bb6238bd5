# SPDX-License-Identifier: Apache-2.0
"""The options of the command line, which are also the keys of a configuration file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.late_dataclass import dataclass
from gigastream.link_types import parse_link_types
from gigastream.liveness import POLICIES
from gigastream.settings import (
    MAX_BURST_PACKETS,
    TIME_MODES,
    parse_burst,
    parse_bytes,
    parse_count,
    parse_disorder,
    parse_duration,
    parse_flush,
    parse_memory,
    parse_on_failure,
    parse_period,
    parse_speed,
    parse_sync,
    parse_time_mode,
    parse_whole,
)
from gigastream.timestamps import TIMESTAMPS, parse_timestamps


@dataclass(frozen=True, slots=True)
class Option:
    """A setting as a person gives it."""

    name: str
    field: str
    parse: Callable[[str], Any]
    metavar: str
    help: str
    is_of_packets: bool = False
    """Whether it is about reading packets, or the low level, and nothing else."""


OPTIONS = (
    Option(
        "disorder",
        "disorder_bytes",
        parse_disorder,
        "BYTES|all",
        "how far a capture file may step back, in its own bytes (16MiB)",
        is_of_packets=True,
    ),
    Option(
        "slack",
        "slack_ns",
        parse_duration,
        "TIME",
        "how far a pipe may step back in time (1s); given, files follow it, too",
        is_of_packets=True,
    ),
    Option(
        "speed",
        "speed",
        parse_speed,
        "X",
        "replay by the wall clock, X times as fast",
        is_of_packets=True,
    ),
    Option(
        "heartbeat",
        "heartbeat_ns",
        parse_duration,
        "TIME",
        "capture time between heartbeats (1s)",
        is_of_packets=True,
    ),
    Option(
        "heartbeat-packets",
        "heartbeat_packets",
        parse_whole,
        "N",
        "packets between heartbeats (131072; 0: none)",
        is_of_packets=True,
    ),
    Option(
        "time",
        "time",
        parse_time_mode,
        "MODE",
        "where packets do not say it: " + ", ".join(TIME_MODES) + " (both)",
    ),
    Option(
        "timestamps",
        "timestamps",
        parse_timestamps,
        "KIND",
        "whose time packets have: " + ", ".join(TIMESTAMPS) + " (external)",
        is_of_packets=True,
    ),
    Option(
        "link-type",
        "link_types",
        parse_link_types,
        "N=NAME,…",
        "what link types of files are taken for, such as 147=ETHERNET",
        is_of_packets=True,
    ),
    Option(
        "flush",
        "flush",
        parse_flush,
        "POLICY",
        "of every low-level table: " + ", ".join(FLUSH_POLICIES),
        is_of_packets=True,
    ),
    Option(
        "slots",
        "slots",
        parse_count,
        "N",
        "slots of every low-level table",
        is_of_packets=True,
    ),
    Option(
        "burst",
        "burst",
        parse_burst,
        "N",
        f"packets that are processed together ({MAX_BURST_PACKETS})",
        is_of_packets=True,
    ),
    Option("batch-rows", "batch_rows", parse_count, "N", "rows of a batch between operators"),
    Option(
        "memory",
        "memory_bytes",
        parse_memory,
        "SIZE",
        "of all tables, groups and held rows (half of the cgroup's limit, or of the machine's)",
    ),
    Option(
        "max-groups", "max_groups", parse_count, "N", "groups that one aggregation may hold at once"
    ),
    Option("max-rows", "max_rows", parse_count, "N", "rows that one operator may hold at once"),
    Option(
        "output-queue",
        "output_queue_bytes",
        parse_bytes,
        "BYTES",
        "of rows that wait to be written before reading packets waits for them (64MiB)",
    ),
    Option(
        "liveness",
        "liveness_ns",
        parse_period,
        "TIME",
        "after which a pipe or link that says nothing has failed (never)",
    ),
    Option(
        "on-failure",
        "on_failure",
        parse_on_failure,
        "POLICY",
        "what becomes of the run then: " + ", ".join(POLICIES),
    ),
)
LIVENESS_OPTIONS = {option.name: option for option in OPTIONS[-2:]}
"""Those that an interface may have for itself."""

KEEP_OPTIONS = (
    Option(
        "keep-bytes",
        "keep_bytes",
        parse_bytes,
        "BYTES",
        "of a stream's segments on an interface that are kept; older ones go (all)",
    ),
    Option(
        "keep-age", "keep_age_ns", parse_duration, "TIME", "how long segments are kept (for ever)"
    ),
    Option(
        "keep-margin",
        "keep_margin_ns",
        parse_duration,
        "TIME",
        "how long segments are kept beyond what readers have committed (60s)",
    ),
)
"""Of both a spool that is written and one that is shipped."""

SPOOL_OPTIONS = (
    Option(
        "segment-rows",
        "segment_rows",
        parse_count,
        "N",
        "rows after which a segment is cut (1048576)",
    ),
    Option(
        "segment-bytes",
        "segment_bytes",
        parse_bytes,
        "BYTES",
        "bytes after which a segment is cut (64MiB)",
    ),
    Option(
        "segment-age",
        "segment_age_ns",
        parse_duration,
        "TIME",
        "how old a segment's first row becomes before it is cut (1s)",
    ),
    Option(
        "sync",
        "sync",
        parse_sync,
        "segment|TIME",
        "when segments are made durable: each before it is listed (segment), or every TIME",
    ),
    *KEEP_OPTIONS,
)
"""Of a spool that is written: fields of gigastream.spool.SpoolSettings."""
