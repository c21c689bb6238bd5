# SPDX-License-Identifier: Apache-2.0
"""Programs of the engine without Python, sanitized, whose allocations fail (failing.c)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigastream.codegen.query_set import generate
from gigastream.paths import include_directory
from gigastream.plan import Plan
from gigastream.plan.parts import columns_in_order, parts_of_plan
from tests.captures import DEMO_CAPTURE, ROOT
from tests.engine.traffic import udp_packet
from tests.sanitize.query_sets import read_query_set
from tests.sanitize.worker import plan_of
from tests.strategies.files import pcapng

HERE, CSRC = Path(__file__).parent, ROOT / "csrc"
MEMORY = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
THREADS = ("-fsanitize=thread",)
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g")
INCLUDES = (f"-I{CSRC}", f"-I{CSRC / 'abi'}", f"-I{include_directory()}")
WARNED = (*FLAGS, "-Wall", "-Wextra", *INCLUDES)
WRAPPED = (
    *("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "strdup", "free"),
    *("mmap", "munmap", "mremap"),
)
WRAP = "-Wl," + ",".join(f"--wrap={name}" for name in WRAPPED)
SECOND_NS = 10**9


@dataclass(frozen=True)
class Outcome:
    """A run in which an allocation failed."""

    number: int
    status: int
    unreturned: int
    refused: int
    digest: str
    message: str


def outcomes_of(said: str) -> list[Outcome]:
    """One for each line of a program."""
    return [_outcome(line) for line in said.splitlines()]


def _outcome(line: str) -> Outcome:
    number, status, unreturned, refused, digest, message = line.split(" ", 5)
    return Outcome(int(number), int(status), int(unreturned), int(refused), digest, message)


def build_engine(folder: Path, sanitizers: Sequence[str]) -> Path:
    """The engine as one object."""
    built = folder / "engine.o"
    sources = map(str, [HERE / "failing.c", *sorted(CSRC.rglob("*.c"))])
    options = [*WARNED, *sanitizers, "-r", "-nostdlib", "-o", str(built)]
    subprocess.run(["gcc", *options, *sources], check=True)
    return built


def build_program(engine: Path, name: str, folder: Path, sanitizers: Sequence[str]) -> Path:
    """What is run again and again."""
    built = folder / name
    options = [*WARNED, *sanitizers, WRAP, "-rdynamic", "-o", str(built)]
    files = [str(HERE / f"{name}.c"), str(engine)]
    subprocess.run(["gcc", *options, *files, "-ldl", "-lm", "-lpthread"], check=True)
    return built


def build_query_set(name: str, folder: Path, sanitizers: Sequence[str]) -> Path:
    """One whose allocations fail too, and which says where its plan is cut."""
    source, built = folder / f"{name}.c", folder / f"{name}.so"
    plan = plan_of(read_query_set(HERE / f"{name}.gsql"))
    source.write_text(generate(plan) + _cut(plan))
    options = [*FLAGS, *sanitizers, "-w", "-fPIC", "-shared", *INCLUDES, WRAP, "-o", str(built)]
    subprocess.run(["gcc", *options, str(source), "-lm"], check=True)
    return built


def _cut(plan: Plan) -> str:
    """What exchanging.c needs to know of it."""
    parts = parts_of_plan(plan)
    letters = dict.fromkeys(parts.below, "b") | dict.fromkeys(parts.crossing, "c")
    places = "".join(letters.get(at, "a") for at in range(len(plan.nodes)))
    orders = [columns_in_order(node) for node in plan.nodes]
    columns = ", ".join("{" + ", ".join(map(str, [len(o), *o])) + "}" for o in orders)
    return (
        f'\nconst char cut_places[] = "{places}";\n'
        f"const uint32_t cut_columns[][4] = {{{columns}}};\n"
    )


def captures_of(packets: int, folder: Path) -> list[Path]:
    """Two captures of so many packets."""
    plain, other = folder / f"plain-{packets}.pcap", folder / f"other-{packets}.pcapng"
    plain.write_bytes(_first_records(DEMO_CAPTURE.read_bytes(), packets))
    begin = int.from_bytes(plain.read_bytes()[24:28], "little") * SECOND_NS
    other.write_bytes(pcapng([udp_packet(begin + at * 10**7, at, at) for at in range(packets)]))
    return [plain, other]


def _first_records(capture: bytes, count: int) -> bytes:
    at = 24
    for _ in range(count):
        at += 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
    return capture[:at]
