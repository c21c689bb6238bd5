# SPDX-License-Identifier: Apache-2.0
"""Every capture of the collection beside the checkout through every query set, sanitized.

No report, no leak, no hang; the exit code that the oracle expects; as many packets as it reads; and
the same rows whatever the settings are.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE, captures
from tests.sanitize.expected import Expected, expected
from tests.sanitize.jobs import Job
from tests.sanitize.process import Worker
from tests.sanitize.query_sets import QuerySet
from tests.sanitize.variants import other_rows, same_rows

LARGEST_OF_JOINS = 5_000_000
"""Pairs grow with the square: the one capture above has 515 million, in six runs, sanitized."""
CLASSES = ("good", "large", "hostile", "broken", "ng-odd", "empty")
LIMIT_SECONDS = 300.0
SECONDS_PER_MEGABYTE = 120.0
"""A sanitized engine is some tens of times slower, the sets have a dozen queries, and in batches of
two rows it is Python that takes the time."""
FEWER_BATCHES = {"batch_rows": 64, "deliver_every_burst": False}
"""Of levels that are apart: each batch goes through Python, and has a hundred columns."""
EVERY = 240
"""Of the large classes the default test takes one capture in so many,"""
EVERY_SMALL = 4
"""and of those whose captures are few or short."""
SMALL_CLASSES = ("broken", "ng-odd", "empty")


def _all() -> list[Path]:
    return [*captures(*CLASSES), DEMO_CAPTURE]


def _some() -> list[Path]:
    small = [path for path in _all() if path.stat().st_size < 100_000]
    chosen = [path for path in small if path.parent.name in SMALL_CLASSES]
    return [*chosen[::EVERY_SMALL], *small[::EVERY], DEMO_CAPTURE]


@pytest.mark.long
def test_some_captures(worker: Worker, query_set: QuerySet) -> None:
    for number, capture in enumerate(_some()):
        _run_capture(worker, query_set, capture, number, variants=1)


@pytest.mark.slow
def test_all_captures(worker: Worker, query_set: QuerySet) -> None:
    for number, capture in enumerate(_all()):
        if query_set.name == "joins" and capture.stat().st_size > LARGEST_OF_JOINS:
            continue
        _run_capture(worker, query_set, capture, number, variants=3)


def _run_capture(
    worker: Worker, query_set: QuerySet, capture: Path, number: int, variants: int
) -> None:
    """Some runs that must agree, one of them level by level, and one that may lose rows."""
    size, wanted = capture.stat().st_size, _expected(capture)
    sources = tuple((interface, str(capture)) for interface in query_set.interfaces)
    ways = [same_rows(number * 7 + variant * 5, size) for variant in range(variants)]
    jobs = [Job(sources, *way) for way in ways]
    how, settings = ways[0]
    jobs.append(Job(sources, how, settings | FEWER_BATCHES, is_apart=True))
    jobs.append(Job(sources, *other_rows(number)))
    outcomes = [worker.ask(job, LIMIT_SECONDS + SECONDS_PER_MEGABYTE * size / 1e6) for job in jobs]
    for job, outcome in zip(jobs, outcomes, strict=True):
        wanted.check(job, outcome)
    for outcome in outcomes[1:-1]:
        wanted.check_same(jobs, outcomes[0], outcome)


@cache
def _expected(capture: Path) -> Expected:
    return expected(capture.read_bytes())
