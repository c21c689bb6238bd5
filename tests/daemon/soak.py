# SPDX-License-Identifier: Apache-2.0
"""A daemon at work for long: traffic, sets that come and go, and whether it grows meanwhile.

    python -m tests.daemon.soak MINUTES [PACKETS_PER_SECOND]

says once in ten seconds what the capture process has of memory and descriptors, and at the end
whether every packet was in the answer once. For root. It takes as
long as it is given, so that it is no test.
"""

from __future__ import annotations

import sys
import time

from gigastream.daemon.messages import DropSet, SetParameter
from tests.daemon.links import GUESTS, NUMBERS, check_all, rows_of, sending, wait_for_all
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import folder_for_all, namespace

_EVERY_S = 10.0
_MIB = 1 << 20


def soak(minutes: float, rate: int) -> None:
    """All of it; AssertionError where a packet is missing, double or in no account."""
    with namespace() as space, folder_for_all() as folder:
        daemon = started(space, folder, "--ring", "64MiB", "--ring-block", "1MiB")
        try:
            daemon.add("numbers", NUMBERS)
            with sending(space, rate=rate) as sender:
                changes = keep_changing(daemon, minutes * 60)
            (source,) = wait_for_all(daemon, sender.sent)
            assert daemon.stop() == 0
            if source.kernel_dropped == 0:
                check_all(rows_of(daemon, "numbers"), sender.sent)
            print(
                f"{changes:,} changes; {sender.sent:,} packets, {source.kernel_dropped:,} dropped"
            )
        finally:
            end(daemon)


def keep_changing(daemon: Daemon, seconds: float) -> int:
    """Add, set and drop until the time is over; how many changes were made."""
    begun = said = time.monotonic()
    tell(daemon, 0, 0)
    changes = 0
    while time.monotonic() < begun + seconds:
        daemon.add("guest", GUESTS[changes % len(GUESTS)])
        value = str(1 + changes % 9)
        daemon.ask(SetParameter(name="numbers", parameter="least", value=value))
        daemon.ask(DropSet(name="guest"))
        changes += 3
        if time.monotonic() >= said + _EVERY_S:
            said = time.monotonic()
            tell(daemon, said - begun, changes)
    return changes


def tell(daemon: Daemon, seconds: float, changes: int) -> None:
    """How it is now."""
    status = daemon.status()
    report = status.report
    if report is None:
        return
    read = sum(source.read for source in report.sources)
    print(
        f"{seconds:6.0f} s: {changes:6,} changes, {read:12,} packets, RssAnon "
        f"{report.rss_anon_bytes / _MIB:7.1f} MiB, {report.descriptors} descriptors, "
        f"{status.restarts} restarts",
        flush=True,
    )


if __name__ == "__main__":
    soak(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
