# SPDX-License-Identifier: Apache-2.0
"""The C targets as programs: with libFuzzer where clang is, else to replay what is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gigastream.codegen.query_set import generate
from tests.captures import ROOT
from tests.fuzz.small_sets import small_query_sets
from tests.sanitize.worker import plan_of

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
TARGETS = ("capture", "decode", "engine", "import", "reassembly")
CLANG_NAMES = ("clang-14", "clang")
CSRC = ROOT / "csrc"
_FOLDERS = (f"-I{CSRC}", f"-I{CSRC / 'abi'}")
_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer", *_FOLDERS)
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
# What is freed is kept from being used again for a while, and no longer: pages that are never the
# same cost more than the engine.
_ASAN = (
    "detect_leaks=1",
    "abort_on_error=1",
    "allocator_may_return_null=1",
    "quarantine_size_mb=8",
    "malloc_context_size=8",
)
_CHECKED = ("-fno-sanitize-recover=all",)


@dataclass(frozen=True)
class Toolchain:
    """A compiler, what it puts into every file, and what a program gets besides."""

    compiler: str
    flags: tuple[str, ...]
    program: tuple[str, ...]
    sources: tuple[Path, ...]


def replaying() -> Toolchain:
    """Of gcc, with ASan and UBSan: a program that runs each file that it is given."""
    flags = ("-fsanitize=address,undefined", *_CHECKED)
    return Toolchain("gcc", flags, (), (HERE / "targets" / "replay.c",))


def fuzzing() -> Toolchain | None:
    """Of clang, with libFuzzer; None where it, or its runtime, is not installed."""
    found = next(filter(None, map(shutil.which, CLANG_NAMES)), None)
    if found is None:
        return None
    flags = ("-fsanitize=fuzzer-no-link,address,undefined", *_CHECKED)
    tools = Toolchain(found, flags, ("-fsanitize=fuzzer,address,undefined",), ())
    return tools if _links(tools) else None


def build_engine(tools: Toolchain, folder: Path) -> list[Path]:
    """Compile the engine, once for all targets."""
    objects = folder / "engine"
    objects.mkdir(exist_ok=True)
    sources = {objects / f"{path.parent.name}_{path.stem}.o": path for path in CSRC.rglob("*.c")}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        words = ([*_FLAGS, *tools.flags, "-c", "-o", made, path] for made, path in sources.items())
        for _ in pool.map(lambda one: _compile(tools, one), words):
            pass
    return list(sources)


def build(name: str, tools: Toolchain, folder: Path, engine: list[Path]) -> Path:
    """Compile a target, and link it with the engine."""
    program = folder / f"fuzz_{name}"
    sources = [HERE / "targets" / f"{name}.c", *tools.sources, *engine]
    words = [*_FLAGS, *_WARNINGS, *tools.flags, *tools.program, "-o", program, *sources]
    _compile(tools, [*words, "-ldl", "-lm", "-lpthread", "-rdynamic"])
    return program


def build_objects(tools: Toolchain, folder: Path) -> list[Path]:
    """Compile the queries that the engine's target asks, under the same sanitizers."""
    # Clang also sees 0 added to NULL, where an empty table's entry is prefetched.
    unlike = "-fno-sanitize=pointer-overflow"
    words = (*_FLAGS, *tools.flags, unlike, "-w", "-fPIC", "-shared", "-fvisibility=hidden")
    jobs = {}
    for query_set in small_query_sets():
        text, made = folder / f"{query_set.name}.c", folder / f"{query_set.name}.so"
        text.write_text(generate(plan_of(query_set)))
        headers = (f"-I{each}" for each in query_set.include)
        jobs[made] = [*words, *headers, "-o", made, text, "-lm"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda one: _compile(tools, one), jobs.values()):
            pass
    return list(jobs)


def environment(objects: list[Path]) -> dict[str, str]:
    """The environment of a target: it knows its query sets; a report ends it."""
    return {
        **os.environ,
        "GIGASTREAM_FUZZ_OBJECTS": ":".join(map(str, objects)),
        "ASAN_OPTIONS": ":".join(_ASAN),
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def _links(tools: Toolchain) -> bool:
    """Whether the compiler has the runtime: Debian's clang comes without."""
    program = "int LLVMFuzzerTestOneInput(const char *d, unsigned long s) { return 0; }"
    command = [tools.compiler, *tools.program, "-w", "-x", "c", "-", "-o", os.devnull]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    return done.returncode == 0


def _compile(tools: Toolchain, words: list[object]) -> None:
    done = subprocess.run(
        [tools.compiler, *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{tools.compiler} fails:\n{done.stderr}")
