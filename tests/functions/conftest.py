# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.functions.driver import Driver


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """One process for all tests; its end is checked, so that a leak fails the run."""
    running = Driver(tmp_path_factory.mktemp("functions"))
    yield running
    assert running.close() == 0
