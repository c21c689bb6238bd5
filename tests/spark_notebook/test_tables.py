# SPDX-License-Identifier: Apache-2.0
"""Streams of a spool as tables of the session's catalog, whose end is never the spool's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException
from spark.readers import packets
from spark.written import Written, seconds

from spark_sink.sinks import start
from spark_sink.table_options import keep_options, table_options, with_kept_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = "a spool[1], 100% #5+ü?;=x"
DATABASE = "gigastream_tables"


@pytest.fixture
def database(spark: SparkSession) -> Iterator[str]:
    """A database for the tables of one test."""
    spark.sql(f"CREATE DATABASE {DATABASE}")
    yield DATABASE
    spark.sql(f"DROP DATABASE {DATABASE} CASCADE")


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Three packets in three segments, at a path that URIs write otherwise."""
    root = tmp_path / ODD
    Written(root).write("eth0", [(packets(second), seconds(second)) for second in (1, 2, 3)])
    return root


def contents(root: Path) -> dict[str, str]:
    """All files of a folder, by what is in them."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def tables(spark: SparkSession) -> list[str]:
    """Those of the database; views of the session are listed beside them."""
    return [table.name for table in spark.catalog.listTables(DATABASE) if not table.isTemporary]


def refused(spark: SparkSession, statement: str) -> str:
    with pytest.raises(PySparkException) as error:
        spark.sql(statement).collect()
    return str(error.value)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("LOCATION '{}'", ODD),
        ("LOCATION '{}'", "100%41 %2F"),
        ("OPTIONS (path '{}', stream 'low')", ODD),
        ("OPTIONS (path '{}')", "100%41 %2F"),
        ("LOCATION 'file://{}'", "spool"),
    ],
)
def test_a_stream_is_a_table(
    spark: SparkSession, database: str, tmp_path: Path, place: str, name: str
) -> None:
    """By any way of saying where it is, with the options that are said."""
    root = tmp_path / name
    Written(root).write("eth0", [(packets(1, 2), seconds(2))])
    spark.sql(f"CREATE TABLE {database}.low USING gigastream {place.format(root)}")
    (row,) = spark.sql(f"SELECT count(*), sum(len), max(srcIP) FROM {database}.low").collect()
    assert tuple(row) == (2, 20, "192.0.2.1")
    assert tables(spark) == ["low"]
    shown = spark.sql(f"DESCRIBE {database}.low").collect()
    assert str(root) in shown[0].comment
    assert [row.col_name for row in shown] == ["_hb", "time", "srcIP", "len"]
    assert spark.table(f"{database}.low").columns == ["_hb", "time", "srcIP", "len"]


def test_the_options_of_a_table_stay(spark: SparkSession, database: str, spool: Path) -> None:
    options = f"path '{spool}', columns 'time,srcIP', addresses 'bytes'"
    spark.sql(f"CREATE TABLE {database}.low USING gigastream OPTIONS ({options})")
    rows = spark.table(f"{database}.low")
    assert rows.dtypes == [("_hb", "timestamp"), ("time", "bigint"), ("srcIP", "bigint")]
    assert {row.srcIP for row in rows.collect()} == {0xC0000201}


def test_the_catalog_makes_one_too(spark: SparkSession, database: str, spool: Path) -> None:
    name = f"{database}.low"
    rows = spark.catalog.createTable(name, path=str(spool), source="gigastream", stream="low")
    assert rows.count() == 3


def test_a_table_shows_what_has_come_since(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    written = Written(tmp_path / "spool")
    written.write("eth0", [(packets(1), seconds(1))])
    spark.sql(f"CREATE TABLE {database}.low USING gigastream LOCATION '{written.root}'")
    assert spark.table(f"{database}.low").count() == 1
    written.write("eth0", [(packets(2), seconds(2))])
    assert spark.table(f"{database}.low").count() == 2


def test_a_table_is_read_as_a_stream(
    spark: SparkSession, database: str, spool: Path, tmp_path: Path
) -> None:
    """With options of that time behind the table's."""
    spark.sql(f"CREATE TABLE {database}.low USING gigastream LOCATION '{spool}'")
    reader = spark.readStream.option("maxSegmentsPerTrigger", "1")
    rows = reader.table(f"{database}.low").where("_hb IS NULL")
    at_once = {"processingTime": "0 seconds"}
    writer = rows.writeStream.format("memory")
    query = start(writer, str(tmp_path / "checkpoint"), "low_of_table", at_once)
    try:
        query.processAllAvailable()
        assert spark.table("low_of_table").count() == 3
        assert [each.numInputRows > 0 for each in query.recentProgress].count(True) >= 3
    finally:
        query.stop()


LEAVES_IT = [
    "DROP TABLE {table}",
    "DROP TABLE {table} PURGE",
    "DROP DATABASE {database} CASCADE",
    "CREATE OR REPLACE TABLE {table} USING gigastream LOCATION '{spool}'",
    "ALTER TABLE {table} RENAME TO {database}.other",
    "ALTER TABLE {table} SET LOCATION '/nowhere'",
]
REFUSED = [
    "TRUNCATE TABLE {table}",
    "DELETE FROM {table}",
    "INSERT INTO {table} SELECT * FROM {table}",
    "INSERT OVERWRITE {table} SELECT * FROM {table}",
    "CREATE TABLE {database}.made USING gigastream LOCATION '{spool}' AS SELECT 1 AS x",
    "ALTER TABLE {table} SET TBLPROPERTIES ('external' = 'false')",
]


def test_nothing_done_to_a_table_is_done_to_its_spool(
    spark: SparkSession, tmp_path: Path, spool: Path
) -> None:
    before = contents(spool)
    assert before
    for statement in LEAVES_IT + REFUSED:
        names = {"table": f"{DATABASE}.low", "database": DATABASE, "spool": spool}
        spark.sql(f"CREATE DATABASE {DATABASE}")
        try:
            spark.sql(f"CREATE TABLE {DATABASE}.low USING gigastream LOCATION '{spool}'")
            if statement in REFUSED:
                refused(spark, statement.format(**names))
            else:
                spark.sql(statement.format(**names))
        finally:
            spark.sql(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")
        assert contents(spool) == before, statement


def test_spark_knows_that_the_folder_is_not_its_own(
    spark: SparkSession, database: str, spool: Path
) -> None:
    """Its own are deleted with their tables."""
    spark.sql(f"CREATE TABLE {database}.low USING gigastream LOCATION '{spool}'")
    catalog = spark._jsparkSession.sessionState().catalog()
    name = spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier
    of_spark = catalog.getTableMetadata(name.apply("low", spark._jvm.scala.Option.apply(database)))
    assert "EXTERNAL" in of_spark.tableType().toString()


def test_a_folder_of_sparks_is_no_table(spark: SparkSession, database: str, spool: Path) -> None:
    """One that Spark would delete is not made, and one over a spool that lies there neither."""
    name = f"{database}.low"
    for options in ("", f"OPTIONS (paths '{spool}')", f"TBLPROPERTIES ('path' = '{spool}')"):
        told = refused(spark, f"CREATE TABLE {name} USING gigastream {options}")
        assert "a table is of one spool, which is its LOCATION" in told
    (folder,) = [
        row.info_value.removeprefix("file:")
        for row in spark.sql(f"DESCRIBE DATABASE {database}").collect()
        if row.info_name == "Location"
    ]
    there = Path(folder) / "low"
    Written(there).write("eth0", [(packets(1), seconds(1))])
    before = contents(there)
    told = refused(spark, f"CREATE TABLE {name} (x int) USING gigastream")
    assert "LOCATION_ALREADY_EXISTS" in told
    assert contents(there) == before


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("LOCATION 'spool'", "the LOCATION spool is relative"),
        ("LOCATION '/nowhere'", "/nowhere is no spool"),
        ("OPTIONS (path '/spool', strem 'low')", "did you mean stream?"),
    ],
)
def test_wrong_tables_are_told(spark: SparkSession, database: str, what: str, told: str) -> None:
    assert told in refused(spark, f"CREATE TABLE {database}.low USING gigastream {what}")
    assert tables(spark) == []


def test_a_table_with_columns_of_its_own_is_told(
    spark: SparkSession, database: str, spool: Path
) -> None:
    """Spark does not ask us then: it is told when it is read."""
    spark.sql(f"CREATE TABLE {database}.low (x int) USING gigastream LOCATION '{spool}'")
    told = refused(spark, f"SELECT * FROM {database}.low")
    assert "without columns" in told


def test_a_table_that_was_changed_is_told(spark: SparkSession, database: str, spool: Path) -> None:
    spark.sql(f"CREATE TABLE {database}.low USING gigastream LOCATION '{spool}'")
    spark.sql(f"ALTER TABLE {database}.low ADD COLUMNS (more int)")
    assert "make the table again" in refused(spark, f"SELECT * FROM {database}.low")


def test_options_of_the_moment_go_before_those_of_the_table() -> None:
    from spark_sink.spark_types import spark_schema

    asked = {
        "provider": "gigastream",
        "owner": "me",
        "path": "file:/a%20b",
        "location": "file:/a%20b",
        "option.path": "/a b",
        "option.stream": "low",
        "stream": "low",
        "note": "a property of mine",
    }
    made = table_options(asked)
    assert made == {"path": "/a b", "stream": "low"}
    schema = keep_options(spark_schema([]), made)
    assert with_kept_options(schema, {}) == made
    assert with_kept_options(schema, {"Stream": "high"}) == {"path": "/a b", "stream": "high"}
    assert with_kept_options(schema, {"path": "/c"}) == {"path": "/c"}
    assert with_kept_options(spark_schema([]), {}) == {}
    assert table_options({"path": "/a"}) is None
    served = "grpc+tls://probe:8815/spool"
    asked = {"provider": "gigastream", "path": served, "location": served}
    assert table_options(asked) == {"path": served}
