# SPDX-License-Identifier: Apache-2.0
"""A host that cannot follow: each policy gives up what it says, and all of it is counted.

The capture process is stopped again and again until its ring is full: that is what a slow query, a
slow disk or a busy host is to it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.links import (
    EACH,
    NUMBERS,
    pulse_until,
    rows_of,
    send,
    sending,
    totals,
    wait_for_all,
)
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]
FLOW_COUNT = 4096
SAMPLED = """DEFINE { query_name sampled; }
    SELECT tb, sampling_rate, count(*) AS n, sum(sampling_rate) AS scaled
    FROM TCP GROUP BY time AS tb, sampling_rate"""
DEVIATIONS = 6
EASY = 2_000
"""Packets a second, which a busy host can follow, too: its ring holds those of seconds."""


@contextmanager
def overloaded(space: Namespace, folder: Path, policy: str, *words: object) -> Iterator[Daemon]:
    """A daemon with a small ring that gives way at once, and comes back soon."""
    config = folder / "gigastream.toml"
    config.write_text(
        f"[[link]]\ndevice = '{space.near}'\nring = '1MiB'\nring-block = '64kiB'\n"
        f"[overload]\npolicy = '{policy}'\ncalm = '500ms'\n"
    )
    config.chmod(0o644)
    daemon = started(space, folder, "-c", config, *words)
    try:
        yield daemon
    finally:
        end(daemon)


def is_lost(daemon: Daemon) -> Callable[[], bool]:
    """Whether packets were dropped, by the last report."""
    return lambda: sum(source.kernel_dropped for source in daemon.report().sources) > 0


def test_what_finds_the_ring_full_is_counted(space: Namespace, common_folder: Path) -> None:
    """drop: what was read is in the answers, once; the rest is in the account."""
    with overloaded(space, common_folder, "drop") as daemon:
        daemon.add("each", EACH)
        daemon.add("numbers", NUMBERS, first_window="cut")
        with sending(space) as sender:
            pulse_until(daemon, is_lost(daemon), "packets to be dropped")
        (source,) = wait_for_all(daemon, sender.sent)
        assert daemon.stop() == 0
        assert source.kernel_dropped > 0
        numbers = Counter(row["sequence_number"] for row in rows_of(daemon, "each"))
        assert max(numbers.values()) == 1
        assert len(numbers) == source.decoded == sender.sent - source.kernel_dropped
        assert totals(rows_of(daemon, "numbers")) == (len(numbers), sum(numbers))


def test_sums_of_sampled_flows_can_be_scaled(space: Namespace, common_folder: Path) -> None:
    """sample: what is left out is counted; it comes back to all by itself."""
    with overloaded(space, common_folder, "sample") as daemon:
        daemon.add("sampled", SAMPLED, first_window="cut")
        with sending(space, flows=FLOW_COUNT) as sender:
            pulse_until(daemon, lambda: is_sampling(daemon), "sampling")
        wait_until(lambda: daemon.report().sampling_shift == 0, "its end")
        sent = sender.sent + send(space, FLOW_COUNT, rate=EASY, flows=FLOW_COUNT, first=sender.sent)
        (source,) = wait_for_all(daemon, sent)
        assert daemon.stop() == 0
        rows = rows_of(daemon, "sampled")
        assert source.sampled_out > 0
        assert sum(row["n"] for row in rows) == source.decoded
        scaled = sum(row["scaled"] for row in rows)
        assert abs(scaled - source.read) <= DEVIATIONS * deviation(rows)


def is_sampling(daemon: Daemon) -> bool:
    """Whether it is, and packets have been left out, by the last report."""
    report = daemon.report()
    return report.sampling_shift > 0 and any(source.sampled_out for source in report.sources)


def deviation(rows: list[dict[str, int]]) -> float:
    """Of the scaled sum, at the most: flows of one size, whose rates go with each other.

    A flow that is in at rate r counts r times, with the chance 1/r: r - 1 is the square of the
    error of one packet.
    """
    by_rate: dict[int, int] = defaultdict(int)
    for row in rows:
        by_rate[row["sampling_rate"]] += row["scaled"]
    of_a_flow = sum(math.sqrt(rate - 1) * n / FLOW_COUNT for rate, n in by_rate.items())
    return math.sqrt(FLOW_COUNT) * of_a_flow


def test_the_least_rests_and_comes_back(space: Namespace, common_folder: Path) -> None:
    """shed: what the other answers has every packet that was read; no row is of a part."""
    with overloaded(space, common_folder, "shed") as daemon:
        daemon.add("great", EACH, priority=1)
        daemon.add("least", NUMBERS, priority=0)
        with sending(space) as sender:
            pulse_until(daemon, lambda: resting(daemon) == {"least"}, "one to rest")
        wait_until(lambda: resting(daemon) == set(), "it to come back")
        before = windows(daemon)
        with sending(space, rate=EASY, first=sender.sent) as later:
            wait_until(lambda: windows(daemon) > before, "its rows")
        (source,) = wait_for_all(daemon, sender.sent + later.sent)
        assert daemon.stop() == 0
        numbers = {row["sequence_number"] for row in rows_of(daemon, "great")}
        assert len(numbers) == len(rows_of(daemon, "great")) == source.decoded
        check_least(rows_of(daemon, "least"), numbers)


def windows(daemon: Daemon) -> int:
    """That the set `least` has given, by the last report."""
    return sum(s.rows["numbers"] for s in daemon.report().sets if s.name == "least")


def resting(daemon: Daemon) -> set[str]:
    """The sets that are shed."""
    return {running.name for running in daemon.report().sets if running.shed}


def check_least(rows: list[dict[str, int]], numbers: set[int]) -> None:
    """Each window that it gives has all packets that were read of it."""
    windows = [row["tb"] for row in rows]
    assert windows == sorted(set(windows))
    for row in rows:
        read = [n for n in range(row["first"], row["last"] + 1) if n in numbers]
        assert (row["n"], row["total"]) == (len(read), sum(read))
