# SPDX-License-Identifier: Apache-2.0
"""A copy of the package whose extension is built with the sanitizers, beside the one in use."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.captures import ROOT

SANITIZERS = "address,undefined"
TREE = ROOT / "build" / "sanitized"
RUNTIMES = ("libasan.so", "libubsan.so")
ENGINE = ("setup.py", "gigastream/engine/build_native.py", "csrc/**/*.[ch]")
PARTS = ("csrc", "gigastream", "configs")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.so", "*.c.tmp")
# A report ends the process, so that none goes unseen. Python's own leaks are not ours to count:
# the worker asks for a leak check itself and looks whose they are.
# Two frames say whose an allocation is; through Python's, which keep no frame pointers, more would
# be addresses at random, for each of which LSan reads all mappings again: seconds for one leak.
ASAN_OPTIONS = ":".join(
    (
        "detect_leaks=1",
        "leak_check_at_exit=0",
        "abort_on_error=1",
        "allocator_may_return_null=1",
        "malloc_context_size=2",
    )
)
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"


def runtime_libraries() -> list[str]:
    """The sanitizers' libraries, which Python itself must load first; none: the compiler has none.

    An extension with ASan in an interpreter without it stops at once.
    """
    found = [_run_compiler(f"-print-file-name={name}") for name in RUNTIMES]
    return found if all(map(os.path.isabs, found)) else []


def environment() -> dict[str, str]:
    """The environment in which Python has the sanitized package."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(TREE), str(ROOT))),
        "LD_PRELOAD": " ".join(runtime_libraries()),
        "GIGASTREAM_SANITIZE": SANITIZERS,
        "XDG_CACHE_HOME": str(TREE / "cache"),
        "ASAN_OPTIONS": ASAN_OPTIONS,
        "UBSAN_OPTIONS": UBSAN_OPTIONS,
    }


def build() -> None:
    """Bring the copy up to date; the extension is built only where C has changed."""
    TREE.mkdir(parents=True, exist_ok=True)
    with _alone():
        for name in PARTS:
            shutil.copytree(ROOT / name, TREE / name, ignore=NOT_COPIED, dirs_exist_ok=True)
        shutil.copy(ROOT / "setup.py", TREE)
        _build_extension()


def _build_extension() -> None:
    stamp, digest = TREE / "built", _digest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    build_environment = {**os.environ, "GIGASTREAM_SANITIZE": SANITIZERS}
    done = subprocess.run(
        command, cwd=TREE, env=build_environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"the sanitized engine cannot be built:\n{done.stderr}")
    stamp.write_text(digest)


def _digest() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for pattern in ENGINE:
        for path in sorted(TREE.glob(pattern)):
            digest.update(str(path.relative_to(TREE)).encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """Two test runs of one checkout build one after the other."""
    with (TREE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_compiler(option: str) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return ""
    return subprocess.run(
        [compiler, option], capture_output=True, text=True, check=True
    ).stdout.strip()
