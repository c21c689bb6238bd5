# SPDX-License-Identifier: Apache-2.0
"""What a crash took: what the kernel received and no report has told."""

from __future__ import annotations

from gigastream.daemon.losses import Losses
from gigastream.daemon.messages import CaptureReport
from gigastream.engine.statistics import SourceStatistics

_ZERO = dict.fromkeys(
    ("undecodable", "filtered", "late", "skew", "truncated", "bytes", "total_bytes"), 0
)


def report(
    incarnation: int, read: int, dropped: int = 0, before: tuple[int, int] = (0, 0)
) -> CaptureReport:
    """Of one ring; `before` is what earlier readers took, and what was dropped."""
    source = SourceStatistics(
        label="eth0",
        interface="uplink",
        read=read,
        decoded=read,
        worst_lateness_ns=0,
        damage=None,
        kernel_dropped=dropped,
        taken_before=before[0],
        dropped_before=before[1],
        link="up",
        **_ZERO,
    )
    return CaptureReport(incarnation=incarnation, at_ns=1, sources=(source,), sets=())


def test_what_was_reported_is_not_lost_and_the_rest_is_to_the_packet() -> None:
    losses = Losses()
    losses.crash(0, report(0, 100, 5), "signal 9")
    losses.goes_on(report(1, 0, before=(103, 7)))  # three were taken, two dropped since
    losses.goes_on(report(1, 40, before=(103, 7)))
    losses.crash(1, report(1, 40, before=(103, 7)), "signal 9")
    losses.crash(2, None, "signal 9")  # one that took ten and never reported
    losses.goes_on(report(3, 1, before=(153, 7)))
    assert [loss.packets for loss in losses.all] == [{"uplink": 5}, {}, {"uplink": 10}]
