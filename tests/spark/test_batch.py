# SPDX-License-Identifier: Apache-2.0
"""`spark.read`: the rows of a spool, once; and what it says when asked wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from spark.readers import packets
from spark.written import START_S, TALK, Written, described, schema_of, seconds

from gigastream.spool import SpoolSettings, SpoolWriter, StoredQuerySet, StreamDescription
from spark_sink.errors import SpoolSourceError
from spark_sink.source import GigastreamSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def root(tmp_path: Path) -> Path:
    spool = Written(tmp_path)
    first = [(packets(1, 2), seconds(2)), (packets(3), seconds(3))]
    spool.write_all(
        {"eth0": first, "eth1": [(None, seconds(1)), (packets(4), seconds(4))]}, ends=True
    )
    return tmp_path


def test_all_rows_are_read(spark: SparkSession, root: Path) -> None:
    frame = spark.read.format("gigastream").option("partitions", "3").load(str(root))
    assert sorted(row.time - START_S for row in frame.collect()) == [1, 2, 3, 4]
    assert frame.where("_hb IS NOT NULL").count() == 0


def test_several_spools_are_loaded_as_a_list(spark: SparkSession, tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for second, folder in enumerate(folders):
        Written(folder).write("eth0", [(packets(second), seconds(second))])
    frame = spark.read.format("gigastream").load([str(folder) for folder in folders])
    assert sorted(row.time - START_S for row in frame.collect()) == [0, 1]


def test_a_spool_is_a_view_in_sql(spark: SparkSession, root: Path) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW low USING gigastream OPTIONS (path '{root}')")
    found = spark.sql("SELECT count(*) AS n FROM low WHERE srcIP = '192.0.2.1'").first()
    assert found is not None
    assert found.n == 4


OWN = "_hb timestamp, time bigint, srcIP string, len decimal(20,0)"


def test_a_schema_may_be_given_if_it_is_the_streams(spark: SparkSession, root: Path) -> None:
    reader = spark.read.format("gigastream")
    assert reader.schema(OWN).load(str(root)).where("srcIP = '192.0.2.1'").count() == 4
    with pytest.raises(Exception, match="is not the stream's") as refusal:
        reader.schema(OWN.replace("string", "bigint")).load(str(root)).count()
    assert "leave .schema(…) away" in str(refusal.value)


def test_another_schema_is_refused_in_a_stream_too(root: Path) -> None:
    source = GigastreamSource({"path": str(root), "columns": "time"})
    with pytest.raises(SpoolSourceError, match="is not the stream's"):
        source.streamReader(GigastreamSource({"path": str(root)}).schema())


def test_what_spark_does_not_know_is_told_in_a_sentence(spark: SparkSession, root: Path) -> None:
    wrong = spark.read.format("gigastream").option("colums", "len")
    with pytest.raises(Exception, match="has no option colums") as refusal:
        wrong.load(str(root))
    assert "did you mean columns?" in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stream": "hihg"}, "nothing of hihg is there"),
        ({"interfaces": "eth7"}, "nothing of the stream on eth7 is there"),
        ({"interfaces": "eth7"}, "there are: low on eth0, low on eth1"),
        ({"columns": "time,source"}, "the stream has no column source"),
        ({"columns": "tme"}, "did you mean time?"),
        ({"generation": "7"}, "has no generation 7\nhint: there are: 1"),
    ],
)
def test_what_is_not_there_is_named(options: dict[str, str], words: str, root: Path) -> None:
    with pytest.raises(SpoolSourceError) as refusal:
        GigastreamSource({"path": str(root), **options}).schema()
    assert words in str(refusal.value)


def test_several_streams_are_not_guessed_between(tmp_path: Path) -> None:
    description = StreamDescription("low", described(TALK), schema_of(TALK))
    streams = dict.fromkeys(("one", "two"), description)
    with SpoolWriter(tmp_path, SpoolSettings()) as writer:
        writer.open(
            StoredQuerySet({}, {"files": []}, streams), [(stream, "eth0") for stream in streams]
        )
    with pytest.raises(SpoolSourceError, match="holds 2 streams, and none is named") as refusal:
        GigastreamSource({"path": str(tmp_path)}).schema()
    assert refusal.value.hint == 'name one with .option("stream", …): one, two'
    assert len(GigastreamSource({"path": str(tmp_path), "stream": "one"}).schema()) == 4


def test_a_folder_that_is_no_spool(tmp_path: Path) -> None:
    with pytest.raises(SpoolSourceError, match="is no spool"):
        GigastreamSource({"path": str(tmp_path)}).schema()


@pytest.mark.parametrize("said", ["fstring12", "fstring4097", "fstring0", "fstring13"])
def test_bytes_have_the_size_that_they_are_said_to_have(tmp_path: Path, said: str) -> None:
    columns = {"time": "uint", "tag": "fstring13"}
    lie = StreamDescription("low", described(columns | {"tag": said}), schema_of(columns))
    with SpoolWriter(tmp_path, SpoolSettings()) as writer:
        writer.open(StoredQuerySet({}, {"files": []}, {"low": lie}), [("low", "eth0")])
    source = GigastreamSource({"path": str(tmp_path)})
    if said == "fstring13":
        assert source.schema()["tag"].dataType.simpleString() == "binary"
        return
    with pytest.raises(SpoolSourceError, match=f"in tag, which is said to be {said}"):
        source.schema()


def test_spools_of_different_queries_are_not_mixed(tmp_path: Path) -> None:
    Written(tmp_path / "a").write("eth0", [(packets(1), seconds(1))])
    Written(tmp_path / "b", {"time": "uint"}).write("eth0", [([(1,)], seconds(1))])
    paths = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    with pytest.raises(SpoolSourceError, match="different queries have written them"):
        GigastreamSource({"paths": paths}).schema()
