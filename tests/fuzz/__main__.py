# SPDX-License-Identifier: Apache-2.0
"""Fuzz every target for a time: `make fuzz TIME=60`.

What is found stays in tests/fuzz/corpus, whose entries the tests replay: mend it, and commit both.
Inputs that are merely new go to build/fuzz, where the next run begins with them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.captures import ROOT
from tests.fuzz.build import (
    CORPUS,
    TARGETS,
    Toolchain,
    build,
    build_engine,
    build_objects,
    environment,
    fuzzing,
)
from tests.fuzz.in_process import HANGS_SECONDS
from tests.fuzz.in_process import TARGETS as PYTHON_TARGETS
from tests.fuzz.seeds import seeds
from tests.processes import program

WORK = ROOT / "build" / "fuzz"
LONGEST_INPUT_BYTES = 2048
MEMORY_MIB = 4096
Run = Callable[[], bool]


def main() -> int:
    """Fuzz; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, help="the same inputs each time; else others")
    parser.add_argument("targets", nargs="*", default=[*TARGETS, *PYTHON_TARGETS])
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    runs = [*_c_runs(arguments.targets, arguments.seconds, arguments.seed)]
    runs += [*_python_runs(arguments.targets, arguments.seconds, arguments.seed)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        sound = [*pool.map(lambda run: run(), runs)]
    return 0 if all(sound) else 1


def _c_runs(names: list[str], seconds: float, seed: int | None) -> Iterator[Run]:
    wanted = [name for name in names if name in TARGETS]
    tools = fuzzing()
    if wanted and tools is None:
        print(f"SKIPPED, for want of clang-14 and libclang-rt-14-dev: {' '.join(wanted)}")
        return
    if tools is not None and wanted:
        engine = build_engine(tools, WORK)
        for name in wanted:
            yield partial(_fuzz, name, tools, seconds, seed, engine)


def _fuzz(
    name: str, tools: Toolchain, seconds: float, seed: int | None, engine: list[Path]
) -> bool:
    """Run libFuzzer on a target; what it finds is written into the corpus."""
    fresh = WORK / name
    if seed is not None:  # what other runs have found would make it another one
        fresh = WORK / f"{name}-seeded"
        shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(exist_ok=True)
    for number, content in enumerate(seeds(name)):
        (fresh / f"seed{number}").write_bytes(content)
    kept = CORPUS / name
    kept.mkdir(parents=True, exist_ok=True)
    program = build(name, tools, WORK, engine)
    objects = build_objects(tools, WORK) if name == "engine" else []
    options = {
        "max_total_time": int(seconds),
        "seed": 0 if seed is None else seed or 1,  # 0: by the clock
        "max_len": LONGEST_INPUT_BYTES,
        "rss_limit_mb": MEMORY_MIB,
        "timeout": HANGS_SECONDS,
        "artifact_prefix": f"{kept}{os.sep}",
        "print_final_stats": 1,
    }
    words = [f"-{option}={value}" for option, value in options.items()]
    command = [str(program), *words, str(fresh), str(kept)]
    return _tell(name, command, environment(objects))


def _python_runs(names: list[str], seconds: float, seed: int | None) -> Iterator[Run]:
    for name in names:
        if name in PYTHON_TARGETS:
            command = [*program("tests.fuzz.in_process"), name, str(seconds)]
            cache = {"XDG_CACHE_HOME": str(WORK / "cache")}
            where = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
            surroundings = {**os.environ, **cache, "PYTHONPATH": where}
            command += [str(CORPUS / name), *([] if seed is None else [str(seed)])]
            yield partial(_tell, name, command, surroundings)


def _tell(name: str, command: list[str], surroundings: dict[str, str]) -> bool:
    done = subprocess.run(
        command, env=surroundings, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode == 0:
        print(f"{name}: {_executions(done)}", flush=True)
        return True
    print(f"{name}: FOUND, see {CORPUS / name}\n{done.stdout}{done.stderr}", flush=True)
    return False


def _executions(done: subprocess.CompletedProcess[str]) -> str:
    label = "stat::number_of_executed_units:"
    found = [line for line in done.stderr.splitlines() if line.startswith(label)]
    if not found:
        return done.stdout.strip().partition(": ")[2]
    return f"{int(found[-1].removeprefix(label)):,} executions, none failed"


if __name__ == "__main__":
    sys.exit(main())
