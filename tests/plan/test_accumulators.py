# SPDX-License-Identifier: Apache-2.0
"""Aggregates as accumulators: what a query keeps, and what is shared."""

from __future__ import annotations

import pytest
from plan.planned import checked, node, planned

from gigastream.gsql.binder.aggregates import AGGREGATES as NAMES
from gigastream.gsql.binder.aggregates import RUNNING
from gigastream.gsql.types import Type
from gigastream.plan.accumulators import (
    AGGREGATES,
    KINDS,
    Accumulator,
    Final,
    decompose,
    expression_key,
    partial_columns,
)
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.plan.operators.partial_aggregate import PartialAggregate
from gigastream.plan.position import packet_position


def taken_apart(
    aggregates: str, *, goes_on: bool = False
) -> tuple[tuple[Accumulator, ...], tuple[Final, ...]]:
    closing = " CLOSING_WHEN count(*) = 0" if goes_on else ""
    text = f"SELECT tb, {aggregates} FROM TCP GROUP BY time/60 AS tb{closing}"
    query = checked(text)[0]
    return decompose(query.aggregates, packet_position(query.span))


def kinds(aggregates: str, *, goes_on: bool = False) -> list[str]:
    return [a.kind for a in taken_apart(aggregates, goes_on=goes_on)[0]]


@pytest.mark.parametrize(
    ("aggregates", "expected"),
    [
        ("count(*)", ["count"]),
        ("sum(len)", ["sum_unsigned"]),
        ("sum(len - 100)", ["sum_signed"]),
        ("sum(len * 1.5)", ["sum_float"]),
        ("min(len), max(len)", ["min", "max"]),
        ("avg(len)", ["sum_unsigned", "count"]),
        ("var(len), stddev(len)", ["moments_unsigned"]),
        ("and_aggr(flags), or_aggr(flags), xor_aggr(flags)", ["and", "or", "xor"]),
        ("first(len), last(len)", ["first", "last"]),
    ],
)
def test_an_aggregate_is_made_of_accumulators(aggregates: str, expected: list[str]) -> None:
    assert kinds(aggregates) == expected


def test_accumulators_are_shared() -> None:
    accumulators, finals = taken_apart("count(*), sum(len), avg(len), avg(caplen), COUNT(len)")
    assert [a.kind for a in accumulators] == ["count", "sum_unsigned", "sum_unsigned"]
    assert [f.accumulators for f in finals] == [(0,), (1,), (1, 0), (2, 0), (0,)]


def test_count_of_what_may_be_null_is_an_accumulator_of_its_own() -> None:
    accumulators, finals = taken_apart("count(*), count(CASE WHEN len > 9 THEN 1 END)")
    assert [a.argument is None for a in accumulators] == [True, False]
    assert [f.accumulators for f in finals] == [(0,), (1,)]
    assert not finals[1].nullable


def test_count_of_what_may_have_no_value_evaluates_it() -> None:
    accumulators, _ = taken_apart("count(*), count(100 / (len - 74)), count(len + 1)")
    assert [a.argument is None for a in accumulators] == [True, False]


def test_the_average_of_what_may_be_null_counts_what_is_not() -> None:
    accumulators, finals = taken_apart("avg(CASE WHEN len > 9 THEN len END)")
    assert [(a.kind, a.argument is None) for a in accumulators] == [
        ("sum_unsigned", False),
        ("count", False),
    ]
    assert finals == (Final("average", (0, 1), Type.FLOAT, True),)


def test_every_aggregate_of_the_language_is_made_of_known_accumulators() -> None:
    assert set(AGGREGATES) == set(NAMES)
    for name in AGGREGATES:
        argument = "flags" if name.endswith("AGGR") else "len"
        argument += ", 3" if NAMES[name].arity == 2 else ""
        argument = {"CAT_AGGR": "' ', len", "STRING_AGG": "len, ' '"}.get(name, argument)
        argument += ", time, time + 1" if NAMES[name].is_timed else ""
        assert set(kinds(f"{name}({argument})", goes_on=name in RUNNING)) <= set(KINDS)


def test_what_moves_shares_its_sum_with_what_does_not() -> None:
    accumulators, finals = taken_apart(
        "sum(len), moving_sum(len, 3), moving_avg(len, 4), running_sum(len)", goes_on=True
    )
    assert [a.kind for a in accumulators] == ["sum_unsigned", "count"]
    assert [f.windows for f in finals] == [1, 3, 4, 1, 1]


def test_partial_columns_have_the_types_of_what_they_hold() -> None:
    accumulators, _ = taken_apart("first(srcIP), var(len)")
    columns = [partial_columns(a, f"a{i}") for i, a in enumerate(accumulators)]
    assert [(c.name, c.type) for c in columns[0]] == [
        ("a0", Type.INET),
        ("a0_ts", Type.LLONG),
        ("a0_if", Type.ULLONG),
        ("a0_pos", Type.ULLONG),
    ]
    assert [c.name for c in columns[1]] == [
        *("a1_n", "a1_origin", "a1_sum", "a1_squares", "a1_squares_high"),
    ]


def test_both_levels_keep_the_same_accumulators() -> None:
    plan = planned("SELECT tb, avg(len), first(len) AS f FROM TCP GROUP BY time AS tb")
    low, high = node(plan, "query_low"), node(plan, "query")
    assert isinstance(low, PartialAggregate)
    assert isinstance(high, Aggregate)
    assert low.accumulators == high.accumulators
    width = sum(len(KINDS[a.kind].columns) for a in low.accumulators)
    assert len(low.schema.columns) == len(low.groups) + width


def test_a_key_is_what_is_computed_not_how_it_is_written() -> None:
    def key(text: str) -> object:
        return expression_key(checked(f"SELECT {text} AS x FROM PKT")[0].outputs[0].expression)

    assert key("time / 60") == key("systemTime/60")
    assert key("len + 1") != key("len + 2")
    assert key("len + 1") != key("caplen + 1")
    assert key("CAST(len AS ullong)") != key("len")
