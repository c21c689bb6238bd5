# SPDX-License-Identifier: Apache-2.0
"""A fuzzer for what is Python: mutants of what is kept; one that fails stays on the disk.

python -m tests.fuzz.in_process front_end|spool SECONDS FOLDER [SEED]
"""

from __future__ import annotations

import hashlib
import importlib
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NoReturn

TARGETS = ("front_end", "spool")
HANGS_SECONDS = 60


def load(target: str) -> ModuleType:
    """The module of a target: `seeds`, `mutate`, `execute`, and `attempt` if that is quicker."""
    return importlib.import_module(f"tests.fuzz.{target}")


def fuzz(target: str, seconds: float, folder: Path, seed: int) -> int:
    """Run mutants until the time is over or one fails; return how many there were."""
    module, random = load(target), Random(seed)
    kept = [*module.seeds(), *(path.read_bytes() for path in sorted(folder.glob("*")))]
    until, count = time.monotonic() + seconds, 0
    signal.signal(signal.SIGALRM, _hangs)
    while time.monotonic() < until:
        data = module.mutate(random.choice(kept), kept, random)
        _execute(getattr(module, "attempt", module.execute), data, folder)
        count += 1
    return count


def _execute(execute: Callable[[bytes], None], data: bytes, folder: Path) -> None:
    """Run one; it is on the disk while it runs, for a crash leaves nothing else."""
    path = folder / f"crash-{hashlib.sha1(data).hexdigest()}"
    path.write_bytes(data)
    signal.alarm(HANGS_SECONDS)
    execute(data)
    signal.alarm(0)
    path.unlink()


def _hangs(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"hangs for {HANGS_SECONDS} s")


if __name__ == "__main__":
    name, limit, place = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    place.mkdir(parents=True, exist_ok=True)
    first = int(sys.argv[4]) if len(sys.argv) > 4 else time.time_ns()
    print(f"{name}: {fuzz(name, limit, place, first):,} executions, none failed")
