# SPDX-License-Identifier: Apache-2.0
"""Whether the engine's answers are those of the reference: equal multisets of printed rows."""

from __future__ import annotations

from collections.abc import Mapping

from tests.answers.engine import Given
from tests.answers.reference.queries import Answer
from tests.oracle.query import Decoded
from tests.oracle.rows import difference


def assert_same_answers(expected: Mapping[str, Answer], given: Given, *context: object) -> None:
    """Raise AssertionError with the first differences of every output that differs."""
    outputs = {name: answer for name, answer in expected.items() if answer.is_output}
    assert outputs.keys() == given.rows.keys()
    problems = {
        name: problem
        for name, answer in outputs.items()
        if (problem := difference(answer.shown(), given.rows[name])) is not None
    }
    text = "\n".join(f"{name}:\n{problem}" for name, problem in problems.items())
    assert not problems, "\n".join([text, *map(str, context)])


def assert_same_account(decoded: Decoded, given: Given) -> None:
    """Raise AssertionError where packets of the one source are not counted as by the oracle."""
    expected, (counts,) = decoded.accounting, given.statistics.sources
    assert (counts.read, counts.undecodable) == (expected.read, expected.undecodable)
    assert (counts.late, counts.decoded) == (expected.late, expected.decoded)
    assert (counts.damage is None) == (decoded.capture.damage is None), counts.damage
