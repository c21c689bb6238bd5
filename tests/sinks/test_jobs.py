# SPDX-License-Identifier: Apache-2.0
"""Jobs on Spark into tables: restarts, micro-batches that come again, drivers that are killed."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from spark_command import written
from spark_command.written import answered_here
from spark_session import why_no_spark

from spark_sink.job import Job, JobOptions, run_job
from spark_sink.session import QUICK_START
from spark_sink.sinks import parse_sink
from tests.processes import program
from tests.sinks.conftest import MakePlace
from tests.sinks.places import Place, Rows, without_times
from tests.sinks.postgres_server import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETS = """DEFINE { query_name talkers; }
    SELECT tb, srcIP, count(*) AS packets, min(timestamp) AS at
    FROM IPV4 GROUP BY time/60 AS tb, srcIP;
    DEFINE { query_name resets; }
    SELECT timestamp AS at, destIP, srcPort, community_id FROM TCP WHERE rst = 1"""
QUERIES = ("talkers", "resets")
SOME_ROWS = {"maxRowsPerTrigger": "20"}
QUICK = tuple(word for item in QUICK_START.items() for word in ("--conf", "=".join(item)))
SEED = 5
SECONDS = 1800
LINES = 60
"""Of a sink, about what two micro-batches take."""


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.spool(tmp_path_factory.mktemp("spool") / "demo", SETS)


def here(query: str) -> Rows:
    """The engine's rows of one query."""
    rows = [row for row in answered_here(SETS) if row["query"] == query]
    return without_times({key: row[key] for key in row if key != "query"} for row in rows)


def there(place: Place) -> dict[str, Rows]:
    return {query: without_times(place.rows(query)) for query in QUERIES}


def run(spool: Path, checkpoint: Path, place: Place, state: str | None = None) -> Job:
    sinks = [parse_sink(place.output)]
    asked = JobOptions(
        [str(spool)],
        str(checkpoint),
        sinks,
        source_options=SOME_ROWS,
        trigger={"availableNow": True},
        state=state,
    )
    return run_job(asked, lambda: False)


def forget_last_commits(checkpoint: Path) -> int:
    """As if the driver had died before they were written down; return how many there were."""
    found = 0
    for folder in (*checkpoint.glob("*/commits"), *checkpoint.glob("*/done")):
        numbers = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
        (folder / str(numbers[-1])).unlink()
        (folder / f".{numbers[-1]}.crc").unlink(missing_ok=True)
        found += 1
    return found


@pytest.mark.long
@pytest.mark.parametrize("state", [None, "memory"], ids=["whole-windows", "store"])
def test_each_row_is_in_its_table_once_whatever_comes_again(
    state: str | None,
    spark: SparkSession,
    spool: Path,
    place: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was begun with Spark's store goes on with it, by default."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    checkpoint = tmp_path / "checkpoint"
    job = run(spool, checkpoint, place, state)
    assert {r.sink.query: r.sink.written for r in job.running if r.sink is not None} == {
        query: len(here(query)) for query in QUERIES
    }
    assert there(place) == {q: here(q) for q in QUERIES}
    assert forget_last_commits(checkpoint) == len(QUERIES)
    again = run(spool, checkpoint, place)
    assert [r.sink.written for r in again.running if r.sink is not None] == [0, 0]
    assert there(place) == {q: here(q) for q in QUERIES}
    begun = {text for text in ("offsets", "planned") if any(checkpoint.glob(f"*talkers*/{text}/0"))}
    assert begun == {"planned" if state is None else "offsets"}


def kill(spool: Path, make_place: MakePlace, folder: Path, wanted: int) -> None:
    """Kill drivers at lines of the sink until so many are dead; compare whenever a job ends."""
    chance = random.Random(SEED)
    killed = jobs = 0
    while killed < wanted:
        place, jobs = make_place(), jobs + 1
        words = ("spark", "--spool", spool, "--checkpoint", folder / f"checkpoint-{jobs}", *QUICK)
        words += ("--trigger", "now", "--max-rows", "20", "-o", place.output)
        while dies(words, chance.randrange(1, LINES), place):
            killed += 1
        assert there(place) == {q: here(q) for q in QUERIES}


def dies(words: tuple[str | Path, ...], after: int, place: Place) -> bool:
    command = [*program("tests.sinks.dying"), str(after), *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, check=False, env=dict(place.environment), timeout=SECONDS
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


needs_spark = pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark()))


@needs_spark
@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 20])
def test_drivers_that_are_killed(
    spool: Path, make_place: MakePlace, tmp_path: Path, kills: int
) -> None:
    kill(spool, make_place, tmp_path, kills)
