# SPDX-License-Identifier: Apache-2.0
"""The account over several capture processes: what each told of, and what is lost between them."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as replace_fields

from gigastream.daemon.losses import Losses, Totals
from gigastream.daemon.messages import CaptureReport
from gigastream.engine.statistics import SourceStatistics
from tests.daemon.states import LFTA, LINK, OPERATOR, SET

OTHER = replace(LINK, label="eth0/1")


def report(incarnation: int, *sources: SourceStatistics) -> CaptureReport:
    """Of a moment."""
    return CaptureReport(incarnation=incarnation, at_ns=incarnation, sources=sources, sets=())


def link(read: int, dropped: int = 0, unread: int = 0, **before: int) -> SourceStatistics:
    """A link of which so much was read, all of it decoded."""
    return replace(
        LINK,
        read=read,
        decoded=read,
        kernel_dropped=dropped,
        unread=unread,
        **dict.fromkeys(("undecodable", "filtered", "late", "skew"), 0),
        kernel_received=read + dropped + unread,
        **before,
    )


def test_what_no_report_tells_of_is_lost() -> None:
    """Taken of the ring, or dropped and known to be; also by a process that never reported."""
    losses = Losses()
    losses.goes_on(report(0, link(90, dropped=5)))
    losses.crash(0, None, "signal 9")
    losses.crash(1, None, "signal 9")
    losses.goes_on(report(2, link(3, taken_before=100, dropped_before=7)))
    assert [loss.packets for loss in losses.all] == [{}, {"eth0": 12}]
    losses.crash(2, None, "signal 9")
    losses.goes_on(report(3, link(0, taken_before=104, dropped_before=7)))
    assert losses.all[-1].packets == {"eth0": 1}
    assert losses.packets == {"eth0": 13}


def test_losses_of_long_ago_are_in_the_sum() -> None:
    """When there are more than are kept one by one."""
    losses = Losses()
    for number in range(150):
        losses.crash(number, None, "signal 9")
        losses.goes_on(report(number + 1, link(0, taken_before=number + 1)))
    assert len(losses.all) == 100
    assert losses.packets == {"eth0": 150}


def test_what_was_open_goes_with_a_crash() -> None:
    """By who held it: an LFTA in all of its tables; of one that never reported nothing is known."""
    losses = Losses()
    low = replace(LFTA, name="low", groups=3)
    tables = low, replace(low, interface="other", groups=4)
    operators = replace(OPERATOR, held=9), replace(OPERATOR, name="idle", held=0)
    at_work = replace_fields(SET, lftas=tables, operators=operators)
    losses.crash(0, replace_fields(report(0, link(1)), sets=(at_work,)), "signal 9")
    losses.crash(1, None, "signal 9")
    held = {"talkers/low": 7, "talkers/talkers": 9}
    assert [loss.held for loss in losses.all] == [held, None]


def test_counters_go_on_over_processes() -> None:
    """What one left in the ring unread is the next one's; what is of now stays so."""
    totals = Totals()
    assert totals.sources == ()
    totals.take(report(0, link(50)))
    totals.take(report(0, link(90, dropped=5, unread=10)))
    assert totals.sources[0].kernel_received == 105
    totals.take(report(1, replace(link(12, dropped=1), link="down", ring_used=3), OTHER))
    one, other = totals.sources
    assert (one.read, one.decoded, one.kernel_dropped) == (102, 102, 6)
    assert one.kernel_received == one.read + one.kernel_dropped
    assert (one.link, one.ring_used, one.unread) == ("down", 3, 0)
    assert other == OTHER


def test_threads_that_ask_see_one_moment() -> None:
    """What a report comes to is made with it, and not while one asks."""
    totals = Totals()
    totals.take(report(0, link(50)))
    assert totals.sources is totals.sources


def test_a_file_is_read_again() -> None:
    """From its beginning: its counters are those of the process of now."""
    totals, file = Totals(), replace(LINK, link=None)
    for incarnation in range(3):
        totals.take(report(incarnation, file))
    assert totals.sources == (file,)
