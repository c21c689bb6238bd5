# SPDX-License-Identifier: Apache-2.0
"""Ask the questions of this folder.

    python bench/run.py [QUESTION …] [--long] [--json FILE] [--out FOLDER]
    python bench/run.py --against COMMIT   # the same tree as it was then, beside this one

Everything that is compared runs in one session, in turn, on one core, with warm caches. The engine
must be built for its figures; the loops and the other tools are measured without it. A bound that
is missed is shown; only a wrong answer ends the run with 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from against import WITHOUT_PAIRS, BothTrees, tree_of
from build import HERE, BuildError
from context import Bench
from measure import PROCESSOR, WALL, RunError, pin
from ours import unavailable
from questions import QUESTIONS
from report import Figure, table, write_json
from summary import Session, write_summary
from workloads import Workloads

DEFAULT_FOLDER = Path("/tmp/gigastream-bench")
DEFAULT_OUT = HERE.parent / "build" / "bench"
REAL_PACKETS = 10_000_000


@dataclass(frozen=True)
class Size:
    """How much is measured where nothing else is said."""

    packets: int
    runs: int
    least_runs: int
    minutes: float


QUICK = Size(packets=4_000_000, runs=3, least_runs=2, minutes=10)
LONG = Size(packets=10_000_000, runs=5, least_runs=0, minutes=float("inf"))
CLOCKS = {"processor": PROCESSOR, "wall": WALL}
SLACK = 1.2
"""A question may take so much more than its share of what is left: others take less."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Gigastream beside hand-written loops.")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--long", action="store_true", help="larger captures, every run, no clock")
    parser.add_argument("--against", metavar="COMMIT", help="our rates beside those of then")
    parser.add_argument("--json", type=Path, help="append one line of JSON per figure")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="summary and pictures")
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="where captures are")
    parser.add_argument("--packets", type=int, help="of the large captures (4 M, --long 10 M)")
    parser.add_argument("--runs", type=int, help="counted runs of each contender (3, --long 5)")
    parser.add_argument("--minutes", type=float, help="for all questions (10, --long any)")
    parser.add_argument("--clock", choices=CLOCKS, default="processor", help="what is measured")
    parser.add_argument("--core", type=int, help="the core to run on, by default the last")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for another tool")
    options = parser.parse_args()
    unknown = set(options.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    return options


def _size(options: argparse.Namespace) -> Size:
    size = LONG if options.long else QUICK
    given = {name: getattr(options, name) for name in ("packets", "runs", "minutes")}
    return replace(size, **{name: value for name, value in given.items() if value is not None})


def _workloads(options: argparse.Namespace, size: Size) -> Workloads:
    """The real capture is of one length whatever the others have, unless that is given."""
    return Workloads(options.folder, size.packets, options.packets or REAL_PACKETS)


def _about(size: Size, core: int, clock: str) -> str:
    described = subprocess.run(
        ["git", "-C", str(HERE), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    commit = described.stdout.strip() or "unknown"
    packets = f"{size.packets:,} packets in the large captures"
    return (
        f"Commit {commit}, {packets}, at most {size.runs} runs of each, {clock} time, core {core}."
    )


def _bench(options: argparse.Namespace, size: Size) -> Bench:
    known = (_workloads(options, size), size.runs, options.time_limit, size.least_runs)
    clock = CLOCKS[options.clock]
    if options.against is None:
        return Bench(*known, clock=clock)
    tree, caches = tree_of(options.against, options.folder), options.folder / "caches"
    return BothTrees(*known, clock=clock, tree=tree, caches=caches)


def _ask(name: str, bench: Bench) -> list[Figure]:
    try:
        figures = QUESTIONS[name].ask(bench)
        if not isinstance(bench, BothTrees):
            return figures
        pairs = list(bench.pairs)
        bench.pairs.clear()
        return pairs
    except RunError as error:
        return [Figure("", name, None, "", 1.0, note=str(error), is_answer=True)]


def _ask_all(options: argparse.Namespace, bench: Bench, minutes: float, session: Session) -> None:
    names = options.questions or list(QUESTIONS)
    if options.against:
        names = [name for name in names if name not in WITHOUT_PAIRS]
    end = time.monotonic() + 60 * minutes
    for number, name in enumerate(names):
        now = time.monotonic()
        if now > end:
            session.not_asked.append(name)
            continue
        share = SLACK * (end - now) / (len(names) - number)
        figures = _ask(name, replace(bench, until=min(end, now + share)))
        session.titles[name], session.figures[name] = QUESTIONS[name].TITLE, figures
        print(table(QUESTIONS[name].TITLE, figures), end="\n\n", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                write_json(file, name, figures)


def _run(options: argparse.Namespace) -> int:
    size, core, missing = _size(options), pin(options.core), unavailable()
    about = _about(size, core, options.clock)
    print(f"{about} Captures in {options.folder}", file=sys.stderr)
    if missing:
        print(f"without the engine: {missing}", file=sys.stderr)
    bench = _bench(options, size)
    session = Session(f"{about} Beside {options.against}." if options.against else about)
    try:
        _ask_all(options, bench, size.minutes, session)
    finally:
        page = write_summary(options.out, session)
        print(f"which bounds hold: {page}", file=sys.stderr)
    return 1 if session.wrong else 0


def main() -> int:
    """The command line."""
    try:
        return _run(_options())
    except (BuildError, OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
