# SPDX-License-Identifier: Apache-2.0
"""The programs before Spark's: made once, for everybody who runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from spark_sink.job_errors import JobError
from spark_sink.programs import program, worker_python

PATHS = "import os, sys; print(os.environ['PYTHONPATH']); print(sys.argv[1:])"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            "/s/lib/pyspark.zip:/s/lib/py4j-0.10.9.9-src.zip:/s/jars/core.jar:/a b",
            "/s/jars/core.jar:/a b",
        ),
        ("/a:/mypyspark.zip:/b", "/a:/mypyspark.zip:/b"),
        ("/s/pyspark.zip", ""),
        ("/*:/s/pyspark.zip:/?tc:[a-z]", "/*:/?tc:[a-z]"),
    ],
)
def test_workers_take_the_pyspark_that_is_installed(given: str, kept: str) -> None:
    done = subprocess.run(
        [worker_python(), "-c", PATHS, "-m", "two words"],
        env={**os.environ, "PYTHONPATH": given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [kept, "['-m', 'two words']"]


def test_a_program_is_made_once_for_each_text(own_cache: Path) -> None:
    one = program("it", "#!/bin/sh\necho one\n")
    made = one.stat().st_mtime_ns
    assert program("it", "#!/bin/sh\necho one\n").stat().st_mtime_ns == made
    two = program("it", "#!/bin/sh\necho two\n")
    assert two != one
    assert subprocess.run([two], capture_output=True, check=True).stdout == b"two\n"
    assert {path.name for path in own_cache.rglob("*") if path.is_file()} == {"it"}


def test_where_there_is_no_place_it_is_told(own_cache: Path) -> None:
    (own_cache / "gigastream").mkdir(parents=True)
    folder = program("it", "#!/bin/sh\n").parent
    (folder / "it").unlink()
    folder.rmdir()
    folder.write_text("")
    with pytest.raises(JobError, match="no place"):
        program("it", "#!/bin/sh\n")
