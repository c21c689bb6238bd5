# SPDX-License-Identifier: Apache-2.0
"""The object of a query set's C: from the cache, by what it is made of, or compiled (compiler_run).

Most runs find it there, and load nothing of what runs a compiler.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from gigastream.ownership import UntrustedError, check_file
from gigastream.paths import cache_directory, include_directory

FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", "-w"),
    "-fno-tree-slp-vectorize",
)
"""Fields of a packet that is decoded in registers are not to be put into vectors two by two."""
COMPLETE = ("-Wl,-z,defs",)
"""What a header of the user's lacks is told here, not by the loader."""
NATIVE = ("-march=native",)
BRIEF = ("-O0",)
"""Takes half the time; a packet then takes several times as long."""
LONG_FUNCTION = 1 << 16
"""Characters of C in one function from which the compiler is to be quick."""
SANITIZE = "GIGASTREAM_SANITIZE"
"""Environment: what setup.py builds the engine with, queries are compiled with (make sanitize)."""
OPTIMIZE = "GIGASTREAM_OPTIMIZE"
"""Environment: `always` compiles for small captures as for large ones (the tests do)."""
_TURNS = 8
"""Of a compiler whose headers have changed meanwhile."""
_given: dict[str, Path] = {}
"""Objects by their text that were made elsewhere and need no compiler."""


class CompileError(Exception):
    """There is no compiler, it refused what we generated, or its result cannot be trusted."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def compile_query_set(
    text: str, *, headers: Sequence[Path] = (), portable: bool = False, is_brief: bool = False
) -> Path:
    """The shared object of a query set's C text, from the cache where it is there.

    `headers` are folders with the accessors of user protocols. `portable` leaves out what only
    this machine's processor has. `is_brief`: little is to be run by it, so that what the compiler
    would make faster pays less than the time it takes. Raises CompileError.
    """
    if text in _given:
        return _given[text]
    compiler = find_compiler()
    flags = (*FLAGS, *_effort(text), *(() if portable else NATIVE), *_sanitizer_flags())
    is_brief &= os.environ.get(OPTIMIZE) != "always"
    if is_brief and not _is_there(_target(text, compiler, flags, headers)):
        flags = (*FLAGS, *BRIEF, *NATIVE, *_sanitizer_flags())
    try:
        for _ in range(_TURNS):
            target = _target(text, compiler, flags, headers)
            if _is_there(target):
                break
            _compile(text, compiler, flags, headers, target)
        else:
            message = "the headers change while they are compiled"
            raise CompileError(message, hint_of_headers(headers))
        check_file(target, "remove it, and it is compiled again")
    except UntrustedError as error:
        raise CompileError(str(error), error.hint) from None
    return target


def give_object(text: str, path: Path) -> None:
    """From now on `path` is the object of this text: it was compiled elsewhere."""
    _given[text] = path


def find_compiler() -> str:
    """The path of $CC, cc or gcc. Raises CompileError with what to do."""
    for name in (os.environ.get("CC"), "cc", "gcc"):
        found = _program(name) if name else None
        if found:
            return found
    raise CompileError(
        "no C compiler was found (cc, gcc or $CC): install one, on Debian `apt install gcc`, "
        "or compile the query set on a host that has one, with `gigastream compile`"
    )


def _program(name: str) -> str | None:
    """Where a program is, as shutil.which says it: that module takes longer to load than to ask."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    places = [name] if os.path.dirname(name) else [os.path.join(at, name) for at in folders]
    return next((at for at in places if os.path.isfile(at) and os.access(at, os.X_OK)), None)


def _effort(text: str) -> tuple[str, ...]:
    """How hard the compiler tries: what it does at -O2 grows faster than a function does.

    1,500 comparisons of pairs in one WHERE take 100 s at -O2 and 0.6 s at -O1.
    """
    return ("-O1", "-DGS_WALKS=false") if longest_function(text) > LONG_FUNCTION else ("-O2",)


def longest_function(text: str) -> int:
    """The characters of the longest function of generated text, its tables of constants aside."""
    longest = length = 0
    for line in text.splitlines():
        if line == "}":
            longest, length = max(longest, length), 0
        elif not line.endswith(","):
            length += len(line)
    return longest


def _sanitizer_flags() -> tuple[str, ...]:
    """`address,undefined` and the like, at which a query's code stops with a report.

    Without them nothing may be left for the loader to find.
    """
    sanitizers = os.environ.get(SANITIZE)
    if not sanitizers:
        return COMPLETE
    return (f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-O1", "-g")


def _target(text: str, compiler: str, flags: Sequence[str], headers: Sequence[Path]) -> Path:
    return cache_directory() / f"{_key(text, compiler, flags, headers)}.so"


def _is_there(target: Path) -> bool:
    """Whether there is an object, or what will be refused in its place.

    One that got a second name, from a profiler or a backup, is not loaded, but made anew.
    """
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        return False
    return found.st_nlink == 1 or not stat.S_ISREG(found.st_mode)


def _key(text: str, compiler: str, flags: Sequence[str], headers: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in (text, compiler, str(os.stat(compiler).st_mtime_ns), _processor(), *flags):
        digest.update(os.fsencode(part) + b"\0")
    for folder in (include_directory(), *headers):
        for header in headers_in(folder):
            with suppress(FileNotFoundError):  # an editor's, which has come and gone
                digest.update(os.fsencode(header.name) + header.read_bytes())
    return digest.hexdigest()[:32]


def headers_in(folder: Path) -> list[Path]:
    """No folders, and no links to nowhere: an editor locks what it changes by such a one."""
    return [path for path in sorted(folder.glob("*.h")) if path.is_file()]


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
    """Bring it into the cache, unless a header is another one by then."""
    from gigastream.codegen.compiler_run import Compilation, run_compiler

    made = Compilation(text, compiler, tuple(flags), (include_directory(), *headers))
    run_compiler(made, target, lambda: _target(text, compiler, flags, headers) == target)


def hint_of_headers(headers: Sequence[Path]) -> str | None:
    """What to look at where the code is not ours alone."""
    if not headers:
        return None
    folders = ", ".join(map(str, headers))
    return (
        f"headers of your own ({folders}) are part of it: each function is named and typed as its "
        "declaration says (docs/gsql.md, Definitions of your own)"
    )
