# SPDX-License-Identifier: Apache-2.0
"""The capture stage behind a small C program, compiled with the sanitizers on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "csrc"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *WARNINGS, *SANITIZERS]


def build(folder: Path, name: str) -> Path:
    """Compile NAME.c with the capture stage."""
    program = folder / name
    parts = (path for part in ("base", "capture") for path in sorted(CSRC.glob(f"{part}/*.c")))
    sources = [HERE / f"{name}.c", *parts]
    includes = [f"-I{CSRC}", f"-I{CSRC / 'abi'}"]
    options = [*FLAGS, *includes, "-o", str(program)]
    subprocess.run(["gcc", *options, *map(str, sources)], check=True)
    return program


def runner(program: Path) -> Callable[..., list[str]]:
    """Return what runs it with words and bytes for its standard input, and gives its lines."""

    def run(*words: object, stdin: bytes = b"") -> list[str]:
        command = [str(program), *map(str, words)]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="replace").splitlines()

    return run


@pytest.fixture(scope="session")
def driver_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled driver.c."""
    return build(tmp_path_factory.mktemp("capture"), "driver")


@pytest.fixture(scope="session")
def driver(driver_path: Path) -> Callable[..., list[str]]:
    """Runs driver.c."""
    return runner(driver_path)


@pytest.fixture(scope="session")
def ring_driver(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Runs ring_driver.c."""
    return runner(build(tmp_path_factory.mktemp("ring"), "ring_driver"))
