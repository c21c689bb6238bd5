# SPDX-License-Identifier: Apache-2.0
"""Every type arrives in Spark with its extremes, its NULLs and its odd bytes."""

from __future__ import annotations

import csv
import ipaddress
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from captures import ROOT
from pyspark.sql import functions as F
from spark.written import ARROW_TYPES, Written

from spark_sink import spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

LEAST_NS, GREATEST_NS = -(1 << 63), (1 << 63) - 1
ADDRESS = bytes(range(16))
ADDRESS_TEXT = "1:203:405:607:809:a0b:c0d:e0f"
MAPPED = bytes(10) + bytes([255, 255, 192, 0, 2, 1])

# type: what is written, what Spark's type is called, what Spark reads
CASES: dict[str, tuple[list[Any], str, list[Any]]] = {
    "bool": ([True, False, None], "boolean", [True, False, None]),
    "ushort": ([0, 65535, None], "int", [0, 65535, None]),
    "uint": ([0, 2**32 - 1, None], "bigint", [0, 2**32 - 1, None]),
    "int": ([-(2**31), 2**31 - 1, None], "int", [-(2**31), 2**31 - 1, None]),
    "ullong": ([0, 2**64 - 1, None], "decimal(20,0)", [Decimal(0), Decimal(2**64 - 1), None]),
    "llong": ([-(2**63), 2**63 - 1, None], "bigint", [-(2**63), 2**63 - 1, None]),
    "float": ([-1.5, 5e-324, None], "double", [-1.5, 5e-324, None]),
    "string": (["é".encode(), b"a\xff\xc3", None], "string", ["é", r"a\xff\xc3", None]),
    "IP": ([0, 0xC0000201, None], "string", ["0.0.0.0", "192.0.2.1", None]),
    "IPV6": ([MAPPED, ADDRESS, None], "string", ["::ffff:192.0.2.1", ADDRESS_TEXT, None]),
    "INET": ([MAPPED, ADDRESS, None], "string", ["192.0.2.1", ADDRESS_TEXT, None]),
    "fstring1": ([b"\0", b"\xff", None], "binary", [b"\0", b"\xff", None]),
    "fstring13": ([bytes(13), ADDRESS[:13], None], "binary", [bytes(13), ADDRESS[:13], None]),
    "timestamp": ([0, 1_700_000_000_123_456_789, None], "timestamp", [0, 1700000000123456, None]),
}


@pytest.fixture(scope="module")
def frame(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A batch frame with a column of every type."""
    root = tmp_path_factory.mktemp("types")
    rows = list(zip(*(written for written, _, _ in CASES.values()), strict=True))
    Written(root, {type_: type_ for type_ in CASES}).write("eth0", [(rows, 0)])
    return spark.read.format("gigastream").load(str(root))


@pytest.fixture(scope="module")
def rows(frame: DataFrame) -> list[Row]:
    return frame.withColumn("timestamp", F.unix_micros("timestamp")).collect()


@pytest.mark.parametrize("type_", CASES)
def test_a_type_through_spark(type_: str, frame: DataFrame, rows: list[Row]) -> None:
    _, spark_name, expected = CASES[type_]
    assert dict(frame.dtypes)[type_] == spark_name
    assert [row[type_] for row in rows] == expected


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("string", [b"", b"\xff\x00\xfe", None]),
        ("IP", [0, 0xC0000201, None]),
        ("IPV6", [MAPPED, ADDRESS, None]),
        ("INET", [MAPPED, ADDRESS, None]),
    ],
)
def test_bytes_may_stay_as_they_are(type_: str, values: list[Any]) -> None:
    assert _sent(values, type_, frozenset({type_})).to_pylist() == values


def test_a_join_with_text_finds_its_rows(frame: DataFrame, spark: SparkSession) -> None:
    names = spark.createDataFrame(
        [("192.0.2.1", "é", "host")], "address string, s string, n string"
    )
    for column in ("IP", "INET"):
        assert [row.n for row in frame.join(names, frame[column] == names.address).collect()]
    assert [row.n for row in frame.join(names, frame["string"] == names.s).collect()] == ["host"]


def test_addresses_print_as_the_engine_prints_them() -> None:
    with (ROOT / "tests/output/values.tsv").open() as stream:
        lines = [row for row in csv.reader(stream, delimiter="\t") if row[0] in INSIDE]
    for type_, text, printed, _ in lines:
        value = None if text == "None" else INSIDE[type_](text.strip("'"))
        expected = None if value is None else printed
        assert _sent([value], type_).to_pylist() == [expected]


def _sixteen(text: str) -> bytes:
    address = ipaddress.ip_address(text)
    return address.packed if address.version == 6 else MAPPED[:12] + address.packed


INSIDE: dict[str, Callable[[str], Any]] = {
    "IP": lambda text: int(ipaddress.IPv4Address(text)),
    "IPV6": _sixteen,
    "INET": _sixteen,
}


def test_every_pattern_of_zero_groups_prints_as_in_the_standard_library() -> None:
    patterns = [
        b"".join((b"\0\0", b"\x0a\xbc")[pattern >> group & 1] for group in range(8))
        for pattern in range(256)
    ]
    found = _sent(patterns, "IPV6").to_pylist()
    assert found == [str(ipaddress.IPv6Address(each)) for each in patterns]


def test_rows_have_no_heartbeat(frame: DataFrame, rows: list[Row]) -> None:
    assert frame.dtypes[0] == ("_hb", "timestamp")
    assert [row["_hb"] for row in rows] == [None] * 3


@pytest.mark.parametrize(
    ("names", "heartbeat"),
    [
        (["hb"], "_hb"),
        (["_hb"], "_hb_"),
        (["len", "_HB"], "_hb_"),
        (["_Hb_", "_hb"], "_hb__"),
        (["_hb_"], "_hb"),
    ],
)
def test_a_column_may_have_the_name_of_the_heartbeats(names: list[str], heartbeat: str) -> None:
    columns = [{"name": name, "type": "timestamp"} for name in names]
    schema = spark_types.arrow_schema(spark_types.spark_schema(columns))
    assert schema.names == [heartbeat, *names]
    values = [pa.array([1000 * at], ARROW_TYPES["timestamp"]) for at in range(len(names))]
    batch = pa.RecordBatch.from_arrays(values, names)
    sent = spark_types.to_spark(batch, schema, dict.fromkeys(names, "timestamp"))
    assert [column.cast(pa.int64()).to_pylist() for column in sent] == [
        [None],
        *([at] for at in range(len(names))),
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "microseconds"),
    [
        (0, 0),
        (999, 0),
        (1000, 1),
        (-1, -1),
        (-1000, -1),
        (-1001, -2),
        (GREATEST_NS, 9_223_372_036_854_775),
        (LEAST_NS, -9_223_372_036_854_776),
        (None, None),
    ],
)
def test_a_timestamp_rounds_down(nanoseconds: int | None, microseconds: int | None) -> None:
    assert _through([nanoseconds], "timestamp") == [microseconds]
    # Beside one before 1970, which takes another way.
    assert _through([nanoseconds, -1], "timestamp")[0] == microseconds


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        (
            "timestamp",
            [LEAST_NS, -1, 0, GREATEST_NS, None],
            [LEAST_NS, -1, 0, GREATEST_NS, None],
        ),
        ("ullong", [0, 2**63 - 1, 2**63, 2**64 - 1, None], [0, 2**63 - 1, -(2**63), -1, None]),
    ],
)
def test_64_bits_may_stay_as_they_are(
    type_: str, values: list[int | None], expected: list[int | None]
) -> None:
    assert _through(values, type_, frozenset({type_})) == expected


def test_bits_are_made_an_unsigned_number(spark: SparkSession) -> None:
    bits = [(0,), (2**63 - 1,), (-(2**63),), (-1,), (None,)]
    frame = spark.createDataFrame(bits, "bits bigint")
    number = frame.select(spark_types.unsigned(F.col("bits")).alias("number"))
    assert number.dtypes == [("number", "decimal(20,0)")]
    found = [row.number for row in number.collect()]
    assert found == [0, 2**63 - 1, 2**63, 2**64 - 1, None]


ALL_INSIDE = frozenset({"timestamp", "ullong", "string", "IP", "IPV6", "INET"})


@pytest.mark.parametrize("inside", [frozenset[str](), frozenset({"timestamp"}), ALL_INSIDE])
def test_what_we_send_is_what_spark_expects(inside: frozenset[str]) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    columns = [{"name": type_, "type": type_} for type_ in ARROW_TYPES]
    schema = spark_types.spark_schema(columns, inside)
    assert schema.fieldNames() == ["_hb", *ARROW_TYPES]
    assert all(field.nullable for field in schema.fields)
    assert spark_types.arrow_schema(schema).equals(to_arrow_schema(schema, timezone="UTC"))


def _through(values: list[Any], type_: str, inside: frozenset[str] = frozenset()) -> list[Any]:
    found: list[Any] = _sent(values, type_, inside).view(pa.int64()).to_pylist()
    return found


def _sent(values: list[Any], type_: str, inside: frozenset[str] = frozenset()) -> pa.Array:
    columns = [{"name": "value", "type": type_}]
    schema = spark_types.arrow_schema(spark_types.spark_schema(columns, inside))
    batch = pa.RecordBatch.from_arrays([pa.array(values, ARROW_TYPES[type_])], ["value"])
    column = spark_types.to_spark(batch, schema, {"value": type_}).column("value")
    assert column.type == schema.field("value").type
    return column
