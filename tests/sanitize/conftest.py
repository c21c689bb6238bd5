# SPDX-License-Identifier: Apache-2.0
"""The sanitized engine, built once, and a worker for each query set, asked by all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sanitize.process import Worker
from tests.sanitize.query_sets import QuerySet, query_sets
from tests.sanitize.tree import build, runtime_libraries


@pytest.fixture(scope="session")
def sanitized() -> None:
    """Makes the sanitized engine; skips where the compiler has no sanitizers."""
    if not runtime_libraries():
        pytest.skip("the compiler has no libasan")
    build()


@pytest.fixture(scope="session", params=query_sets(), ids=lambda query_set: query_set.name)
def query_set(request: pytest.FixtureRequest) -> QuerySet:
    """One query set after the other."""
    found: QuerySet = request.param
    return found


@pytest.fixture(scope="session")
def worker(sanitized: None, query_set: QuerySet) -> Iterator[Worker]:
    """The process that has the query set; at its end its leaks are counted."""
    with Worker(query_set.path) as running:
        yield running
