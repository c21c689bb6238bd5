# SPDX-License-Identifier: Apache-2.0
"""The engine without Python, under valgrind: nothing is read before it is written, nothing lost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gigastream.codegen.compiler import compile_query_set
from gigastream.codegen.query_set import generate
from tests.captures import DEMO_CAPTURE, ROOT, captures
from tests.sanitize.query_sets import QuerySet
from tests.sanitize.worker import plan_of
from tests.sanitizers import not_sanitized

pytestmark = not_sanitized("valgrind is a sanitizer of its own, and takes no other")

CSRC = ROOT / "csrc"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
VALGRIND = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--track-origins=yes"]
# burst, rows of a batch, slots, flush policy
SETTINGS = (("64", "4096", "512", "0"), ("3", "2", "4", "2"))
EVERY = 40
SMALL_BYTES = 4000
SOME_BYTES = 20_000


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """driver.c with the whole engine in it."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    program = tmp_path_factory.mktemp("valgrind") / "driver"
    sources = map(str, [Path(__file__).with_name("driver.c"), *sorted(CSRC.rglob("*.c"))])
    folders = [f"-I{CSRC}", f"-I{CSRC / 'abi'}"]
    subprocess.run(["gcc", *FLAGS, *folders, "-o", program, *sources, "-ldl", "-lm"], check=True)
    return program


@pytest.mark.long
def test_a_few_captures(driver: Path, query_set: QuerySet) -> None:
    """Small ones of each kind."""
    paths = captures("good", "hostile", "broken", "ng-odd", "empty")
    small = [path for path in paths if path.stat().st_size < SMALL_BYTES]
    _check(driver, query_set, small[::EVERY] or [DEMO_CAPTURE], SETTINGS[1])


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=["usual", "small"])
def test_many_captures(driver: Path, query_set: QuerySet, settings: tuple[str, ...]) -> None:
    paths = captures("good", "hostile", "broken", "ng-odd", "empty")
    some = [path for path in paths if path.stat().st_size < SOME_BYTES]
    _check(driver, query_set, [*some, DEMO_CAPTURE], settings)


def _check(driver: Path, query_set: QuerySet, files: list[Path], settings: tuple[str, ...]) -> None:
    # Portable: valgrind does not know every instruction of the newest processors.
    text = generate(plan_of(query_set))
    object_path = compile_query_set(text, portable=True, headers=query_set.include)
    command = [*VALGRIND, str(driver), str(object_path), *settings, str(len(query_set.interfaces))]
    done = subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr
