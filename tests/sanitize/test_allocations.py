# SPDX-License-Identifier: Apache-2.0
"""Every allocation of the engine fails once: there is an error with a sentence, or all is right."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gigastream.plan.parts import parts_of_plan
from gigastream.sessions.divided_session import why_whole
from tests.sanitize.programs import (
    HERE,
    MEMORY,
    Outcome,
    build_engine,
    build_program,
    build_query_set,
    captures_of,
    outcomes_of,
)
from tests.sanitize.query_sets import read_query_set
from tests.sanitize.tree import runtime_libraries
from tests.sanitize.worker import plan_of

PACKETS = 200
FEW = 20
"""Of which every allocation fails, some 17,000 runs: a packet more makes some hundreds."""
SOME = 200
"""Runs that the quick test makes: the first ones, and those evenly among the rest."""
KEPT_PACKETS, KEPT_STEP = 30, 7
"""Of some 3,700 runs, which are short."""
EXCHANGED_PACKETS, EXCHANGED_STEP = 60, 3
"""Of some 2,900 runs, in each of which threads take other turns."""
CUT_PACKETS, CUT_STEP = 30, 7
"""Likewise."""
SLICES = 16
FAILED = (4, 5)
"""GS_ERROR; GS_REFUSED where a source could not be opened."""
ONE_OF_TWO = "1 of 2 sets had no memory"
"""And the other has answered as if it were alone with its reader."""


Run = Callable[[str, int, int, int], list[Outcome]]
"""Of a mode, from which allocation on, by how many; how many packets."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine as one object, whose allocations can be made to fail."""
    if not runtime_libraries():
        pytest.skip("the compiler has no libasan")
    return build_engine(tmp_path_factory.mktemp("engine"), MEMORY)


@pytest.fixture(scope="module")
def program(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Engines of one thread."""
    return build_program(engine, "faults", tmp_path_factory.mktemp("program"), MEMORY)


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
    return _runs_of(build_program(engine, "exchanging", folder, MEMORY), "exchanging", folder)


@pytest.fixture(scope="module")
def run_cut(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same, and a set above them that stands alone."""
    folder = tmp_path_factory.mktemp("cut")
    return _runs_of(build_program(engine, "exchanging", folder, MEMORY), "cut", folder)


def _runs_of(program: Path, name: str, folder: Path) -> Run:
    """Runs of a query set, whose allocations fail too, over two captures."""
    query_set = build_query_set(name, folder, MEMORY)

    def runs(mode: str, first: int, step: int, packets: int) -> list[Outcome]:
        words = [str(program), str(query_set), mode, str(first), str(step)]
        words += map(str, captures_of(packets, folder))
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout[-200:] + done.stderr[-4000:]
        return outcomes_of(done.stdout)

    return runs


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


def test_these_plans_are_divided_and_one_is_cut() -> None:
    """Some nodes that cross the cut have part of the groups, and some low ones deal no rows."""
    exchanging, cut = (plan_of(read_query_set(HERE / f"{n}.gsql")) for n in ("exchanging", "cut"))
    assert why_whole(exchanging) is why_whole(cut) is None
    assert not parts_of_plan(exchanging).above
    assert parts_of_plan(cut).above
    assert {cut.nodes[at].is_low for at in parts_of_plan(cut).crossing} == {True, False}
    assert {low.is_of_parts for low in cut.low} == {True, False}


@pytest.mark.long
@pytest.mark.parametrize("mode", ["once", "from"])
def test_what_needs_all_groups_ends_with_its_parts(run_cut: Run, mode: str) -> None:
    right = _right(run_cut, CUT_PACKETS)
    _check(run_cut(mode, 1, CUT_STEP, CUT_PACKETS), right)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["once", "from"])
def test_every_allocation_fails(run: Run, mode: str) -> None:
    """A process a slice: a busy machine takes longer, and one that hangs is ended all the same."""
    right = _right(run, FEW)
    slices = (run(mode, first, SLICES, FEW) for first in range(1, SLICES + 1))
    outcomes = [outcome for each in slices for outcome in each]
    assert len(outcomes) >= right.number
    _check(outcomes, right)
