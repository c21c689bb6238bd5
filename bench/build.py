# SPDX-License-Identifier: Apache-2.0
"""Compiles the C of this folder when it is first needed, into build/, named by its contents."""

from __future__ import annotations

import ctypes.util
import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
LOOPS = HERE / "loops"
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-Wall", "-Wextra", "-Wno-unused-function")


class BuildError(Exception):
    """The C compiler is missing or refused a source; the text says which."""


@cache
def executable(source: Path, *libraries: str) -> Path:
    """The compiled form of one C file; raises BuildError."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise BuildError("no C compiler: install gcc or clang")
    target = BUILD / f"{source.stem}-{_digest(source)}"
    if not target.exists():
        _compile(compiler, source, target, libraries)
    return target


def _digest(source: Path) -> str:
    contents = [path.read_bytes() for path in (source, *sorted(source.parent.glob("*.h")))]
    return hashlib.sha256(b"\0".join(contents) + repr(FLAGS).encode()).hexdigest()[:12]


def _compile(compiler: str, source: Path, target: Path, libraries: tuple[str, ...]) -> None:
    BUILD.mkdir(exist_ok=True)
    partial = target.with_suffix(".partial")
    links = [_link(compiler, library) for library in libraries]
    command = [compiler, *FLAGS, "-o", str(partial), str(source), *links]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["the compiler failed"]
        said = next((line for line in lines if "error:" in line), lines[0])
        raise BuildError(f"{source.name}: {said.split('error: ')[-1]}")
    partial.replace(target)


def _link(compiler: str, library: str) -> str:
    """Its development file, or what programs load, where there is no more."""
    wanted = f"lib{library}.so"
    asked = [compiler, f"-print-file-name={wanted}"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    loaded = None if told != wanted else ctypes.util.find_library(library)
    return f"-l:{loaded}" if loaded else f"-l{library}"
