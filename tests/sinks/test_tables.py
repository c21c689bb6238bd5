# SPDX-License-Identifier: Apache-2.0
"""Every sink alike: keys, columns, types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from gigastream.sinks import Key, SinkError, SinkTable, parse_sink_place
from gigastream.sinks.columns import Abilities, table_rows, table_schema
from tests.sinks.places import Place
from tests.sinks.postgres_server import PASSWORD

MAPPED = bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 1])
WIDE = bytes([0x20, 1, 0xD, 0xB8]) + bytes(11) + b"\1"
COLUMNS: list[tuple[pa.Field, Any, str]] = [
    (pa.field("bool", pa.bool_()), True, "True"),
    (pa.field("ushort", pa.uint16()), 65535, "65535"),
    (pa.field("uint", pa.uint32()), 2**32 - 1, str(2**32 - 1)),
    (pa.field("int", pa.int32()), -(2**31), str(-(2**31))),
    (pa.field("ullong", pa.uint64()), 2**64 - 1, str(2**64 - 1)),
    (pa.field("llong", pa.int64()), -(2**63), str(-(2**63))),
    (pa.field("float", pa.float64()), 0.1, "0.1"),
    (pa.field("string", pa.binary()), 'é, "quoted"\n'.encode(), 'é, "quoted"\n'),
    (pa.field("broken", pa.binary()), b"\xff\0", "\\xff\\x00"),
    (pa.field("empty", pa.binary()), b"", ""),
    (pa.field("opaque", pa.binary(3)), b"\0\1\2", "000102"),
    (pa.field("IP", pa.uint32(), metadata={"gs.type": "ipv4"}), 0x0A000001, "10.0.0.1"),
    (pa.field("IPV6", pa.binary(16), metadata={"gs.type": "ipv6"}), MAPPED, "::ffff:10.0.0.1"),
    (pa.field("INET4", pa.binary(16), metadata={"gs.type": "inet"}), MAPPED, "10.0.0.1"),
    (pa.field("INET6", pa.binary(16), metadata={"gs.type": "inet"}), WIDE, "2001:db8::1"),
    (pa.field("mac", pa.uint64(), metadata={"gs.type": "mac"}), 1, "00:00:00:00:00:01"),
    (pa.field("at", pa.timestamp("ns", "UTC")), None, "None"),
]
SCHEMA = pa.schema([field for field, *_ in COLUMNS])
ROWS = pa.table([pa.array([v, None], f.type) for f, v, _ in COLUMNS], schema=SCHEMA)
AT = pa.field("at", pa.timestamp("ns", "UTC"))
TIMES = pa.schema([AT])
NUMBERS = pa.schema([pa.field("n", pa.int64()), AT])


@contextmanager
def opened(
    place: Place, schema: pa.Schema, monkeypatch: pytest.MonkeyPatch, name: str = "rows"
) -> Iterator[SinkTable]:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    table = parse_sink_place(place.output).open(name, schema)
    try:
        yield table
    finally:
        table.close()


def numbers(*values: int) -> pa.Table:
    return pa.table([pa.array(values, pa.int64()), pa.nulls(len(values), AT.type)], schema=NUMBERS)


def found(place: Place) -> list[int]:
    return [row["n"] for row in place.rows("rows")]


def text_of(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def test_values_of_all_types_and_none(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place, SCHEMA, monkeypatch) as table:
        assert table.write(ROWS, None)
    (nothing,) = [row for row in place.rows("rows") if row["bool"] is None]
    assert set(nothing.values()) == {None}
    (row,) = [row for row in place.rows("rows") if row["bool"] is not None]
    assert {name: text_of(row[name]) for name in row} == {f.name: t for f, _, t in COLUMNS}


def test_times_are_cut_to_microseconds_at_most(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = pa.array([-1000, 1_700_000_000_123_456_789], TIMES.field(0).type)
    with opened(place, TIMES, monkeypatch) as table:
        table.write(pa.table([values], schema=TIMES), None)
    before, after = sorted(row["at"].replace(tzinfo=UTC) for row in place.rows("rows"))
    assert before == datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    assert after == datetime(2023, 11, 14, 22, 13, 20, 123_456, UTC)


def test_what_is_cut_of_a_time_is_rounded_down() -> None:
    schema = table_schema(TIMES, Abilities())
    times = pa.table([pa.array([-1, 1999], TIMES.field(0).type)], schema=TIMES)
    assert table_rows(times, schema).column(0).cast(pa.int64()).to_pylist() == [-1, 1]


def test_a_key_is_written_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place, NUMBERS, monkeypatch) as table:
        assert table.last("one") is None
        assert table.write(numbers(1), Key("one", 5))
        assert not table.write(numbers(2), Key("one", 5))
        assert not table.write(numbers(3), Key("one", 4))
        assert table.write(numbers(4), Key("other", 1))
        assert table.write(numbers(5), Key("one", (1 << 63) - 1))
        assert table.write(numbers(6), None)
    with opened(place, NUMBERS, monkeypatch) as table:
        assert (table.last("one"), table.last("other")) == ((1 << 63) - 1, 1)
    assert found(place) == [1, 4, 5, 6]


def test_a_writer_that_was_taken_for_dead_writes_nothing_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        opened(place, NUMBERS, monkeypatch) as old,
        opened(place, NUMBERS, monkeypatch) as new,
    ):
        assert old.write(numbers(1), Key("job", 1))
        assert new.write(numbers(2), Key("job", 2))
        assert new.write(numbers(3), Key("beside", 1))
        assert not old.write(numbers(2), Key("job", 2))
        assert old.write(numbers(4), Key("job", 3))
    assert found(place) == [1, 2, 3, 4]


def test_tables_of_one_place_have_keys_of_their_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place, NUMBERS, monkeypatch) as table:
        table.write(numbers(1), Key("run", 1))
        with opened(place, NUMBERS, monkeypatch, "others") as other:
            assert other.last("run") is None
            assert other.write(numbers(2), Key("run", 1))


def test_a_table_may_be_called_as_what_is_ours(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB is given rows under a name, too."""
    with opened(place, NUMBERS, monkeypatch, "gigastream") as table:
        table.write(numbers(1, 2), None)
    assert [row["n"] for row in place.rows("gigastream")] == [1, 2]


@pytest.mark.parametrize("there", [pa.field("m", pa.int64()), pa.field("n", pa.float64())])
def test_a_table_with_other_columns_is_left_alone(
    place: Place, there: pa.Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place, pa.schema([there, AT]), monkeypatch):
        pass
    with (
        pytest.raises(SinkError, match="is there with other columns: n is") as error,
        opened(place, NUMBERS, monkeypatch),
    ):
        pass
    assert error.value.exit_code == 2
