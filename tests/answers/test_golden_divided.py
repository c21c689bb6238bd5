# SPDX-License-Identifier: Apache-2.0
"""Golden queries that threads divide: the reference's rows, and the account of one thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.sessions.divided_session import DividedSession
from gigastream.sessions.exchanging_session import ExchangingSession
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.divided_plans import DIVIDED
from tests.answers.engine import cells
from tests.answers.golden_shares import Share, kinds, shares
from tests.answers.paths import (
    DOCUMENTED,
    EXCHANGING,
    JOBS,
    ONE_THREAD,
    PIECES,
    on_every_path,
    opened,
    with_one_high_level,
)
from tests.answers.test_golden import DIVIDED_STEP, GOLDEN, Variant, _rows, _variants, folder
from tests.captures import ROOT
from tests.engine.whole_runs import Told, told
from tests.oracle.rows import difference

__all__ = ["folder"]
SHARES = shares()
KEY = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
WAITED_FOR_S = 30
"""By which a busy machine has begun three threads."""
RECORD_BYTES = 60
"""Of a capture's smaller packets."""
by_share = pytest.mark.parametrize("share", SHARES, ids=str)

# How many, so that no test here is about nothing


def test_of_the_golden_queries_many_are_divided() -> None:
    found = Counter[str]()
    for share in SHARES:
        found[share.kind] += len(share.outputs)
    assert found[EXCHANGING] >= 34, found
    assert found.total() >= 92, found


def test_every_golden_query_has_a_way_to_be_read() -> None:
    """Either threads divide it, or one has to answer, for a documented reason (kind_of)."""
    found = Counter[str]()
    for (_, _, kind), outputs in kinds().items():
        found[kind] += len(outputs)
    assert found.keys() <= {*DIVIDED, ONE_THREAD}
    assert found.total() == sum(len(golden.expected()) for golden in GOLDEN)


@by_share
def test_every_thread_has_its_part(share: Share, folder: Path) -> None:
    """Of the packets; and where rows are exchanged, of the groups, whoever has read of them.

    Whose a group is, is a matter of the key: by one of chance, a thread may have none of a few.
    """
    settings, source = replace(SLOW, jobs=JOBS, hash_key=KEY), _source(share, folder)
    waited_for_s = WAITED_FOR_S if source.size > PIECES * RECORD_BYTES else 0
    with opened(share.plan, [source], settings, waited_for_s=waited_for_s) as session:
        rows = sum(event.batch.row_count for event in session.batches())
        assert isinstance(session, DividedSession)
        parts = session._counted
    read = [part.sources[0].read for part in parts]
    assert all(read) or sum(read) < PIECES, read
    if isinstance(session, ExchangingSession):
        out = [sum(operator.rows_out for operator in part.operators) for part in parts]
        assert all(out) or rows < PIECES, out


def test_reasons_are_documented() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = " ".join(text.partition("### All cores")[2].partition("\n## ")[0].split())
    assert not [words for words in DOCUMENTED.values() if words not in section]


# The rows, and the account


SLOW = Settings(slots=64, disorder_bytes=50_000, batch_rows=7)
"""Windows close while the others are read, as they do of large captures; nobody is late."""
LATE = Settings(slots=2, disorder_bytes=100, burst=3, flush="immediate")


@by_share
@pytest.mark.parametrize("base", [SLOW, LATE], ids=["slow", "late"])
def test_rows_and_account(share: Share, base: Settings, folder: Path) -> None:
    plan, source = share.plan, _source(share, folder)
    alone = told(plan, Session(plan, [source], base))
    _assert_right(share, alone, base)
    for settings in on_every_path(base)[1:]:
        assert told(plan, opened(plan, [source], settings)) == alone, settings
    if share.kind == EXCHANGING:
        many = replace(base, jobs=JOBS)
        assert told(plan, with_one_high_level(plan, source, many)) == alone


def test_packets_are_late_in_some(folder: Path) -> None:
    late = Counter[str]()
    for share in SHARES:
        found = told(share.plan, Session(share.plan, [_source(share, folder)], LATE))
        assert isinstance(found, Told)
        late[share.kind] += found.sources[0].late
    assert len(late) == len({share.kind for share in SHARES})
    assert all(late.values()), late


@pytest.mark.long
@by_share
def test_nothing_changes_a_row(share: Share, folder: Path) -> None:
    for variant in _variants("file", "mmap")[::DIVIDED_STEP]:
        _check(share, variant, folder)


@pytest.mark.slow
@by_share
def test_nothing_at_all_changes_a_row(share: Share, folder: Path) -> None:
    for variant in _variants("file", "mmap"):
        _check(share, variant, folder)


def _source(share: Share, folder: Path) -> FileSource:
    interface, name = share.source
    return FileSource(interface, str(folder / name))


def _check(share: Share, variant: Variant, folder: Path) -> None:
    for settings in (variant.settings, replace(variant.settings, disorder_bytes=50_000)):
        session = opened(share.plan, [_source(share, folder)], settings)
        _assert_right(share, told(share.plan, session), settings)


def _assert_right(share: Share, found: Told | str, settings: Settings) -> None:
    """The reference's rows, where it has left out nobody as late."""
    assert isinstance(found, Told), found
    assert found.texts.keys() == set(share.outputs)
    if found.sources[0].late:
        assert settings.disorder_bytes == LATE.disorder_bytes
        return
    for golden in GOLDEN:
        if golden.inputs != share.inputs or golden.expected().keys().isdisjoint(share.outputs):
            continue
        for name in golden.expected().keys() & set(share.outputs):
            problem = difference(_rows(golden)[name], cells(found.texts[name]))
            assert problem is None, f"{name} by {settings}:\n{problem}"
