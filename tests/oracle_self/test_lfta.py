# SPDX-License-Identifier: Apache-2.0
"""The LFTA's model: sequences worked by hand, and what must hold for every policy and stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.bounds import END, NEVER, Column, Vector, passed
from tests.models.lfta import Arrival, Lfta, PacketSteps, Step, direct_mapped, replay
from tests.models.policies import Immediate, Lazy, Policy, Slow, SlowInOrder
from tests.models.source_time import FileTime, PipeTime
from tests.models.table import COUNT, Partial

SLOTS = 8
MINUTE = Column(lambda time: time // 10)
"""Windows of ten units of time."""


def lfta(policy: Policy, slots: int = SLOTS, columns: Iterable[Column] = (MINUTE,)) -> Lfta:
    """Groups are small numbers; the group is its own slot, whatever the window."""
    hash_of = direct_mapped(lambda window, group: group, slots)
    return Lfta(tuple(columns), slots, hash_of, policy, COUNT)


def fill(table: Lfta, window: int, groups: Iterable[int]) -> None:
    for group in groups:
        assert table.enter((window,), group, None) == ()


def left(partials: Iterable[Partial]) -> list[tuple[int, int, int]]:
    return [(partial.window[0], partial.group, partial.state) for partial in partials]


def event(step: Step | None) -> tuple[list[tuple[int, int, int]], Vector]:
    assert step is not None
    return left(step.partials), step.punctuation


def test_nothing_happens_until_time_grows() -> None:
    table = lfta(Immediate())
    fill(table, 0, [1, 1, 2])
    assert table.advance(9, 3) is not None
    assert table.advance(9, 9) is None
    assert event(table.advance(9, 9, heartbeat=True)) == ([], (0,))


def test_immediate_lets_windows_go_as_the_promise_passes_them() -> None:
    table = lfta(Immediate())
    fill(table, 1, [5, 1])
    fill(table, 0, [4, 2])
    assert event(table.advance(25, 9)) == ([], (0,))
    assert event(table.advance(25, 20)) == ([(0, 2, 1), (0, 4, 1), (1, 1, 1), (1, 5, 1)], (2,))


def test_an_ordered_collision_lets_lower_windows_go_first() -> None:
    for policy in (Immediate(), SlowInOrder()):
        table = lfta(policy)
        fill(table, 0, [7])
        fill(table, 1, [3])
        assert left(table.enter((1,), 3 + SLOTS, None)) == [(0, 7, 1), (1, 3, 1)]


@pytest.mark.parametrize("policy", [Slow(), Lazy()])
def test_other_collisions_evict_whatever_is_there(policy: Policy) -> None:
    table = lfta(policy)
    fill(table, 0, [7])
    fill(table, 1, [3])
    assert left(table.enter((1,), 3 + SLOTS, None)) == [(1, 3, 1)]


def test_slow_in_order_drips_the_last_window_that_ended() -> None:
    table = lfta(SlowInOrder())
    fill(table, 0, [0, 1])
    fill(table, 1, [2, 3, 4])
    assert event(table.advance(20, 20)) == ([(0, 0, 1), (0, 1, 1)], (1,))
    assert left(table.enter((2,), 0, None)) == [(1, 2, 1)]
    assert event(table.advance(30, 30)) == ([(1, 3, 1), (1, 4, 1)], (2,))
    assert left(table.enter((3,), 7, None)) == [(2, 0, 1)]
    assert event(table.advance(40, 40)) == ([], (3,))


def test_slow_drips_one_group_every_few_packets() -> None:
    table = lfta(Slow(packets_per_group=2))
    fill(table, 0, [6, 2, 4])
    assert event(table.advance(10, 0)) == ([], (0,))
    drips = [left(table.enter((1,), group, None)) for group in (0, 0, 0, 0, 1, 1, 1)]
    assert drips == [[], [(0, 2, 1)], [], [(0, 4, 1)], [], [(0, 6, 1)], []]
    assert event(table.advance(10, 10)) == ([], (1,))


def test_slow_keeps_no_window_longer_than_m() -> None:
    table = lfta(Slow(packets_per_group=100, max_disorder_windows=2))
    fill(table, 0, [3, 1])
    assert event(table.advance(29, 0)) == ([], (0,))
    assert event(table.advance(30, 0)) == ([(0, 1, 1), (0, 3, 1)], (0,))
    assert event(table.advance(30, 30)) == ([], (3,))


def test_slow_adapts_to_the_packets_of_the_last_period() -> None:
    policy = Slow()
    table = lfta(policy)
    table.advance(0, 0, heartbeat=True)
    for _ in range(12):
        fill(table, 0, [0, 1, 2, 3])
    table.advance(5, 0, heartbeat=True)
    assert policy.pace == 1
    assert event(table.advance(10, 0)) == ([], (0,))
    assert policy.pace == 48 // 4
    drips = [len(table.enter((1,), 5, None)) for _ in range(25)]
    assert [at for at, drip in enumerate(drips) if drip] == [11, 23]
    assert event(table.advance(11, 0, heartbeat=True)) == ([], (0,))
    assert policy.pace == 25 // 2
    step = table.advance(12, 0, heartbeat=True)
    assert event(step) == ([(0, 2, 12), (0, 3, 12)], (0,))


def test_lazy_lets_go_by_collisions_and_by_the_m_check() -> None:
    table = lfta(Lazy(max_disorder_windows=1))
    fill(table, 0, [3, 1])
    assert event(table.advance(19, 10)) == ([], (0,))
    assert table.enter((1,), 5, None) == ()
    assert event(table.advance(20, 10)) == ([(0, 1, 1), (0, 3, 1)], (1,))


def test_m_is_counted_in_steps_of_the_column() -> None:
    tens = Column(lambda time: time // 10 * 10, step=10)
    table = lfta(Lazy(steps=(10,)), columns=[tens])
    fill(table, 0, [1])
    assert event(table.advance(29, 0)) == ([], (0,))
    assert event(table.advance(30, 0)) == ([(0, 1, 1)], (0,))


def test_one_more_window_makes_the_oldest_leave() -> None:
    table = lfta(Lazy(), slots=32)
    for window in range(16):
        fill(table, window + 1, [window])
    assert left(table.enter((0,), 20, None)) == [(1, 0, 1)]
    assert left(table.enter((0,), 21, None)) == []
    assert len(table.windows()) == 16


def test_windows_of_two_columns_pass_by_any_of_them() -> None:
    columns = (Column(lambda time: time // 10), Column(lambda time: time // 4))
    table = Lfta(columns, 8, direct_mapped(lambda window, group: group, 8), Immediate(), COUNT)
    table.enter((0, 1), 2, None)
    table.enter((0, 2), 1, None)
    step = table.advance(20, 8)
    assert [partial.window for partial in step.partials] == [(0, 1)]
    assert step.punctuation == (0, 2)
    assert table.finish().punctuation == (END, END)


def test_a_second_slot_is_probed_before_anybody_leaves() -> None:
    table = Lfta((MINUTE,), 8, lambda window, group: (group & 7, (group & 7) ^ 1), Lazy(), COUNT)
    fill(table, 0, [0, 8, 8])
    assert left(table.enter((0,), 16, None)) == [(0, 0, 1)]


POLICIES: dict[str, Callable[[], Policy]] = {
    "immediate": Immediate,
    "slow_inorder": SlowInOrder,
    "slow adaptive": Slow,
    "slow every 3": lambda: Slow(packets_per_group=3),
    "lazy": Lazy,
}

streams = st.lists(
    st.tuples(st.integers(-8, 15), st.integers(0, 11), st.booleans(), st.integers(1, 60)),
    max_size=80,
)
"""(step of time, group, accepted, bytes) for each packet."""


def arrivals_of(stream: list[tuple[int, int, bool, int]]) -> list[Arrival]:
    now, offset, result = 100, 0, []
    for step, group, accepted, size in stream:
        now, offset = max(0, now + step), offset + size
        row = ((now // 10,), group, None) if accepted else None
        result.append(Arrival(now, offset, row))
    return result


def in_order(arrivals: list[Arrival]) -> list[Arrival]:
    times = sorted((a.timestamp_ns, at) for at, a in enumerate(arrivals))
    rows = ((time, arrivals[at].accepted) for time, at in times)
    return [
        Arrival(time, at, row and ((time // 10,), *row[1:])) for at, (time, row) in enumerate(rows)
    ]


def final_rows(steps: list[PacketSteps]) -> Counter[tuple[int, int]]:
    rows: Counter[tuple[int, int]] = Counter()
    for partial in all_partials(steps):
        rows[partial.window[0], partial.group] += partial.state
    return rows


def all_partials(steps: list[PacketSteps]) -> list[Partial]:
    return [
        partial
        for step in steps
        for partial in ((*step.event.partials,) if step.event else ()) + step.pushed_out
    ]


@settings(max_examples=60)
@given(streams, st.sampled_from([1, 2, 4, 16]), st.booleans())
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_gives_the_same_final_rows(
    name: str, stream: list[tuple[int, int, bool, int]], slots: int, is_pipe: bool
) -> None:
    arrivals = arrivals_of(stream)
    source = PipeTime(20) if is_pipe else FileTime(200)
    steps = list(replay(arrivals, source, lfta(POLICIES[name](), slots), 7))
    taken = zip(arrivals, steps, strict=False)
    expected = Counter(
        (arrival.accepted[0][0], arrival.accepted[1])
        for arrival, step in taken
        if arrival.accepted and not step.late
    )
    assert final_rows(steps) == expected
    assert steps[-1].event.punctuation == (END,)


@settings(max_examples=60)
@given(streams, st.sampled_from([1, 2, 4, 16]))
@pytest.mark.parametrize("name", POLICIES)
def test_no_row_is_below_a_punctuation_that_was_given(
    name: str, stream: list[tuple[int, int, bool, int]], slots: int
) -> None:
    given_so_far: Vector = (NEVER,)
    table = lfta(POLICIES[name](), slots)
    for step in replay(arrivals_of(stream), PipeTime(20), table, 7):
        if step.event:
            assert not any(passed(p.window, given_so_far) for p in step.event.partials)
            assert step.event.punctuation >= given_so_far
            given_so_far = step.event.punctuation
        assert not any(passed(p.window, given_so_far) for p in step.pushed_out)
        assert all(not passed(window, given_so_far) for window in table.windows())


@settings(max_examples=60)
@given(streams, st.sampled_from([1, 2, 4, 16]))
@pytest.mark.parametrize("name", ["immediate", "slow_inorder"])
def test_ordered_policies_keep_order(
    name: str, stream: list[tuple[int, int, bool, int]], slots: int
) -> None:
    arrivals = in_order(arrivals_of(stream))
    steps = list(replay(arrivals, PipeTime(0), lfta(POLICIES[name](), slots), 7))
    windows = [partial.window for partial in all_partials(steps)]
    assert windows == sorted(windows)


@settings(max_examples=60)
@given(streams)
@pytest.mark.parametrize("name", ["slow adaptive", "slow every 3", "lazy"])
def test_no_window_stays_too_long(name: str, stream: list[tuple[int, int, bool, int]]) -> None:
    table = lfta(POLICIES[name](), 16)
    source = PipeTime(50)
    for arrival in arrivals_of(stream):
        reading = source.read(arrival.timestamp_ns)
        if table.advance(reading.high, reading.promise):
            current = MINUTE.bound(reading.high)
            assert all(current <= window[0] + 2 for window in table.windows())
        if arrival.accepted and not reading.late:
            table.enter(*arrival.accepted)
