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
from tests.answers.comparison import assert_same_account, assert_same_answers
from tests.answers.divided_plans import DIVIDED, outputs_by_kind, plan_of_outputs
from tests.answers.engine import checked, plan_of, run, source
from tests.answers.paths import EXCHANGING, on_every_path
from tests.answers.reference.queries import Answer, Source, answers
from tests.day import day_of_run
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
DAYS = 3
"""In so many each capture is read by several threads, or decoded ahead, once."""


@cache
def questions(kind: str) -> str:
    """Few of the large captures, many of the others."""
    names = ("all",) if kind == "large" else ("all", "fields")
    return ";\n".join((HERE / f"{name}.gsql").read_text() for name in names)


@cache
def plan(kind: str) -> Plan:
    return plan_of(questions(kind))


@cache
def divided_plan(kind: str, how: str) -> Plan:
    """What threads divide of the same: exchanging rows, or all that they can."""
    found = outputs_by_kind(plan(kind))
    kinds = (how,) if how == EXCHANGING else DIVIDED
    names = {output.name for each in kinds for output in found.get(each, [])}
    return plan_of_outputs(checked(questions(kind)), names)


@cache
def refused() -> dict[str, str]:
    lines = (HERE / "refused.tsv").read_text().splitlines()[1:]
    return dict(line.split("\t") for line in lines)


def settings_of(capture: Path) -> Settings:
    return SETTINGS[number_of(capture) % len(SETTINGS)]


def number_of(capture: Path) -> int:
    return sum(capture.name.encode())


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
    expected = answers(questions(capture.parent.name), [Source(decoded)])
    assert_same_answers(expected, given)
    assert_same_account(decoded, given)
    if (number_of(capture) + day_of_run()) % DAYS == 0:
        _check_divided(capture, decoded, expected)


def _check_divided(capture: Path, decoded: Decoded, expected: dict[str, Answer]) -> None:
    """The same by several threads, or by one where packets are decoded ahead; each has one."""
    asked = divided_plan(capture.parent.name, DIVIDED[number_of(capture) % len(DIVIDED)])
    others = on_every_path(settings_of(capture))[1:]
    settings = others[number_of(capture) // len(DIVIDED) % len(others)]
    given = run(asked, [source(capture)], settings)
    assert_same_answers({name: expected[name] for name in given.rows}, given, settings)
    assert_same_account(decoded, given)


@pytest.mark.skipif(not captures_directory().is_dir(), reason="no captures beside the checkout")
def test_the_list_of_refused_captures_is_exact() -> None:
    assert refused().keys() <= set(map(capture_id, captures(*CLASSES)))
