# SPDX-License-Identifier: Apache-2.0
"""Golden queries: queries/NAME.gsql, and NAME.csv or NAME.QUERY.csv for each of its outputs.

`-- from demo`, or `-- from left=mixture right=other`, names the captures (inputs.py). A new query's
csv is written by the reference, and read by a person before it is committed:

    python -m tests.answers.golden NAME
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.answers.inputs import INPUTS
from tests.answers.reference.queries import DEFAULT_INTERFACE, Answer, Source, answers
from tests.oracle.query import Decoded, decode
from tests.oracle.rows import to_csv

FOLDER = Path(__file__).parent / "queries"
NOT_ON_SPARK, NOT_STREAMED = "not on Spark", "not streamed"
OF_ONE_SOURCE = "of one source"
"""Marks what a packet of one source does not owe to those of another of the same interface."""


@dataclass(frozen=True)
class Golden:
    """A query file; `inputs` are pairs of interface and input."""

    path: Path
    text: str
    inputs: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The file's name, and its first query's."""
        return self.path.stem

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The interfaces that are read."""
        return tuple(interface for interface, _ in self.inputs)

    def is_marked(self, mark: str) -> bool:
        """True if a line says so, as `-- not streamed`."""
        return f"\n-- {mark}\n" in self.text

    def answers(self) -> dict[str, Answer]:
        """The reference's answers, internal queries left out."""
        sources = [Source(_decoded(name), interface) for interface, name in self.inputs]
        found = answers(self.text, sources, self.name)
        return {name: answer for name, answer in found.items() if answer.is_output}

    def expected(self) -> dict[str, str]:
        """The committed csv of every output."""
        paths = [self.path.with_suffix(".csv"), *FOLDER.glob(f"{self.name}.*.csv")]
        return {_output(path): path.read_bytes().decode() for path in paths if path.exists()}

    def write(self) -> None:
        """Write the csv files as the reference has them."""
        for name, answer in self.answers().items():
            suffix = ".csv" if name == self.name else f".{name}.csv"
            rows = sorted(answer.shown(), key=str)
            text = to_csv([column.name for column in answer.columns], rows)
            (FOLDER / f"{self.name}{suffix}").write_bytes(text.encode())


@cache
def _decoded(name: str) -> Decoded:
    return decode(INPUTS[name]())


def _output(path: Path) -> str:
    return path.name.removesuffix(".csv").rpartition(".")[2]


def read(path: Path) -> Golden:
    """Read a golden query."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r"^-- from (.*)$", text, re.MULTILINE)
    assert found is not None, path
    inputs = []
    for word in found[1].split():
        interface, _, name = word.rpartition("=")
        inputs.append((interface or DEFAULT_INTERFACE, name))
    return Golden(path, text, tuple(inputs))


def golden_queries(*, of_spools: bool = False, on_spark: bool = False) -> list[Golden]:
    """All of them; `of_spools`, or of several sources at once, without `-- not spooled`.

    `on_spark`, without those that are `-- not on Spark`, which refuses them. `-- not streamed`:
    Spark refuses it, or answers it otherwise, where it streams (docs/spark.md). `-- of one source`:
    of an interface that is read in parts it is another question.
    """
    found = [read(path) for path in sorted(FOLDER.glob("*.gsql"))]
    marks = ["not spooled"] * of_spools + [NOT_ON_SPARK] * on_spark
    return [golden for golden in found if not any(map(golden.is_marked, marks))]


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        read(FOLDER / f"{wanted}.gsql").write()
