# SPDX-License-Identifier: Apache-2.0
"""Ask the questions of this folder.

    python bench/run.py [QUESTION …] [--json FILE]

Everything that is compared runs in one session, in turn, on one core, with warm caches. The engine
must be built for its figures; the loops and the other tools are measured without it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TextIO

from build import BuildError
from context import Bench
from measure import pin
from ours import unavailable
from questions import QUESTIONS
from report import table, write_json
from workloads import Workloads

DEFAULT_FOLDER = Path("/tmp/gigastream-bench")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Gigastream beside hand-written loops.")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--json", type=Path, help="append one line of JSON per figure")
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="where captures are")
    parser.add_argument("--packets", type=int, default=10_000_000, help="of the large captures")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each contender")
    parser.add_argument("--core", type=int, help="the core to run on, by default the last")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for another tool")
    options = parser.parse_args()
    unknown = set(options.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    return options


def _ask_all(bench: Bench, names: list[str], json_file: TextIO | None) -> None:
    for name in names:
        figures = QUESTIONS[name].ask(bench)
        print(table(QUESTIONS[name].TITLE, figures), end="\n\n", flush=True)
        if json_file:
            write_json(json_file, name, figures)


def _run(options: argparse.Namespace) -> None:
    core = pin(options.core)
    missing = unavailable()
    print(f"core {core}, {options.runs} runs, captures in {options.folder}", file=sys.stderr)
    if missing:
        print(f"without the engine: {missing}", file=sys.stderr)
    bench = Bench(Workloads(options.folder, options.packets), options.runs, options.time_limit)
    names = options.questions or list(QUESTIONS)
    if options.json is None:
        _ask_all(bench, names, None)
        return
    with options.json.open("a", encoding="utf-8") as file:
        _ask_all(bench, names, file)


def main() -> int:
    """The command line."""
    try:
        _run(_options())
    except (BuildError, OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
