# SPDX-License-Identifier: Apache-2.0
"""Spools that several test files read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream
from cli.spooled import QUERY, Rows, csv_rows, write


@pytest.fixture(scope="module")
def direct() -> Rows:
    """QUERY's rows without a spool."""
    return csv_rows(gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv").out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished spool of QUERY in many segments; not to be changed."""
    root = tmp_path_factory.mktemp("whole") / "spool"
    small = ("--segment-rows", "5", "--batch-rows", "3")
    done = write(root, "-e", QUERY, "-r", DEMO_CAPTURE, *small)
    assert done.code == 0, done.err
    return root


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """The finished spool, to be damaged."""
    root = tmp_path / "spool"
    subprocess.run(["cp", "-r", str(whole), str(root)], check=True)
    return root
