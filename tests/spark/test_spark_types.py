# SPDX-License-Identifier: Apache-2.0
"""Every type arrives in Spark with its extremes, its NULLs and its odd bytes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark.sql import functions as F
from spark.written import ARROW_TYPES, Written

from spark_sink import spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

LEAST_NS, GREATEST_NS = -(1 << 63), (1 << 63) - 1
ADDRESS = bytes(range(16))

# type: what is written, what Spark's type is called, what Spark reads
CASES: dict[str, tuple[list[Any], str, list[Any]]] = {
    "bool": ([True, False, None], "boolean", [True, False, None]),
    "ushort": ([0, 65535, None], "int", [0, 65535, None]),
    "uint": ([0, 2**32 - 1, None], "bigint", [0, 2**32 - 1, None]),
    "int": ([-(2**31), 2**31 - 1, None], "int", [-(2**31), 2**31 - 1, None]),
    "ullong": ([0, 2**64 - 1, None], "decimal(20,0)", [Decimal(0), Decimal(2**64 - 1), None]),
    "llong": ([-(2**63), 2**63 - 1, None], "bigint", [-(2**63), 2**63 - 1, None]),
    "float": ([-1.5, 5e-324, None], "double", [-1.5, 5e-324, None]),
    "string": ([b"", b"\xff\x00\xfe", None], "binary", [b"", b"\xff\x00\xfe", None]),
    "IP": ([0, 0xC0000201, None], "bigint", [0, 0xC0000201, None]),
    "IPV6": ([bytes(16), ADDRESS, None], "binary", [bytes(16), ADDRESS, None]),
    "INET": ([bytes(16), ADDRESS, None], "binary", [bytes(16), ADDRESS, None]),
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


def test_rows_have_no_heartbeat(frame: DataFrame, rows: list[Row]) -> None:
    assert frame.dtypes[0] == ("_hb", "timestamp")
    assert [row["_hb"] for row in rows] == [None] * 3


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


AS_BIGINT = [frozenset[str](), frozenset({"timestamp"}), frozenset({"timestamp", "ullong"})]


@pytest.mark.parametrize("as_bigint", AS_BIGINT)
def test_what_we_send_is_what_spark_expects(as_bigint: frozenset[str]) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    columns = [{"name": type_, "type": type_} for type_ in ARROW_TYPES]
    schema = spark_types.spark_schema(columns, as_bigint)
    assert schema.fieldNames() == ["_hb", *ARROW_TYPES]
    assert all(field.nullable for field in schema.fields)
    assert spark_types.arrow_schema(schema).equals(to_arrow_schema(schema, timezone="UTC"))


def _through(values: list[Any], type_: str, as_bigint: frozenset[str] = frozenset()) -> list[Any]:
    schema = spark_types.arrow_schema(
        spark_types.spark_schema([{"name": "value", "type": type_}], as_bigint)
    )
    batch = pa.RecordBatch.from_arrays([pa.array(values, ARROW_TYPES[type_])], ["value"])
    column = spark_types.to_spark(batch, schema).column("value")
    assert column.type == schema.field("value").type
    return column.view(pa.int64()).to_pylist()
