# SPDX-License-Identifier: Apache-2.0
"""Aggregates in Python: what they are given, what they answer, and where they are refused."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gigastream
from gigastream.group_calls import TOO_MANY, RowsCall, arguments_of, kept_rows
from tests.captures import DEMO_CAPTURE

Rows = list[dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("ignore:even raised")


@gigastream.udaf
def middle(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return x[(len(x) - 1) // 2]


@gigastream.udaf
def widest_gap(when: pa.TimestampArray, size: pa.UInt32Array) -> pa.Int64Scalar | None:
    """Rows come in the order of their first argument."""
    times = when.cast(pa.int64()).to_pylist()
    assert len(times) == len(size)
    return max((b - a for a, b in pairwise(times)), default=None)


@gigastream.udaf
def known(x: Annotated[pa.UInt32Array, "IP"] | None) -> pa.UInt64Scalar:
    return len(x) - x.null_count


@gigastream.udaf
def even(x: pa.UInt32Array) -> pa.UInt32Scalar:
    if len(x) % 2:
        raise ValueError("an odd number of rows")
    return len(x)


@gigastream.udaf(on_error="end")
def strict(x: pa.UInt32Array) -> pa.UInt32Scalar:
    raise ValueError("no such group")


@gigastream.udaf(on_error="end", max_bytes=64)
def small(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return len(x)


@gigastream.udaf
def other(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return pc.sum(x)


@gigastream.udaf
def no_number(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return "no number"


@gigastream.udaf
def infinite(x: pa.UInt32Array) -> pa.DoubleScalar:
    return float("inf") if len(x) > 100 else 1.0


def answered(query: str, *functions: Any) -> Rows:
    batches = gigastream.run(query, str(DEMO_CAPTURE), functions=functions)
    return [row for batch in batches for row in batch.to_pylist()]


def groups(columns: str) -> dict[int, Rows]:
    """The rows of each window of a minute, from the same engine without a group."""
    found: dict[int, Rows] = {}
    for row in answered(f"SELECT time, {columns} FROM IPV4"):
        found.setdefault(row["time"] // 60, []).append(row)
    return found


BY_MINUTE = "FROM IPV4 GROUP BY time/60 AS tb"


def test_a_value_of_each_group() -> None:
    query = (
        f"SELECT tb, middle(len) AS m, count(*) AS n, widest_gap(timestamp, len) AS gap {BY_MINUTE}"
    )
    found = answered(query, middle, widest_gap)
    assert found == [
        {"tb": tb, "m": sizes[(len(sizes) - 1) // 2], "n": len(sizes), "gap": gap}
        for tb, rows in groups("len, timestamp").items()
        for sizes in [sorted(row["len"] for row in rows)]
        for times in [sorted(row["timestamp"].value for row in rows)]
        for gap in [max(b - a for a, b in pairwise(times))]
    ]


def test_within_expressions_having_and_order() -> None:
    query = (
        "SELECT tb, srcIP, middle(uint(len + 1)) * 2 AS m FROM IPV4 GROUP BY time/60 AS tb, srcIP "
        "HAVING middle(uint(len + 1)) > 80 ORDER BY m DESC LIMIT 2"
    )
    found = answered(query, middle)
    expected: dict[int, list[tuple[int, int]]] = {}
    for tb, rows in groups("srcIP, len").items():
        for host in {row["srcIP"] for row in rows}:
            sizes = sorted(row["len"] + 1 for row in rows if row["srcIP"] == host)
            if sizes[(len(sizes) - 1) // 2] > 80:
                expected.setdefault(tb, []).append((sizes[(len(sizes) - 1) // 2] * 2, host))
    most = {tb: sorted((m for m, _ in rows), reverse=True)[:2] for tb, rows in expected.items()}
    assert [(row["tb"], row["m"]) for row in found] == [(tb, m) for tb in most for m in most[tb]]


def test_null_and_filter() -> None:
    query = (
        "SELECT tb, known(CASE WHEN len > 100 THEN srcIP END) AS k, count(*) AS n, "
        "middle(len) FILTER (WHERE len > 9999) AS none, "
        f"middle(CASE WHEN len > 100 THEN len END) AS m {BY_MINUTE}"
    )
    for row in answered(query, known, middle):
        sizes = sorted(r["len"] for r in groups("len")[row["tb"]] if r["len"] > 100)
        assert (row["k"], row["none"]) == (len(sizes), None)
        assert row["m"] == sizes[(len(sizes) - 1) // 2]


def test_an_exception_is_no_value_of_its_group_alone() -> None:
    found = answered(f"SELECT tb, even(len) AS n {BY_MINUTE}", even)
    sizes = {tb: len(rows) for tb, rows in groups("len").items()}
    assert found == [{"tb": tb, "n": n} for tb, n in sizes.items() if n % 2 == 0]
    assert 0 < len(found) < len(sizes)


def test_what_is_not_finite_is_no_value() -> None:
    found = answered(f"SELECT tb, infinite(len) AS i {BY_MINUTE}", infinite)
    assert [row["tb"] for row in found] == [t for t, r in groups("len").items() if len(r) <= 100]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (strict, "ValueError: no such group"),
        (small, "TooManyRowsError: a group has more than 64 bytes of rows"),
        (other, "an array of uint64, and says that it is uint32"),
        (no_number, "gives a str, and says that it is uint32"),
    ],
)
def test_what_ends_a_query(function: Any, said: str) -> None:
    with pytest.raises(gigastream.EngineError, match=said):
        answered(f"SELECT tb, {function.__name__}(len) AS x {BY_MINUTE}", function)


OVERLAPPING = "SELECT middle(len) AS m FROM IPV4 [RANGE 2 min, SLIDE 1 min, WA timestamp]"
GOES_ON = (
    f"SELECT tb, srcIP, running_sum(len) AS s, middle(len) AS m {BY_MINUTE}, srcIP "
    "CLOSING_WHEN count(*) > 3"
)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (GOES_ON, "middle keeps a window's values, and cannot be in groups that go on"),
        (OVERLAPPING, "middle keeps every value, and cannot be over windows that overlap"),
        (f"SELECT tb, middle(DISTINCT len) AS m {BY_MINUTE}", "middle takes no DISTINCT"),
        (f"SELECT tb, middle(*) AS m {BY_MINUTE}", "middle takes no \\*"),
        (f"SELECT tb, middle(srcIP) AS m {BY_MINUTE}", r"there is no middle\(IP\)"),
        (
            "SELECT time FROM IPV4 WHERE middle(len) > 1",
            "the aggregate middle cannot stand in WHERE",
        ),
        (f"SELECT tb, sum(middle(len)) AS m {BY_MINUTE}", "aggregates do not nest"),
    ],
)
def test_where_one_is_refused(query: str, said: str) -> None:
    with pytest.raises(gigastream.GsqlError, match=said):
        answered(query, middle)


def test_marks_say_what_they_are_told() -> None:
    with pytest.raises(ValueError, match="max_bytes is from 1 to 67,108,864, not 0"):
        gigastream.udaf(max_bytes=0)
    with pytest.raises(ValueError, match="on_error is one of"):
        gigastream.udaf(on_error="never")  # type: ignore[call-overload]


# ---- rows as bytes ----

_COLUMNS = {
    pa.bool_(): st.booleans(),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.binary(): st.binary(max_size=9),
    pa.binary(16): st.binary(min_size=16, max_size=16),
    pa.timestamp("ns", "UTC"): st.integers(0, 2**62),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[pa.Array], list[bool]]:
    types = draw(st.lists(st.sampled_from(list(_COLUMNS)), min_size=1, max_size=4))
    count = draw(st.integers(1, 6))
    take_null = draw(st.lists(st.booleans(), min_size=len(types), max_size=len(types)))
    columns = []
    for type_ in types:
        values = st.none() | _COLUMNS[type_]
        cells = draw(st.lists(values, min_size=count, max_size=count))
        columns.append(pa.array(cells, type_))
    return columns, take_null


def _key(row: Iterable[Any]) -> list[tuple[bool, Any]]:
    return [(cell is None, 0 if cell is None else cell) for cell in row]


@given(tables())
def test_rows_come_back_in_the_order_of_their_values(
    table: tuple[list[pa.Array], list[bool]],
) -> None:
    columns, take_null = table
    packed, given_ = RowsCall(tuple(take_null)).answer(columns)
    assert given_.to_pylist() == [True] * len(packed)
    rows = [row for row in packed.to_pylist() if row is not None]
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in columns]
    cells = zip(*(column.to_pylist() for column in plain), strict=True)
    whole = [
        row for row in cells if all(t or c is not None for c, t in zip(row, take_null, strict=True))
    ]
    kept = kept_rows(rows, 1 << 20)
    assert (kept is None) == (not whole)
    if kept is None:
        return
    found = arguments_of(kept, [column.type for column in columns], take_null)
    assert [column.type for column in found] == [column.type for column in columns]
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in found]
    assert list(zip(*(c.to_pylist() for c in plain), strict=True)) == sorted(whole, key=_key)
    assert (
        arguments_of(kept_rows(rows[::-1], 1 << 20) or b"", [c.type for c in columns], take_null)
        == found
    )
    assert kept_rows(rows, len(kept) - 1) == TOO_MANY
