# SPDX-License-Identifier: Apache-2.0
"""Many queries at random, by hand: `python -m tests.answers.by_hand FAMILY FIRST COUNT`.

`--on spark` asks Spark what it takes of them, `--on spark-stream` a few of them as a stream.

A pool of queries per seed, asked of a few captures under a few settings that the seed chooses too,
each in a process of its own, so that a crash is a difference like any other. The last line says how
many queries ran, of how many captures, and how many seeds found a difference.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.answers.pools import FAMILIES, check_divided, check_once, pool

CAPTURES = 3


def _check(family: str, seed: int, told: Connection) -> None:
    """Tell how many queries the pool has, then what differs, capture by capture."""
    chance = Random(f"{family} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        queries = pool(family, chance, Path(folder))
        told.send(len(queries.texts))
        for _ in range(CAPTURES):
            try:
                check_once(family, queries, chance, Path(folder))
                check_divided(family, queries, chance, Path(folder))
                told.send("")
            except Exception:  # whatever is wrong is a difference
                told.send(traceback.format_exc())


def _told_of(family: str, seed: int) -> tuple[int, list[str]]:
    """How many queries ran, and the differences."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=_check, args=(family, seed, there))
    child.start()
    there.close()
    told: list[int | str] = []
    try:
        while True:
            told.append(here.recv())
    except EOFError:
        child.join()
    if len(told) < CAPTURES + 1:
        told.append(f"the process ended with {child.exitcode}")
    count = told[0] if told and isinstance(told[0], int) else 0
    return count, [each for each in told if isinstance(each, str) and each]


@contextmanager
def _asked(where: str) -> Iterator[Callable[[str, int], tuple[int, list[str]]]]:
    """What asks the pool of a family and seed."""
    if where == "here":
        yield _told_of
        return
    from tests.answers.spark_by_hand import session, told_of

    with session() as spark:
        yield lambda family, seed: told_of(spark, family, seed, is_streamed=where != "spark")


def main() -> int:
    """1 if a seed found a difference."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("families", help="one, or several with commas", type=_known)
    options.add_argument("first", type=int, help="the first seed")
    options.add_argument("count", type=int, help="how many seeds")
    options.add_argument("--on", choices=("here", "spark", "spark-stream"), default="here")
    chosen = options.parse_args()
    queries, differing = 0, []
    with _asked(chosen.on) as ask:
        for seed in range(chosen.first, chosen.first + chosen.count):
            for family in chosen.families:
                count, differences = ask(family, seed)
                queries += count
                differing += [f"{family} {seed}"] if differences else []
                for difference in differences:
                    print(f"{family} {seed}: {difference}", flush=True)
                so_far = f"{count} queries; {queries} so far, {len(differing)} seeds differ"
                print(f"{family} {seed}: {so_far}", flush=True)
    captures = f" of {CAPTURES} captures each" if chosen.on == "here" else ""
    print(f"{queries} queries{captures}; seeds that differ: {differing}")
    return 1 if differing else 0


def _known(families: str) -> list[str]:
    found = families.split(",")
    if not set(found) <= set(FAMILIES):
        raise argparse.ArgumentTypeError(f"of {', '.join(FAMILIES)}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
