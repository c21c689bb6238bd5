# SPDX-License-Identifier: Apache-2.0
"""A test that hangs fails, wherever it is blocked; those behind it run, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.processes import wait_until_gone

LIMIT_S = "600"
"""Of what is to end by itself, however slowly."""
SHORT_LIMITS_S = ("3", "30")
"""Of what hangs; a busy machine may come to the place where it does only after the first."""
WORKERS = ("-q", "-p", "no:hypothesispytest", "-p", "no:anyio", "-n", "1", "--dist", "loadfile")
TESTS = """
import ctypes, os, subprocess, time, pytest
from pathlib import Path

def limit_what_is_next():
    os.environ["GIGASTREAM_TEST_LIMIT"] = os.environ["SHORT_LIMIT"]

def test_is_fine_too():
    limit_what_is_next()

def test_blocked_in_c():
    ctypes.PyDLL(None).sleep(1000)

@pytest.fixture
def hangs():
    yield
    time.sleep(1000)

def test_fails_and_hangs(hangs):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    Path(__file__).with_name("child").write_text(str(child.pid))
    limit_what_is_next()
    assert False

def test_is_fine():
    pass
"""


INTERRUPTED = """
import os, signal, time

def test_is_broken_off():
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(1000)
"""


HANG = {"test_blocked_in_c": "in test_blocked_in_c", "test_fails_and_hangs": "in hangs"}
"""Where the tests that hang do it."""


def run_with_a_worker(folder: Path, tests: str, short_limit: str = LIMIT_S) -> tuple[int, str]:
    """Run tests with the limits; the exit code, and what was said."""
    (folder / "conftest.py").write_text(
        "import time_limit\n\ndef pytest_configure(config):\n    time_limit.watch(config)\n"
    )
    (folder / "test_hangs.py").write_text(tests)
    environment = {
        **os.environ,
        "GIGASTREAM_TEST_LIMIT": LIMIT_S,
        "SHORT_LIMIT": short_limit,
        "PYTHONPATH": str(ROOT / "tests"),
        "TMPDIR": str(folder),
    }
    command = [sys.executable, "-m", "pytest", *WORKERS, str(folder)]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert not list(folder.glob("*.stacks"))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_a_test_that_hangs_fails(tmp_path: Path) -> None:
    for limit in SHORT_LIMITS_S:
        folder = tmp_path / limit
        folder.mkdir()
        code, said = run_with_a_worker(folder, TESTS, limit)
        wait_until_gone(int((folder / "child").read_text()))
        if all(place in said for place in HANG.values()):
            break
    assert code == 1, said
    for name, place in HANG.items():
        assert f"crashed while running 'test_hangs.py::{name}'" in said
        assert place in said
    assert "3 failed, 2 passed" in said


def test_a_run_that_is_broken_off_leaves_no_files(tmp_path: Path) -> None:
    code, said = run_with_a_worker(tmp_path, INTERRUPTED)
    assert code == pytest.ExitCode.INTERRUPTED, said
