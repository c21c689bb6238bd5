# SPDX-License-Identifier: Apache-2.0
"""The sessions of several threads under ThreadSanitizer: none touches what another is at."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT
from tests.sanitize import programs
from tests.sanitize.tree import THREADS, build, environment, runtime_libraries

pytestmark = pytest.mark.slow
SECONDS = 1200
REPORT = "WARNING: ThreadSanitizer"
RACE = """
int here; /* neither begins before the other is there, however busy the machine is */
long shared;
void touch(void)
{
    __atomic_add_fetch(&here, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&here, __ATOMIC_RELAXED) < 2) { }
    for (int i = 0; i < 1000000; i++) shared++;
}
"""
TWO_THREADS = """
import ctypes, sys, threading
touch = ctypes.CDLL(sys.argv[1]).touch
threads = [threading.Thread(target=touch) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def python(*words: object) -> subprocess.CompletedProcess[str]:
    """Run Python under TSan, whose shadow memory wants addresses that are not random."""
    command = ["setarch", "-R", sys.executable, "-P", *map(str, words)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment(THREADS),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def thread_sanitizer() -> None:
    if not runtime_libraries(THREADS):
        pytest.skip("the compiler has no libtsan")
    if shutil.which("setarch") is None or python("-c", "").returncode != 0:
        pytest.skip("ThreadSanitizer does not run here")


def test_a_race_is_seen(tmp_path: Path) -> None:
    source, made = tmp_path / "race.c", tmp_path / "race.so"
    source.write_text(RACE)
    flags = ["-fsanitize=thread", "-O0", "-g", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, "-o", made, source], check=True)
    assert REPORT in python("-c", TWO_THREADS, made).stderr


@pytest.mark.parametrize("name", ["threaded", "divided", "divided_files", "exchange"])
def test_there_is_no_race(name: str) -> None:
    build(THREADS)
    # -s: pytest keeps what was said during tests that pass
    words = ("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-k", "not real_captures")
    done = python(*words, f"tests/engine/test_{name}.py")
    said = done.stdout + done.stderr
    assert REPORT not in said, said[said.find(REPORT) :][:4000]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_there_is_no_race_where_one_has_no_memory(tmp_path: Path) -> None:
    """Python's own locks, which order much that the engine does not, are not there."""
    engine = programs.build_engine(tmp_path, programs.THREADS)
    program = programs.build_program(engine, "exchanging", tmp_path, programs.THREADS)
    (capture, _) = programs.captures_of(30, tmp_path)
    for name in ("exchanging", "cut"):
        query_set = programs.build_query_set(name, tmp_path, programs.THREADS)
        files = [str(path) for path in (program, query_set, capture)]
        words = ["setarch", "-R", *files[:2], "once", "1", "23", files[2]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert REPORT not in done.stderr, done.stderr[:4000]
        assert done.returncode == 0, done.stderr[-4000:]
        assert len(programs.outcomes_of(done.stdout)) > 100
