# SPDX-License-Identifier: Apache-2.0
"""Every allocation of the engine fails once: there is an error with a sentence, or all is right."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gigastream.codegen.query_set import generate
from gigastream.paths import include_directory
from tests.captures import DEMO_CAPTURE, ROOT
from tests.engine.traffic import udp_packet
from tests.sanitize.query_sets import read_query_set
from tests.sanitize.tree import runtime_libraries
from tests.sanitize.worker import plan_of
from tests.strategies.files import pcapng

HERE, CSRC = Path(__file__).parent, ROOT / "csrc"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *SANITIZERS]
INCLUDES = [f"-I{CSRC}", f"-I{CSRC / 'abi'}", f"-I{include_directory()}"]
WARNED = [*FLAGS, "-Wall", "-Wextra", *INCLUDES]
WRAPPED = (
    *("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "strdup", "free"),
    *("mmap", "munmap", "mremap"),
)
WRAP = "-Wl," + ",".join(f"--wrap={name}" for name in WRAPPED)
PACKETS = 200
FEW = 20
"""Of which every allocation fails, some 17,000 runs: a packet more makes some hundreds."""
SOME = 200
"""Runs that the quick test makes: the first ones, and those evenly among the rest."""
KEPT_PACKETS, KEPT_STEP = 30, 7
"""Of some 3,700 runs, which are short."""
EXCHANGED_PACKETS, EXCHANGED_STEP = 60, 3
"""Of some 2,900 runs, in each of which threads take other turns."""
SLICES = 16
FAILED = (4, 5)
"""GS_ERROR; GS_REFUSED where a source could not be opened."""
SECOND_NS = 10**9
ONE_OF_TWO = "1 of 2 sets had no memory"
"""And the other has answered as if it were alone with its reader."""


@dataclass(frozen=True)
class Outcome:
    """A run in which an allocation failed."""

    number: int
    status: int
    unreturned: int
    refused: int
    digest: str
    message: str


Run = Callable[[str, int, int, int], list[Outcome]]
"""Of a mode, from which allocation on, by how many; how many packets."""


def _first_records(capture: bytes, count: int) -> bytes:
    at = 24
    for _ in range(count):
        at += 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
    return capture[:at]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine as one object, whose allocations can be made to fail."""
    if not runtime_libraries():
        pytest.skip("the compiler has no libasan")
    built = tmp_path_factory.mktemp("engine") / "engine.o"
    sources = map(str, [HERE / "failing.c", *sorted(CSRC.rglob("*.c"))])
    subprocess.run(["gcc", *WARNED, "-r", "-nostdlib", "-o", str(built), *sources], check=True)
    return built


def _program(engine: Path, name: str, folder: Path) -> Path:
    """What is run again and again."""
    built = folder / name
    options = [*WARNED, WRAP, "-rdynamic", "-o", str(built), str(HERE / f"{name}.c"), str(engine)]
    subprocess.run(["gcc", *options, "-ldl", "-lm", "-lpthread"], check=True)
    return built


@pytest.fixture(scope="module")
def program(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Engines of one thread."""
    return _program(engine, "faults", tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def run(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of every operator."""
    return _runs_of(program, "faults", tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def run_kept(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of what keeps states, values and packets."""
    return _runs_of(program, "kept", tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def run_exchanging(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of two, then three threads that exchange rows."""
    folder = tmp_path_factory.mktemp("exchanging")
    return _runs_of(_program(engine, "exchanging", folder), "exchanging", folder)


def _runs_of(program: Path, name: str, folder: Path) -> Run:
    """Runs of a query set, whose allocations fail too, over two captures."""
    query_set = folder / "query_set.so"
    (folder / "query_set.c").write_text(generate(plan_of(read_query_set(HERE / f"{name}.gsql"))))
    shared = [*FLAGS, "-w", "-fPIC", "-shared", *INCLUDES, WRAP, "-o", str(query_set)]
    subprocess.run(["gcc", *shared, str(folder / "query_set.c"), "-lm"], check=True)

    def captures(packets: int) -> list[str]:
        plain, other = folder / f"plain-{packets}.pcap", folder / f"other-{packets}.pcapng"
        plain.write_bytes(_first_records(DEMO_CAPTURE.read_bytes(), packets))
        begin = int.from_bytes(plain.read_bytes()[24:28], "little") * SECOND_NS
        other.write_bytes(pcapng([udp_packet(begin + at * 10**7, at, at) for at in range(packets)]))
        return [str(plain), str(other)]

    def runs(mode: str, first: int, step: int, packets: int) -> list[Outcome]:
        words = [str(program), str(query_set), mode, str(first), str(step), *captures(packets)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout[-200:] + done.stderr[-4000:]
        return [_outcome(line) for line in done.stdout.splitlines()]

    return runs


def _outcome(line: str) -> Outcome:
    number, status, unreturned, refused, digest, message = line.split(" ", 5)
    return Outcome(int(number), int(status), int(unreturned), int(refused), digest, message)


def _check(outcomes: list[Outcome], right: Outcome) -> None:
    for outcome in outcomes:
        assert outcome.unreturned == 0, outcome
        if outcome.status == 0:
            assert outcome.refused > 0 or outcome.digest == right.digest, outcome
        else:
            assert outcome.status in FAILED, outcome
            assert "memory" in outcome.message, outcome
    assert sum(outcome.status in FAILED for outcome in outcomes) > len(outcomes) // 4


def _right(run: Run, packets: int) -> Outcome:
    (right,) = run("count", 0, 1, packets)
    assert (right.status, right.unreturned, right.refused) == (0, 0, 0)
    return right


@pytest.mark.long
@pytest.mark.parametrize("mode", ["once", "from"])
def test_some_allocations_fail(run: Run, mode: str) -> None:
    right = _right(run, PACKETS)
    outcomes = run(mode, 1, max(1, right.number // SOME), PACKETS)
    _check(outcomes, right)
    if mode == "once":
        assert any(outcome.message == ONE_OF_TWO for outcome in outcomes)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["once", "from"])
def test_what_is_kept_is_kept_or_counted(run_kept: Run, mode: str) -> None:
    """When a window is over no row is left that could be refused: nothing is lost by then."""
    _check(run_kept(mode, 1, KEPT_STEP, KEPT_PACKETS), _right(run_kept, KEPT_PACKETS))


@pytest.mark.long
@pytest.mark.parametrize("mode", ["once", "from"])
def test_threads_that_exchange_rows_end(run_exchanging: Run, mode: str) -> None:
    """Whichever has no memory; batches that wait for others outlive the sets that made them."""
    right = _right(run_exchanging, EXCHANGED_PACKETS)
    _check(run_exchanging(mode, 1, EXCHANGED_STEP, EXCHANGED_PACKETS), right)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["once", "from"])
def test_every_allocation_fails(run: Run, mode: str) -> None:
    """A process a slice: a busy machine takes longer, and one that hangs is ended all the same."""
    right = _right(run, FEW)
    slices = (run(mode, first, SLICES, FEW) for first in range(1, SLICES + 1))
    outcomes = [outcome for each in slices for outcome in each]
    assert len(outcomes) >= right.number
    _check(outcomes, right)
