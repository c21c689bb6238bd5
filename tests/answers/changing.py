# SPDX-License-Identifier: Apache-2.0
"""Parameters that are changed while a run is at work, in queries at random.

The rows are those of two runs, by the reference: of the one the windows before the edge, of the
other those from it on. Of a query that passes rows any row is one of the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.types import Temporal
from gigastream.plan import Plan
from gigastream.plan.operators.output import Output
from gigastream.query_texts import QueryTexts
from gigastream.sessions.changes import Firsts, holds_rows
from gigastream.sessions.edges import time_column
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import Given, cells, plan_of
from tests.answers.reference.queries import answers
from tests.answers.spelling_maker import PARAMETERS, SpellingMaker
from tests.answers.test_random import INTERFACES, Pool, sources_of
from tests.oracle.rows import text as text_of

OTHERS = {"few": "3", "many": "70", "wide": "64", "narrow": "100", "signed": "5", "part": "2.25",
          "word": "'one two'", "like": "'%T%'", "truth": "FALSE", "host": "IP_VAL'10.0.0.3'",
          "width": "20"}  # fmt: skip
"""What the parameters are changed to: windows keep their length, so that both count alike."""


class ChangingMaker(SpellingMaker):
    """Those of the queries whose rows tell their windows apart, or that pass rows."""

    def query_set(self, count: int) -> list[str]:
        """So many texts that may change."""
        found: list[str] = []
        while len(found) < count:
            found += filter(_may_change, [self._text(f"q{len(found)}")])
        return found


def _may_change(text: str) -> bool:
    try:
        old, new = (plan_of(each, interfaces=INTERFACES) for each in (text, changed(text)))
    except GsqlError:
        return False
    same = [node.schema for node in old.outputs] == [node.schema for node in new.outputs]
    return "PARAM {" in text and same and all(map(_is_told_apart, (*old.outputs, *new.outputs)))


def _is_told_apart(output: Output) -> bool:
    return not holds_rows(output) or time_column(output.schema) is not None


def changed(text: str) -> str:
    """The queries with the other values."""
    for name, (type_, value) in PARAMETERS.items():
        text = text.replace(f"{name} {type_} {value};", f"{name} {type_} {OTHERS[name]};")
    return text


def check(
    queries: Pool,
    captures: Sequence[tuple[str, bytes]],
    tuning: Settings,
    folder: Path,
    chance: Random,
) -> None:
    """Raise AssertionError where a run whose parameters change gives other rows."""
    sources, decoded = sources_of(captures, tuning, folder)
    text = changed(queries.text)
    plan = plan_of(text, interfaces=INTERFACES, definitions=queries.definitions)
    batches = chance.choice((1, 3, 10, 40))
    given, firsts = _run(queries, plan, sources, tuning, batches)
    before, after = (answers(each, decoded) for each in (queries.text, text))
    expected = dict(before)
    for output in plan.outputs:
        if output.name not in firsts:
            continue
        first, old, new = firsts[output.name], before[output.name], after[output.name]
        place = time_column(output.schema)
        if first is None or place is None:
            rows = Counter(map(tuple, given.rows.pop(output.name)))
            either = Counter(tuple(map(text_of, row)) for row in [*old.shown(), *new.shown()])
            assert not rows - either, (output.name, rows - either)
            del expected[output.name]
            continue
        sign = -1 if output.schema.columns[place].temporal is Temporal.DECREASING else 1
        edge = sign * first
        own = [row for row in old.rows if sign * row[place] < edge]
        own += [row for row in new.rows if sign * row[place] >= edge]
        expected[output.name] = replace(old, rows=own)
    assert_same_answers(expected, given, tuning, f"after {batches}", firsts, queries.text)


def _run(
    queries: Pool, plan: Plan, sources: Sequence[FileSource], tuning: Settings, batches: int
) -> tuple[Given, Firsts]:
    """The rows of a run that goes on by another plan after so many batches; its edges."""
    options = SessionOptions(include=QueryTexts((), definitions=queries.definitions).include)
    texts: dict[str, list[bytes]] = {output.name: [] for output in plan.outputs}
    firsts: Firsts = {}
    with Session(queries.plan, sources, tuning, options) as session:
        for number, event in enumerate(session.batches(), 1):
            if event.batch.row_count:
                texts[event.query].append(event.batch.csv())
            if number == batches:
                firsts = session.change(plan)
        statistics = session.statistics()
    rows = {name: cells(b"".join(text)) for name, text in texts.items()}
    return Given(rows, statistics), firsts
