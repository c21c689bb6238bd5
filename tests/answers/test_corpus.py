# SPDX-License-Identifier: Apache-2.0
"""Every capture beside the checkout: rows, accounting, damage and refusals as the reference says.

corpus/refused.tsv is the whole list of captures that are not answered, each with the reason.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from captures import capture_id, captures, captures_directory

from gigastream.plan import Plan
from gigastream.settings import Settings
from gigastream.sources.files import SourceError
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import Given, plan_of, run, source
from tests.answers.reference.queries import Source, answers
from tests.oracle.query import Decoded, decode

HERE = Path(__file__).parent / "corpus"
CLASSES = ("good", "large", "ng-odd", "empty", "hostile", "broken")
SETTINGS = (
    Settings(slots=4096),
    Settings(slots=1, flush="lazy", burst=256, fast_path=False),
    Settings(slots=64, flush="immediate", burst=1, batch_rows=1),
    Settings(slots=2, flush="slow_inorder", burst=3, use_mmap=True),
    Settings(burst=256, use_mmap=True, heartbeat_packets=7),
)
"""What must not change an answer: each capture is run with one of these."""


@cache
def questions(kind: str) -> str:
    """Few of the large captures, many of the others."""
    names = ("all",) if kind == "large" else ("all", "fields")
    return ";\n".join((HERE / f"{name}.gsql").read_text() for name in names)


@cache
def plan(kind: str) -> Plan:
    return plan_of(questions(kind))


@cache
def refused() -> dict[str, str]:
    lines = (HERE / "refused.tsv").read_text().splitlines()[1:]
    return dict(line.split("\t") for line in lines)


def settings_of(capture: Path) -> Settings:
    return SETTINGS[sum(capture.name.encode()) % len(SETTINGS)]


@pytest.mark.parametrize("capture", captures(*CLASSES), ids=capture_id)
def test_a_capture(capture: Path) -> None:
    decoded = decode(capture)
    try:
        given = run(plan(capture.parent.name), [source(capture)], settings_of(capture))
    except SourceError as error:
        _, _, why = str(error).partition(": ")
        assert (capture_id(capture), why) in refused().items()
        assert decoded.capture.refusal is not None
        return
    assert capture_id(capture) not in refused()
    assert decoded.capture.refusal is None
    assert_same_answers(answers(questions(capture.parent.name), [Source(decoded)]), given)
    assert_same_account(decoded, given)


def assert_same_account(decoded: Decoded, given: Given) -> None:
    expected, (counts,) = decoded.accounting, given.statistics.sources
    assert (counts.read, counts.undecodable) == (expected.read, expected.undecodable)
    assert (counts.late, counts.decoded) == (expected.late, expected.decoded)
    assert (counts.damage is None) == (decoded.capture.damage is None), counts.damage


@pytest.mark.skipif(not captures_directory().is_dir(), reason="no captures beside the checkout")
def test_the_list_of_refused_captures_is_exact() -> None:
    assert refused().keys() <= set(map(capture_id, captures(*CLASSES)))
