# SPDX-License-Identifier: Apache-2.0
"""The high-level models: punctuation after every batch, not only rows at the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.models.bounds import END, NEVER, Column
from tests.models.hfta import (
    Aggregate,
    Batch,
    OrderLimit,
    Select,
    SuperAggregate,
    Union,
    end_of,
)
from tests.models.order import OrderKey

SAME = Column(lambda value: value)
TENS = Column(lambda value: value // 10)
COUNT = SuperAggregate(lambda left, right: left + right, lambda state: (state,))


def test_select_carries_bounds_through_its_expressions() -> None:
    select = Select(lambda row: (row[0] // 10, row[1]) if row[1] else None, [(0, TENS)])
    batch = select.on_batch(Batch(((61, 5), (59, 0)), (57,)))
    assert batch == Batch(((6, 5),), (5,))
    assert select.on_batch(Batch((), (12,))).punctuation == (5,)
    assert select.on_batch(Batch((), end_of(1))).punctuation == (END,)


def test_aggregate_closes_windows_oldest_first() -> None:
    aggregate = Aggregate([(0, SAME)], COUNT, having=lambda row: row[-1] > 1)
    rows = (((2,), "a", 1), ((1,), "b", 2), ((1,), "c", 1), ((2,), "a", 3))
    assert aggregate.on_batch(Batch(rows, (1,))) == ([], (1,))
    closed, punctuation = aggregate.on_batch(Batch((((2,), "d", 9),), (3,)))
    assert [(c.window, sorted(c.rows)) for c in closed] == [
        ((1,), [(1, "b", 2)]),
        ((2,), [(2, "a", 4), (2, "d", 9)]),
    ]
    assert punctuation == (3,)
    assert aggregate.punctuation_while([(1,), (2,)]) == (1,)
    assert aggregate.punctuation_while([(2,)]) == (2,)


def test_aggregate_counts_what_it_refuses() -> None:
    aggregate = Aggregate([(0, SAME)], COUNT, max_groups=2)
    rows = (((1,), "a", 1), ((1,), "b", 1), ((1,), "c", 1), ((1,), "a", 1), ((2,), "c", 1))
    closed, _ = aggregate.on_batch(Batch(rows, end_of(1)))
    assert aggregate.groups_refused == 2
    assert [(c.rows, c.is_partial) for c in closed] == [
        (((1, "a", 2), (1, "b", 1)), True),
        ((), True),
    ]


def test_union_waits_for_its_least_input() -> None:
    union = Union(2, 1)
    assert union.on_batch(0, Batch(((5,),), (5,))) == Batch(((5,),), (NEVER,))
    assert union.on_batch(1, Batch((), (3,))).punctuation == (3,)
    assert union.on_batch(1, Batch((), end_of(1))).punctuation == (5,)


def test_order_limit_by_window() -> None:
    order = OrderLimit([0], [OrderKey(2, descending=True)], limit=2)
    rows = ((1, "c", 5), (1, "a", 5), (1, "b", 9), (1, "d", None), (2, "a", 1))
    assert order.on_batch(Batch(rows, (1,))) == Batch((), (1,))
    assert order.on_batch(Batch((), (2,))) == Batch(((1, "b", 9), (1, "a", 5)), (2,))
    assert order.on_batch(Batch((), end_of(1))) == Batch(((2, "a", 1),), (END,))


def test_null_is_below_every_value() -> None:
    order = OrderLimit([0], [OrderKey(1)])
    batch = order.on_batch(Batch(((1, 3), (1, None), (1, -2)), end_of(1)))
    assert batch.rows == ((1, None), (1, -2), (1, 3))


partial_rows = st.tuples(st.integers(0, 6).map(lambda w: (w,)), st.integers(0, 3), st.just(1))


@given(st.lists(st.tuples(st.lists(partial_rows, max_size=5), st.integers(0, 7)), max_size=12))
def test_aggregate_gives_no_row_below_its_punctuation(batches: list[tuple[list, int]]) -> None:
    aggregate = Aggregate([(0, SAME)], COUNT)
    bound, total, out = 0, 0, 0
    for rows, grown in batches:
        kept = tuple(row for row in rows if row[0][0] >= bound)
        before = aggregate.punctuation
        bound, total = max(bound, grown), total + len(kept)
        closed, punctuation = aggregate.on_batch(Batch(kept, (bound,)))
        assert punctuation == (bound,)
        assert all(window.window >= before for window in closed)
        out += sum(row[-1] for window in closed for row in window.rows)
    closed, _ = aggregate.on_batch(Batch((), end_of(1)))
    assert out + sum(row[-1] for window in closed for row in window.rows) == total
