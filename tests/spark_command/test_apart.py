# SPDX-License-Identifier: Apache-2.0
"""What a job writes comes into nothing that it reads: that is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from cli.command import gigastream
from spark_command import written

from gigastream.spool import SpoolReadError
from spark_sink.apart import check_places
from spark_sink.sinks import parse_sink

REFUSED = (
    ("ck", "parquet:spool"),
    ("ck", "parquet:spool/rows"),
    ("ck", "parquet:."),
    ("ck", "parquet:link"),
    ("ck", "csv:spool/rows.csv"),
    ("ck", "duckdb:spool/x.db"),
    ("ck", "iceberg:spool/x"),
    ("ck", "delta:spool"),
    ("ck", "dataset:./sub/../spool"),
    ("ck", "spark:json:file:spool"),
    ("ck", "spark:json:{here}/spool/rows"),
    ("spool", "csv"),
    ("spool/ck", "csv"),
    (".", "csv"),
    ("link/ck", "csv"),
    ("ck", "parquet:ck"),
    ("ck/sub", "parquet:ck"),
    ("ck", "parquet:ck/rows"),
    ("ck", "csv:ck/rows.csv"),
    ("rows", "csv"),
    ("ck", "parquet:rows/new", "parquet:./rows/new"),
)
"""The checkpoint and the outputs, in a folder with `spool`, `link` to it, and others' `rows`."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("apart")
    written.spool(found / "spool")
    (found / "link").symlink_to("spool")
    (found / "rows" / "_spark_metadata").mkdir(parents=True)
    return found


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_it_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    before = names(folder)
    checkpoint, *outputs = (word.format(here=f"file://{folder}") for word in words)
    outputs = [word.replace("file:spool", f"file:{folder}/spool") for word in outputs]
    given = [word for output in outputs for word in ("-o", output)]
    result = gigastream("spark", "--spool", "spool", "--checkpoint", checkpoint, *given, cwd=folder)
    assert (result.code, result.out) == (2, b"")
    assert "are one in the other\nhint: another place" in result.err or (
        "rows is no checkpoint, and holds something else: _spark_metadata" in result.err
    )
    assert names(folder) == before


@pytest.mark.parametrize(
    ("spool", "checkpoint", "output"),
    [
        ("s3://bucket/spool", "s3a://user@bucket/spool/ck", "csv"),
        ("s3://bucket/spool", "s3://bucket/ck", "spark:parquet:s3a://bucket/spool/rows"),
        ("file:///a/spool", "/a/spool/ck", "csv"),
    ],
)
def test_uris_are_compared_by_their_names(spool: str, checkpoint: str, output: str) -> None:
    with pytest.raises(SpoolReadError, match="are one in the other"):
        check_places([spool], checkpoint, [parse_sink(output)], ["q"], None)


def test_what_lies_apart_is_none_of_it() -> None:
    """A prefix of a name is no folder; tables lie beside spools; a database has many tables."""
    outputs = ("parquet:/a/spool-rows", "csv:/a", "delta:/a", "postgres:service=x", "json:-")
    tables = ("duckdb:/a/x.db#one", "duckdb:/a/./x.db#two")
    sinks = [parse_sink(text) for text in (*outputs, *tables)]
    check_places(["/a/spool", "s3://a/spool"], "/a/spool2", sinks, ["q"], Path("/a/log"))
