# SPDX-License-Identifier: Apache-2.0
"""Functions of addresses: the same in DataFrames and in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark.sql import functions as F

import spark_sink
from spark_sink import ip_bytes, ip_functions, ip_in, ip_number, ip_prefix, ip_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESSES = ["10.1.2.3", "9.255.255.255", "2001:db8::1", "no address", None]
FOUND = [
    (True, 0x0A010203, "10.1.0.0/16", "10.1.2.3"),
    (False, 0x09FFFFFF, "9.255.0.0/16", "9.255.255.255"),
    (False, None, "2001::/16", "2001:db8::1"),
    (None, None, None, None),
    (None, None, None, None),
]


def test_of_columns_and_in_sql(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(address,) for address in ADDRESSES], "a string")
    a = ip_in("a", "10.0.0.0/8"), ip_number("a"), ip_prefix("a", 16), ip_text(ip_bytes("a"))
    found = [tuple(row) for row in rows.select(*a).collect()]
    assert found == FOUND
    spark_sink.register(spark)
    rows.createOrReplaceTempView("addresses")
    of_sql = "ip_in(a, '10.0.0.0/8'), ip_number(a), ip_prefix(a, 16), ip_text(ip_bytes(a))"
    assert [tuple(row) for row in spark.sql(f"SELECT {of_sql} FROM addresses").collect()] == FOUND


def test_bytes_sort_as_addresses(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("10.0.0.1",), ("9.0.0.1",), ("::1",)], "a string")
    assert [row.a for row in rows.orderBy(ip_bytes(F.col("a"))).collect()] == [
        "::1",
        "9.0.0.1",
        "10.0.0.1",
    ]


@pytest.mark.parametrize(
    ("values", "type_", "texts"),
    [
        ([0, 2**32 - 1, -1, 2**32, None], pa.int64(), ["0.0.0.0", "255.255.255.255", *[None] * 3]),
        ([bytes(15) + b"\x01", b"short", None], pa.binary(), ["::1", None, None]),
    ],
)
def test_what_is_no_address_is_null(values: list[Any], type_: pa.DataType, texts: Any) -> None:
    assert ip_functions._texts(pa.array(values, type_)).to_pylist() == texts


def test_a_prefix_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="is no prefix of addresses"):
        ip_functions._inside(pa.array(["10.0.0.1"]), pa.array(["10.0.0.0/33"]))


def test_a_length_that_no_address_has_is_null() -> None:
    found = ip_functions._prefixes(pa.array(["10.0.0.1", "::1"]), pa.array([33, 33]))
    assert found.to_pylist() == [None, "::/33"]
