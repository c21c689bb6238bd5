# SPDX-License-Identifier: Apache-2.0
"""Values from inside as results: text as the engine's, and Arrow exactly as the engine's."""

from __future__ import annotations

import csv
import decimal
import ipaddress
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest

pytest.importorskip("pyspark")

from captures import ROOT

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.types import Column, Schema, Type
from spark_sink import address_text
from spark_sink.address_text import text_by_worker
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.results import in_result_types, to_record_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def one_column(type_: Type) -> Schema:
    return Schema((Column("x", type_, nullable=True),))


def results(spark: SparkSession, type_: Type, values: list[Any]) -> list[Any]:
    """Values inside through a DataFrame to those of a result."""
    rows = spark.createDataFrame([(value,) for value in values], f"x {SPARK_TYPE[type_]}")
    return [row.x for row in in_result_types(rows, one_column(type_)).collect()]


def sixteen(text: str) -> bytearray:
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return bytearray(bytes(10) + b"\xff\xff" + address.packed)
    return bytearray(address.packed)


ADDRESS: dict[Type, Callable[[str], Any]] = {
    Type.IP: lambda text: int(ipaddress.IPv4Address(text)),
    Type.IPV6: sixteen,
    Type.INET: sixteen,
}


@pytest.mark.long
@pytest.mark.parametrize("type_", ADDRESS, ids=str)
def test_addresses_print_as_the_engine_prints_them(spark: SparkSession, type_: Type) -> None:
    with (ROOT / "tests/output/values.tsv").open() as stream:
        lines = [row for row in csv.reader(stream, delimiter="\t") if row[0] == str(type_)]
    cases = [(text.strip("'"), printed) for _, text, printed, _ in lines if text != "None"]
    assert cases
    inside = [ADDRESS[type_](text) for text, _ in cases]
    assert results(spark, type_, [*inside, None]) == [*(printed for _, printed in cases), None]


def test_every_pattern_of_zero_groups_is_cut_as_in_the_standard_library(
    spark: SparkSession,
) -> None:
    patterns = [
        b"".join((b"\0\0", b"\x0a\xbc")[pattern >> group & 1] for group in range(8))
        for pattern in range(256)
    ]
    generator = random.Random(5952)
    patterns += [generator.randbytes(16) for _ in range(200)]
    patterns += [bytes(generator.choice((0, 0, 0, 255, 16)) for _ in range(16)) for _ in range(200)]
    patterns += [bytes(10) + b"\xff\xff" + generator.randbytes(4) for _ in range(200)]
    patterns += [bytes(12) + generator.randbytes(4) for _ in range(200)]  # IPv6, in spite of all
    patterns += [b"\xfe\x80" + bytes(6) + generator.randbytes(8)]  # of a link, and none is named
    sixteen_bytes = [bytearray(each) for each in patterns]
    printed = zip(
        patterns,
        results(spark, Type.IPV6, sixteen_bytes),
        results(spark, Type.INET, sixteen_bytes),
        strict=True,
    )
    for each, of_ipv6, of_inet in printed:
        address = ipaddress.IPv6Address(each)
        held = address.ipv4_mapped
        assert of_ipv6 == (f"::ffff:{held}" if held else str(address))
        assert of_inet == str(held or address)


def test_addresses_of_ipv4_print_as_in_the_standard_library(spark: SparkSession) -> None:
    generator = random.Random(791)
    numbers = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, *(1 << bit for bit in range(32))]
    numbers += [generator.randrange(2**32) for _ in range(200)]
    found = results(spark, Type.IP, [*numbers, None])
    assert found == [*(str(ipaddress.IPv4Address(each)) for each in numbers), None]


@pytest.mark.parametrize("type_", ADDRESS, ids=str)
def test_a_worker_prints_the_same(spark: SparkSession, type_: Type) -> None:
    """It is what Spark Connect has, where no JVM is at hand."""
    values = [*map(ADDRESS[type_], ("192.0.2.1", "0.0.0.0")), None]
    if type_ is not Type.IP:
        values += [bytearray(16), bytearray(bytes(12) + b"\1\2\3\4")]
    rows = spark.createDataFrame([(each,) for each in values], f"x {SPARK_TYPE[type_]}")
    found = [row.t for row in rows.select(text_by_worker(rows.x, type_).alias("t")).collect()]
    assert found == results(spark, type_, values)


@pytest.mark.parametrize("guava", ["org.nowhere.InetAddresses", "java.net.InetAddress"])
def test_a_worker_prints_where_guava_is_not(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, guava: str
) -> None:
    """A class that is not there, and one that has no such methods."""
    monkeypatch.setattr(address_text, "_GUAVA", guava)
    value = ADDRESS[Type.IP]("192.0.2.1")
    assert results(spark, Type.IP, [value, None]) == ["192.0.2.1", None]
    assert results(spark, Type.IPV6, [bytearray(16)]) == ["::"]


def test_strings_are_utf8_and_other_bytes_are_written_out(spark: SparkSession) -> None:
    """As Python's backslashreplace, which is how the engine prints them."""
    made = random.Random(3629)
    odd = (0x41, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xFF, 0x0A)
    strings = [bytes(made.choice(odd) for _ in range(made.randrange(9))) for _ in range(500)]
    found = results(spark, Type.STRING, [*map(bytearray, strings), None])
    assert found == [*(each.decode("utf-8", "backslashreplace") for each in strings), None]


@pytest.mark.parametrize("type_", ADDRESS, ids=str)
def test_text_of_addresses_is_little_java_and_java_takes_it(
    spark: SparkSession, type_: Type
) -> None:
    """A stage that does not compile is tried, and interpreted, at every micro-batch."""
    count = 60
    schema = Schema(tuple(Column(f"x{place}", type_, nullable=True) for place in range(count)))
    held = ", ".join(f"x{place} {SPARK_TYPE[type_]}" for place in range(count))
    rows = spark.createDataFrame(spark.sparkContext.parallelize([], 1), held)
    execution = in_result_types(rows, schema)._jdf.queryExecution()
    stages = execution.debug().codegenToSeq()
    assert stages.size() == 1
    code, compiled = stages.apply(0)._2(), stages.apply(0)._3()
    assert len(code) < count * 5_000
    assert compiled.maxMethodCodeSize() > 0, "Java refused it"


def test_a_timestamp_is_rounded_down_to_microseconds(spark: SparkSession) -> None:
    nanoseconds = [0, -1, 999, -(2**63), 2**63 - 1, 1795248000123456789, None]
    rows = spark.createDataFrame([(each,) for each in nanoseconds], "x bigint")
    typed = in_result_types(rows, one_column(Type.TIMESTAMP))
    assert typed.schema["x"].dataType.simpleString() == "timestamp"
    found = [row[0] for row in typed.selectExpr("unix_micros(x)").collect()]
    assert found == [None if each is None else each // 1000 for each in nanoseconds]


EXTREMES: dict[Type, tuple[list[Any], list[Any] | None]] = {
    Type.BOOL: ([True, False], None),
    Type.USHORT: ([0, 2**16 - 1], None),
    Type.UINT: ([0, 2**32 - 1], None),
    Type.INT: ([-(2**31), 2**31 - 1], None),
    Type.ULLONG: ([decimal.Decimal(0), decimal.Decimal(2**64 - 1)], [0, 2**64 - 1]),
    Type.LLONG: ([-(2**63), 2**63 - 1], None),
    Type.FLOAT: ([-1.5, float("inf"), 5e-324], None),
    Type.STRING: ([bytearray(b""), bytearray(b"\xff\0a")], [b"", b"\xff\0a"]),
    Type.IP: ([0, 2**32 - 1], None),
    Type.IPV6: ([bytearray(16), bytearray(b"\xff" * 16)], [bytes(16), b"\xff" * 16]),
    Type.INET: ([sixteen("1.2.3.4")], [bytes(sixteen("1.2.3.4"))]),
    Type.TIMESTAMP: ([-(2**63), 2**63 - 1], None),
}


@pytest.mark.parametrize("type_", EXTREMES, ids=str)
def test_arrow_is_the_engines_with_its_extremes(spark: SparkSession, type_: Type) -> None:
    inside, expected = EXTREMES[type_]
    rows = spark.createDataFrame([(value,) for value in [*inside, None]], f"x {SPARK_TYPE[type_]}")
    batches = to_record_batches(rows.toArrow(), one_column(type_))
    table = pyarrow.Table.from_batches(batches)
    assert table.schema.equals(arrow_schema(one_column(type_)), check_metadata=True)
    column = table.column("x")
    if type_ is Type.TIMESTAMP:
        column = column.cast(pyarrow.int64())
    assert column.to_pylist() == [*(expected or inside), None]


def test_a_value_that_does_not_fit_is_an_error_and_no_other_value(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(2**32,)], "x bigint")
    with pytest.raises(pyarrow.ArrowInvalid):
        to_record_batches(rows.toArrow(), one_column(Type.UINT))


def test_columns_go_by_position(spark: SparkSession) -> None:
    schema = Schema((Column("a b", Type.IP), Column("A B", Type.UINT)))
    rows = spark.createDataFrame([(1, 2)], "x bigint, y bigint").toDF("a b", "A B")
    typed = in_result_types(rows, schema)
    assert typed.columns == ["a b", "A B"]
    assert tuple(typed.first()) == ("0.0.0.1", 2)
