# SPDX-License-Identifier: Apache-2.0
"""Captures mutated at random, sanitized: they end as the oracle says, with as many packets."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.captures import DEMO_CAPTURE, captures
from tests.sanitize.expected import expected
from tests.sanitize.jobs import Job
from tests.sanitize.mutations import mutate
from tests.sanitize.process import Worker
from tests.sanitize.query_sets import QuerySet
from tests.sanitize.turns import SEED, turns
from tests.sanitize.variants import OTHER_ROWS, same_rows

MUTANTS = 8
SEED_BYTES = 20_000
"""Small captures: more of them a second, and a change is likelier to matter."""
LIMIT_SECONDS = 300.0


def _seeds() -> list[bytes]:
    classes = ("good", "hostile", "ng-odd", "broken")
    paths = [path for path in captures(*classes) if path.stat().st_size < SEED_BYTES]
    return [path.read_bytes() for path in paths] or [DEMO_CAPTURE.read_bytes()[:SEED_BYTES]]


@pytest.mark.long
def test_mutants(worker: Worker, query_set: QuerySet, tmp_path: Path) -> None:
    random, seeds = Random(f"{query_set.name} {SEED}"), _seeds()
    for _ in turns(MUTANTS):
        data = mutate(random.choice(seeds), seeds, random)
        path = tmp_path / "mutant"
        path.write_bytes(data)
        _run(worker, query_set, path, random.randrange(1000))


def _run(worker: Worker, query_set: QuerySet, path: Path, number: int) -> None:
    """Two ways whose rows must agree, and one that loses some; the file is kept if it fails."""
    wanted = expected(path.read_bytes())
    sources = tuple((interface, str(path)) for interface in query_set.interfaces)
    jobs = [Job(sources, *same_rows(number)), Job(sources, *same_rows(number * 11 + 5))]
    jobs.append(Job(sources, "read", OTHER_ROWS[number % len(OTHER_ROWS)], number % 3))
    outcomes = [worker.ask(job, LIMIT_SECONDS) for job in jobs]
    for job, outcome in zip(jobs, outcomes, strict=True):
        wanted.check(job, outcome)
    wanted.check_same(jobs, *outcomes[:2])
