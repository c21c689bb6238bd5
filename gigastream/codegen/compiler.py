# SPDX-License-Identifier: Apache-2.0
"""The system's C compiler, run on generated text; objects are cached by what they are made of.

The compiler never runs as root: where we are root it runs under a user id that nobody else has, in
a folder of its own, and only its result is taken.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gigastream.paths import cache_directory, include_directory

FLAGS = ("-std=c11", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", "-w")
NATIVE = ("-march=native",)
SANITIZE = "GIGASTREAM_SANITIZE"
"""Environment: what setup.py builds the engine with, queries are compiled with (make sanitize)."""
TIME_LIMIT_SECONDS = 120
SOURCE, RESULT = "query_set.c", "query_set.so"
UNUSED_USER = 0x60000000
"""First of a range of user ids that no system gives to anybody."""


class CompileError(Exception):
    """There is no compiler, or it refused what we generated."""


def compile_query_set(text: str, *, headers: Sequence[Path] = (), portable: bool = False) -> Path:
    """The shared object of a query set's C text, from the cache where it is there.

    `headers` are folders with the accessors of user protocols. `portable` leaves out what only
    this machine's processor has. Raises CompileError.
    """
    compiler = find_compiler()
    flags = (*FLAGS, *(() if portable else NATIVE), *_sanitizer_flags())
    target = _cache_directory() / f"{_key(text, compiler, flags, headers)}.so"
    if not target.is_file():
        _compile(text, compiler, flags, headers, target)
    return target


def find_compiler() -> str:
    """The path of $CC, cc or gcc. Raises CompileError with what to do."""
    for name in (os.environ.get("CC"), "cc", "gcc"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CompileError(
        "no C compiler was found (cc, gcc or $CC): install one, on Debian `apt install gcc`, "
        "or compile the query set on a host that has one, with `gigastream compile`"
    )


def _sanitizer_flags() -> tuple[str, ...]:
    """`address,undefined` and the like, at which a query's code stops with a report."""
    sanitizers = os.environ.get(SANITIZE)
    if not sanitizers:
        return ()
    return (f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-O1", "-g")


def _cache_directory() -> Path:
    try:
        return cache_directory()
    except PermissionError as error:
        raise CompileError(str(error)) from None


def _key(text: str, compiler: str, flags: Sequence[str], headers: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in (text, compiler, str(os.stat(compiler).st_mtime_ns), _processor(), *flags):
        digest.update(part.encode() + b"\0")
    for folder in (include_directory(), *headers):
        for header in sorted(folder.glob("*.h")):
            digest.update(header.name.encode() + header.read_bytes())
    return digest.hexdigest()[:32]


@cache
def _processor() -> str:
    """What -march=native depends on: an object must not travel to a lesser processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")


def _compile(
    text: str, compiler: str, flags: Sequence[str], headers: Sequence[Path], target: Path
) -> None:
    with tempfile.TemporaryDirectory(prefix="gigastream-") as folder:
        work = Path(folder)
        user = _unprivileged_user(work)
        (work / SOURCE).write_text(text)
        os.chmod(work / SOURCE, 0o644)
        own = [include_directory(), *headers]
        include = own if user is None else _readable_headers(work, own)
        folders = [f"-I{folder}" for folder in include]
        _run([compiler, *flags, *folders, "-o", RESULT, SOURCE, "-lm"], work, user)
        _install(work / RESULT, target)


def _unprivileged_user(work: Path) -> int | None:
    """Where we are root: hand the folder to a user id of its own and give that id."""
    if os.geteuid() != 0:
        return None
    user = UNUSED_USER + os.getpid() % 0x10000000
    os.chown(work, user, user)
    return user


def _readable_headers(work: Path, headers: Sequence[Path]) -> list[Path]:
    """Copies of the headers, since another user may not be able to read where they lie.

    They are named from `work`, for the same reason: it may lie in a folder that is only ours.
    """
    copies = [Path(f"include{number}") for number in range(len(headers))]
    for folder, copy in zip(headers, copies, strict=True):
        (work / copy).mkdir()
        for header in folder.glob("*.h"):
            shutil.copy(header, work / copy)
    for path in work.rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    return copies


def _run(command: list[str], work: Path, user: int | None) -> None:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": ".", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"the C compiler could not be run: {error}") from error
    if done.returncode != 0:
        first = "\n".join(done.stderr.splitlines()[:12])
        raise CompileError(f"the C compiler refused the generated code:\n{first}")


def _install(result: Path, target: Path) -> None:
    """Into the cache by rename, so that another process never sees half an object."""
    temporary = target.with_name(f"{target.name}.{os.getpid()}")
    temporary.write_bytes(result.read_bytes())
    os.chmod(temporary, 0o600)
    os.replace(temporary, target)
