# SPDX-License-Identifier: Apache-2.0
"""Repeat the papers' experiments.

    python bench/papers/run.py [NAME …] [--scale X] [--out FOLDER] [--capture FILE …]

Of each, NAME.csv, NAME.png and NAME.svg are written; verdicts.txt has a line for each claim.
docs/papers.md says what they are and what came of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))  # the parts of the benchmarks
sys.path.append(str(HERE.parent.parent))  # the product, where none is installed

from experiment import Experiment, Row, Verdict, write_csv, write_pictures  # noqa: E402
from recorded import Recorded  # noqa: E402

DEFAULT_OUT = HERE.parent.parent / "build" / "papers"


def _options(known: Mapping[str, Experiment]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Repeat the papers' experiments.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--scale", type=float, default=1.0, help="of rates and groups (1)")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="folder (build/papers)")
    parser.add_argument(
        "--capture",
        type=Path,
        action="append",
        metavar="FILE",
        help="real frames in the place of made ones; of several, all at once",
    )
    parser.add_argument("--list", action="store_true", help="name the experiments and their source")
    options = parser.parse_args()
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    if options.capture:
        options.names = options.names or [n for n in known if known[n].measure_recorded]
    made = [n for n in options.names if options.capture and not known[n].measure_recorded]
    if made:
        parser.error(f"only of packets that are made: {', '.join(made)}")
    if not 0 < options.scale <= 1:
        parser.error("a scale is above 0 and at most 1")
    return options


Measured = Callable[[Experiment], list[Row]]


def _measured(scale: float, captures: Sequence[Path]) -> Measured:
    """How an experiment is run: over packets that it makes, or those of captures."""
    if not captures:
        return lambda experiment: experiment.measure(scale)
    recorded = Recorded.read(captures)

    def measure(experiment: Experiment) -> list[Row]:
        assert experiment.measure_recorded is not None
        return experiment.measure_recorded(scale, recorded)

    return measure


def repeat(experiment: Experiment, measured: Measured, folder: Path) -> list[Verdict]:
    """Run one and write what came of it; return its verdicts."""
    rows = measured(experiment)
    write_csv(folder / f"{experiment.name}.csv", rows)
    write_pictures(folder, experiment, rows)
    return experiment.verdicts(rows)


def _repeat_all(experiments: Sequence[Experiment], measured: Measured, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for experiment in experiments:
        begun = time.monotonic()
        for verdict in repeat(experiment, measured, folder):
            told.append(f"{experiment.name}: {verdict}")
            print(told[-1], flush=True)
        took = time.monotonic() - begun
        print(f"{experiment.name}: {experiment.source}; {took:.0f} s", file=sys.stderr, flush=True)
    (folder / "verdicts.txt").write_text("\n".join(told) + "\n", encoding="utf-8")


def main() -> int:
    """The command line."""
    missing = [name for name in ("numpy", "matplotlib") if find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)} missing: pip install '.[bench]'", file=sys.stderr)
        return 1
    from experiments import EXPERIMENTS

    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    options = _options(known)
    if options.list:
        print("\n".join(f"{name}  {found.source}" for name, found in known.items()))
        return 0
    try:
        measured = _measured(options.scale, options.capture or ())
    except (OSError, ValueError) as error:
        print(f"papers: {error}", file=sys.stderr)
        return 1
    _repeat_all([known[name] for name in options.names or known], measured, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
