# SPDX-License-Identifier: Apache-2.0
"""The driver, built once a session."""

from pathlib import Path

import pytest

from tests.decode import harness


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build(tmp_path_factory.mktemp("decode"))
