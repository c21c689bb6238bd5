# SPDX-License-Identifier: Apache-2.0
"""Copies of the package whose extension is built otherwise (sanitizers), beside the one in use."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.captures import ROOT

ENGINE = ("setup.py", "gigastream/engine/build_native.py", "csrc/**/*.[ch]")
PARTS = ("csrc", "gigastream", "configs")
COPIED = ("setup.py", "csrc/**/*", "gigastream/**/*.py", "configs/**/*")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.so", "*.c.tmp")
# A report ends the process, so that none goes unseen. Python's own leaks are not ours to count:
# the worker asks for a leak check itself and looks whose they are.
# Two frames say whose an allocation is; through Python's, which keep no frame pointers, more would
# be addresses at random, for each of which LSan reads all mappings again: seconds for one leak.
# Why __tls_get_addr is left alone says the Makefile.
ASAN_OPTIONS = ":".join(
    (
        "detect_leaks=1",
        "leak_check_at_exit=0",
        "abort_on_error=1",
        "allocator_may_return_null=1",
        "malloc_context_size=2",
        "intercept_tls_get_addr=0",
    )
)
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"
# CPython and pyarrow are not instrumented: only what the engine does is seen, and what they do
# between its calls (locks of theirs) is not taken for its.
TSAN_OPTIONS = "halt_on_error=0:exitcode=66:ignore_noninstrumented_modules=1:report_bugs=1"


@dataclass(frozen=True)
class Tree:
    """One copy, and what it takes to run it."""

    name: str
    build: dict[str, str]
    """Variables of the build, and of the compiler of query sets."""
    runtimes: tuple[str, ...]
    options: dict[str, str]

    @property
    def folder(self) -> Path:
        """Where it is."""
        return ROOT / "build" / self.name


MEMORY = Tree(
    "sanitized",
    {"GIGASTREAM_SANITIZE": "address,undefined"},
    ("libasan.so", "libubsan.so"),
    {"ASAN_OPTIONS": ASAN_OPTIONS, "UBSAN_OPTIONS": UBSAN_OPTIONS},
)
THREADS = Tree(
    "threads",
    {"GIGASTREAM_SANITIZE": "thread"},
    ("libtsan.so",),
    {"TSAN_OPTIONS": TSAN_OPTIONS},
)


def runtime_libraries(tree: Tree = MEMORY) -> list[str]:
    """The sanitizers' libraries, which Python itself must load first; none: the compiler has none.

    An extension with ASan in an interpreter without it stops at once.
    """
    found = [_run_compiler(f"-print-file-name={name}") for name in tree.runtimes]
    return found if all(map(os.path.isabs, found)) else []


def environment(tree: Tree = MEMORY) -> dict[str, str]:
    """The environment in which Python has the sanitized package."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(tree.folder), str(ROOT))),
        "LD_PRELOAD": " ".join(runtime_libraries(tree)),
        **tree.build,
        "XDG_CACHE_HOME": str(tree.folder / "cache"),
        **tree.options,
    }


def build(tree: Tree = MEMORY) -> None:
    """Bring the copy up to date; the extension is built only where C has changed.

    What is up to date is not touched: another process of the tests may be at work in it.
    """
    tree.folder.mkdir(parents=True, exist_ok=True)
    with _alone(tree):
        _once(tree.folder / "copied", _digest(ROOT, COPIED), lambda: _copy(tree))
        _once(tree.folder / "built", _digest(tree.folder, ENGINE), lambda: _build_extension(tree))


def _once(stamp: Path, digest: str, make: Callable[[], None]) -> None:
    """Make what a stamp says is there of another digest, or is not there."""
    if stamp.is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    make()
    stamp.write_text(digest)


def _copy(tree: Tree) -> None:
    # what was moved would be there twice
    shutil.rmtree(tree.folder / "csrc", ignore_errors=True)
    for name in PARTS:
        shutil.copytree(ROOT / name, tree.folder / name, ignore=NOT_COPIED, dirs_exist_ok=True)
    shutil.copy(ROOT / "setup.py", tree.folder)


def _build_extension(tree: Tree) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    build_environment = {**os.environ, **tree.build}
    done = subprocess.run(
        command,
        cwd=tree.folder,
        env=build_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the engine cannot be built:\n{done.stderr}")


def _digest(folder: Path, patterns: Sequence[str]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for pattern in patterns:
        for path in sorted(path for path in folder.glob(pattern) if path.is_file()):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _alone(tree: Tree) -> Iterator[None]:
    """Two test runs of one checkout build one after the other."""
    with (tree.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_compiler(option: str) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return ""
    return subprocess.run(
        [compiler, option], capture_output=True, text=True, check=True
    ).stdout.strip()
