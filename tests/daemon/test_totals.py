# SPDX-License-Identifier: Apache-2.0
"""The account over several capture processes: what each told of, and what is lost between them."""

from __future__ import annotations

import threading
from dataclasses import replace

from msgspec.structs import replace as replace_fields

from gigastream.daemon.losses import Losses
from gigastream.daemon.messages import CaptureReport, SetStatistics
from gigastream.daemon.totals import Totals
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
    """Counters that go on over processes never go back for them meanwhile."""
    totals, seen = Totals(), [0]
    taking = threading.Thread(
        target=lambda: [totals.take(report(n, link(1))) for n in range(20_000)]
    )
    taking.start()
    while taking.is_alive():
        seen += [each.read for each in totals.sources]
    assert seen == sorted(seen)


def test_a_file_is_read_again() -> None:
    """From its beginning: its counters are those of the process of now."""
    totals, file = Totals(), replace(LINK, link=None)
    for incarnation in range(3):
        totals.take(report(incarnation, file))
    assert totals.sources == (file,)


def at_work(rows: int, name: str = SET.name) -> SetStatistics:
    """A set that has put out so many rows."""
    lfta = replace(LFTA, accepted=rows, evicted=1, groups=7)
    operator = replace(OPERATOR, rows_in=rows, held=3, rejected=None)
    output = replace_fields(SET.outputs[0], rows=rows, lost=2, files=1)
    return replace_fields(
        *(SET,), name=name, rows={"talkers": rows}, lftas=(lfta,), operators=(operator,),
        outputs=(output,), cut_rows=5
    )  # fmt: skip


def test_counters_of_sets_go_on_over_processes() -> None:
    """What they count is summed, what they hold is of now; one that begins anew has no rows."""
    totals = Totals()
    assert totals.sets == ()
    for incarnation, rows in enumerate((10, 20, 30)):
        for so_far in (1, rows):
            found = replace_fields(report(incarnation, link(1)), sets=(at_work(so_far),))
            totals.take(found, {SET.name})
    (both,) = totals.sets
    assert (both.rows, both.cut_rows) == ({"talkers": 60}, 15)
    assert (both.lftas[0].accepted, both.lftas[0].evicted, both.lftas[0].groups) == (60, 3, 7)
    assert (both.operators[0].rows_in, both.operators[0].held) == (60, 3)
    assert both.operators[0].rejected is None
    assert (both.outputs[0].rows, both.outputs[0].lost, both.outputs[0].files) == (60, 6, 1)


def test_a_set_that_is_away_for_a_while_is_not_forgotten() -> None:
    """As one is that was dropped: another of its name begins at 0."""
    totals = Totals()
    one, none = replace_fields(report(0, link(1)), sets=(at_work(10),)), report(1, link(1))
    totals.take(one, {SET.name})
    totals.take(none, {SET.name})
    again = replace_fields(none, sets=(at_work(1),))
    totals.take(again, {SET.name})
    assert totals.sets[0].rows == {"talkers": 11}
    totals.take(none, set())
    totals.take(again, {SET.name})
    assert totals.sets[0].rows == {"talkers": 1}
