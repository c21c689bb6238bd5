# SPDX-License-Identifier: Apache-2.0
"""What `toPandas` makes of answers and of raw streams: types, NULLs and values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pandas")

import pandas
from spark.written import START_S, Written, seconds
from spark_command.written import QUERY, answered_here, spool

from spark_sink import run_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "time": "uint",
    "big": "ullong",
    "small": "int",
    "ratio": "float",
    "is_it": "bool",
    "name": "string",
    "four": "IP",
    "six": "IPV6",
    "any": "INET",
    "at": "timestamp",
}
FOUR_IN_SIX = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 1])
FULL = (
    START_S,
    (1 << 64) - 1,
    -1,
    0.5,
    True,
    b"caf\xc3\xa9 \xff",
    0xC0000201,
    bytes(15) + b"\x01",
    FOUR_IN_SIX,
    START_S * 10**9 + 123_456_789,
)


def frame(spark: SparkSession, root: Path, *rows: tuple[Any, ...]) -> Any:
    Written(root, COLUMNS).write("eth0", [(rows, seconds(1))])
    return spark.read.format("gigastream").load(str(root)).toPandas()


def test_a_stream_with_all_its_values(spark: SparkSession, tmp_path: Path) -> None:
    data = frame(spark, tmp_path, FULL)
    types = {name: str(kind) for name, kind in data.dtypes.items()}
    assert types == {
        "_hb": "datetime64[ns]",
        "time": "int64",
        "big": "object",
        "small": "int32",
        "ratio": "float64",
        "is_it": "bool",
        "name": "object",
        "four": "object",
        "six": "object",
        "any": "object",
        "at": "datetime64[ns]",
    }
    (row,) = data.to_dict("records")
    assert row.pop("_hb") is pandas.NaT
    assert row == {
        "time": START_S,
        "big": Decimal((1 << 64) - 1),
        "small": -1,
        "ratio": 0.5,
        "is_it": True,
        "name": "café \\xff",
        "four": "192.0.2.1",
        "six": "::1",
        "any": "192.0.2.1",
        "at": pandas.Timestamp(START_S * 10**9 + 123_456_000),
    }


def test_a_stream_with_nulls(spark: SparkSession, tmp_path: Path) -> None:
    """Of numbers pandas makes floats then; NULL is NaN, NaT or None, and never a value."""
    data = frame(spark, tmp_path, FULL, (START_S, *[None] * 9))
    assert data.drop(columns="_hb").iloc[0].notna().all()
    without = data.iloc[1]
    assert without["time"] == START_S
    assert without.drop("time").isna().all()
    for name in ("big", "name", "four", "six", "any"):
        assert without[name] is None
    assert str(data.dtypes["small"]) == "float64"
    assert without["at"] is pandas.NaT


def test_an_answer(spark: SparkSession, tmp_path: Path) -> None:
    root = spool(tmp_path / "spool")
    data = run_query(root, spark=spark, streaming=False, event_time="at").toPandas()
    assert {name: str(kind) for name, kind in data.dtypes.items()} == {
        "tb": "int64",
        "srcIP": "object",
        "packets": "object",
        "bytes": "object",
        "at": "datetime64[ns]",
    }
    assert {type(value) for value in data["packets"]} == {Decimal}
    numbers = data.astype({"packets": "int64", "bytes": "int64"}).sort_values(["tb", "srcIP"])
    expected = sorted(answered_here(QUERY), key=lambda row: (row["tb"], row["srcIP"]))
    assert numbers.drop(columns="at").to_dict("records") == expected
    last = datetime.fromtimestamp(int(numbers["tb"].max()) * 60 + 60)
    assert data["at"].max() == pandas.Timestamp(last) - pandas.Timedelta(microseconds=1)
