# SPDX-License-Identifier: Apache-2.0
"""What is preloaded, and compiled before anything fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.faults.failing import Failing


@pytest.fixture(scope="session")
def failing_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets a call fail."""
    made = tmp_path_factory.mktemp("faults") / "fail.so"
    source = Path(__file__).with_name("fail.c")
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def failing(failing_library: Path, tmp_path: Path) -> Failing:
    """Runs the program with a call that fails."""
    return Failing(failing_library, tmp_path)
