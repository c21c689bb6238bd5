# SPDX-License-Identifier: Apache-2.0
"""Do the loops and the engine give the same answer? Speed means nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from build import BuildError
from context import Bench
from measure import DEFAULT_SLOTS_LOG2, RunError, run_loop, run_ours
from queries import SELECTION, TALKERS, TALKERS_TCP
from report import Figure
from workloads import SHORT_REAL, Capture

TITLE = "The same rows from every loop and from the engine (1 is yes)"
CAPTURES = ("tenth-26k", SHORT_REAL)
FOLDED = ("tuple_packets", "tuple_bytes", "checksum")
PARTIAL_LOOPS = ("direct", "reference", "duties", "libpcap", "exact", "exact_bursts")
ENGINE = (
    ("talkers", "exact", "talkers_answer", TALKERS),
    ("talkers over TCP", "inet", "talkers_answer", TALKERS_TCP),
    ("selection", "select", "selection_answer", SELECTION),
)


def ask(bench: Bench) -> list[Figure]:
    """One figure per loop and per engine query on each capture."""
    figures: list[Figure] = []
    for capture in bench.captures(CAPTURES):
        figures += _loops(capture)
        figures += _engine(capture)
    return figures


def _loops(capture: Capture) -> Iterator[Figure]:
    truth = partial(_loop_answer, "parse", capture)
    for name in PARTIAL_LOOPS:
        yield _compare(capture, f"{name} loop = plain truth", truth, name)
    read = partial(_loop_answer, "reference", capture, "--read")
    yield _compare(capture, "reference loop read = mapped", read, "reference")


def _compare(
    capture: Capture, what: str, other: Callable[[], dict[str, Any]], loop_name: str
) -> Figure:
    try:
        same = _folded(other()) == _folded(_loop_answer(loop_name, capture))
    except BuildError as error:
        return Figure(capture.name, what, None, "", 1, note=str(error))
    except RunError as error:
        return Figure(capture.name, what, None, "", 1, note=str(error), is_answer=True)
    return Figure(capture.name, what, float(same), "", 1, is_answer=True)


def _engine(capture: Capture) -> Iterator[Figure]:
    for what, loop_name, function, query in ENGINE:
        answer = partial(run_ours, function, capture, query)
        yield _compare(capture, f"engine's {what} = {loop_name} loop", answer, loop_name)


def _loop_answer(name: str, capture: Capture, *flags: str) -> dict[str, Any]:
    return run_loop(name, capture, DEFAULT_SLOTS_LOG2, "--check", *flags)


def _folded(answer: dict[str, Any]) -> tuple[int, ...]:
    return tuple(answer[name] for name in FOLDED)
