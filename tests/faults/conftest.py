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
    return _compiled("fail.c", tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="session")
def growing_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets a file grow when its end has been seen."""
    return _compiled("grow.c", tmp_path_factory.mktemp("growing"))


def _compiled(name: str, folder: Path) -> Path:
    made = (folder / name).with_suffix(".so")
    source = Path(__file__).with_name(name)
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def failing(failing_library: Path, tmp_path: Path) -> Failing:
    """Runs the program with a call that fails."""
    return Failing(failing_library, tmp_path)
