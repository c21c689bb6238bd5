# SPDX-License-Identifier: Apache-2.0
"""The source and `run_query` in sessions of Spark Connect, over a server that knows us not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("grpc")
pytest.importorskip("grpc_status")
pytest.importorskip("pandas")
pytest.importorskip("zstandard")

from cli.command import COMMAND
from spark_cluster.bare_python import bare_python
from spark_command.written import QUERY, answered_here, in_order, plain, spool
from spark_notebook.connect_server import client, connect_server
from spark_session import why_no_spark

from spark_sink.java import use_java

pytestmark = pytest.mark.long

NAMES = """SELECT tb, method, count(*) AS packets FROM TCP
    WHERE destPort = 80 AND data_length > 0
    GROUP BY time/600 AS tb, str_extract_regex(TCP_data, '^(GET|POST)') AS method"""
_BEGIN = """
import json, sys
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.connect.session import SparkSession as ConnectSession
spool = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
assert isinstance(spark, ConnectSession)
def rows_of(frame):
    return [row.asDict() for row in frame.collect()]
def streamed(frame, name):
    query = frame.writeStream.format("memory").queryName(name).start()
    query.processAllAvailable()
    query.stop()
    return rows_of(spark.table(name))
def say(value):
    print(json.dumps(value, default=str))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if (reason := why_no_spark()) is not None:
        pytest.skip(reason)
    use_java()
    # Spark asks a shell for the interpreter of its Python workers, unquoted
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(folder, bare_python(folder / "bare").program) as at:
        yield at


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spool(tmp_path_factory.mktemp("written") / "a spool")


def plainly(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the engine says them: the client wrote decimals as text."""
    return in_order(
        {key: value if key == "srcIP" else plain(int(value)) for key, value in row.items()}
        for row in rows
    )


def test_an_answer_is_the_same(address: str, root: Path, tmp_path: Path) -> None:
    """As a batch, in pandas, and as a stream."""
    program = f"""{_BEGIN}
from spark_sink import run_query
answer = run_query(spool, spark=spark, streaming=False)
say({{
    "batch": rows_of(answer),
    "pandas": answer.toPandas().to_dict("records"),
    "stream": streamed(run_query(spool, spark=spark), "talkers"),
}})
"""
    found = client(program, address, str(root), folder=tmp_path)
    for way in ("batch", "pandas", "stream"):
        assert plainly(found[way]) == answered_here(QUERY), way


def test_the_session_that_is_there_is_found(address: str, root: Path, tmp_path: Path) -> None:
    """And windows go on from an answer, in a stream too."""
    program = f"""{_BEGIN}
from spark_sink import run_query
def windows(frame):
    frame = frame.groupBy(F.window("at", "10 minutes")).agg(F.sum("packets").alias("packets"))
    return frame.select(F.col("window.start").cast("string").alias("start"), "packets")
batch = rows_of(windows(run_query(spool, streaming=False, event_time="at")))
say([batch, streamed(windows(run_query(spool, event_time="at")), "windows")])
"""
    batch, stream = client(program, address, str(root), folder=tmp_path)
    assert len(batch) > 1
    assert in_order(batch) == in_order(stream)
    assert sum(int(row["packets"]) for row in batch) == sum(
        row["packets"] for row in answered_here(QUERY)
    )


def test_functions_of_python_go_there(address: str, root: Path, tmp_path: Path) -> None:
    """Those of addresses, in DataFrames and in SQL, and regular expressions of a query.

    The server's Python has no module of ours that could be named to it.
    """
    names = tmp_path / "names"
    spool(names, NAMES)
    program = f"""{_BEGIN}
from spark_sink import ip_in, ip_prefix, run_query
answer = run_query(spool, spark=spark, streaming=False)
inside = answer.where(ip_in("srcIP", "10.20.0.0/16")).select(ip_prefix("srcIP", 16).alias("net"))
say([
    rows_of(inside.distinct()),
    rows_of(spark.sql("SELECT ip_number('10.0.0.1') AS n")),
    rows_of(run_query(sys.argv[2], spark=spark, streaming=False)),
])
"""
    networks, numbers, found = client(program, address, str(root), str(names), folder=tmp_path)
    assert found
    told = [{**row, "packets": str(row["packets"])} for row in answered_here(NAMES)]
    assert in_order(found) == in_order(told)
    assert networks == [{"net": "10.20.0.0/16"}]
    assert numbers == [{"n": 0x0A000001}]


def test_raw_streams_are_tables(address: str, root: Path, tmp_path: Path) -> None:
    """Read by path, as a table and as views, in batches and streams; the spool outlives them."""
    program = f"""{_BEGIN}
import spark_sink
spark_sink.register(spark)
loaded = spark.read.format("gigastream").load([spool])
spark.sql(f"CREATE TABLE low USING gigastream LOCATION '{{spool}}'")
names = [table.name for table in spark.catalog.listTables()]
counts = [
    loaded.count(),
    len(loaded.toPandas()),
    spark.table("low").count(),
    len(streamed(spark.readStream.table("low").where("_hb IS NULL"), "copied")),
]
spark.sql("DROP TABLE low")
views = spark_sink.create_temp_views(spool, spark=spark)
say([names, counts, views, rows_of(spark.sql("SELECT sum(packets) AS n FROM query"))])
"""
    names, counts, views, total = client(program, address, str(root), folder=tmp_path)
    assert names == ["low"]
    assert len(set(counts)) == 1
    assert counts[0] > 0
    assert views == ["query", "query_low"]
    assert int(total[0]["n"]) == sum(row["packets"] for row in answered_here(QUERY))


def test_a_job_is_told_that_it_needs_a_java(address: str, root: Path, tmp_path: Path) -> None:
    """While what a notebook asks for is the session that is there."""
    program = f"""{_BEGIN}
from spark_sink.job_errors import JobError
from spark_sink.session import make_session, open_session
assert make_session() is spark
try:
    with open_session("local[2]"):
        say(["a session", ""])
except JobError as error:
    say([str(error), error.hint])
"""
    message, hint = client(program, address, str(root), folder=tmp_path)
    assert message == f"a job does not run through Spark Connect ({address})"
    assert "SPARK_REMOTE unset" in hint


def test_a_session_is_made_where_the_environment_names_a_server(
    address: str, root: Path, tmp_path: Path
) -> None:
    program = """
import json, sys
from spark_sink import run_query
print(json.dumps(run_query(sys.argv[1], streaming=False).count()))
"""
    found = client(program, address, str(root), folder=tmp_path)
    assert found == len(answered_here(QUERY))


@pytest.mark.parametrize("master", ["sc://127.0.0.1:1", None])
def test_the_command_refuses_a_server(master: str | None, root: Path, tmp_path: Path) -> None:
    """By its option and by the environment."""
    words = [] if master is None else ["--master", master]
    environment = {} if master else {"SPARK_REMOTE": "sc://127.0.0.1:1"}
    done = subprocess.run(
        [*COMMAND, "spark", "--spool", root, "--checkpoint", tmp_path / "c", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "a job does not run through Spark Connect (sc://127.0.0.1:1)" in done.stderr
