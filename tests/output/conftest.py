# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tests.output.driver import SANITIZE, Printer, build


@pytest.fixture(scope="session")
def printer(tmp_path_factory: pytest.TempPathFactory) -> Printer:
    """Prints batches, under sanitizers."""
    return build(tmp_path_factory.mktemp("output"), *SANITIZE)
