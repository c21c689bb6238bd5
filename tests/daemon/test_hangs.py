# SPDX-License-Identifier: Apache-2.0
"""Whose turn it was when a capture process hung, and when that is a reason to leave a set out."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gigastream.daemon.hangs import HANGS, Hangs
from gigastream.daemon.keeping import Silence
from gigastream.daemon.messages import AttachOrder
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.turns import Turn, TurnWord
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sources.files import FileSource
from tests.captures import DEMO_CAPTURE
from tests.waiting import wait_until

DECLARED = "uint FUN [LFTA_LEGAL] endless(uint);\n"
HEADER = """#include "gs_functions.h"
static inline uint32_t gs_function_endless_uint(uint32_t x)
{ volatile int on = 1; while (on) ; return x; }
"""


def begun(hangs: Hangs, *objects: str) -> None:
    """A process begins with sets of these objects, numbered from 1."""
    for number, path in enumerate(objects, 1):
        hangs.ordered(AttachOrder(number=number, name=path[:1], object_path=path))


def test_silence_is_what_we_have_listened_to() -> None:
    """A host that stood still for an hour says nothing of who could not speak meanwhile."""
    silence = Silence()
    for now in (101.0, 102.0):
        silence.look(now, 100.5, 1.0)
    assert silence.watched_s == 1
    silence.look(3702.0, 100.5, 1.0)
    assert silence.watched_s == 3
    silence.look(3703.0, 3702.5, 1.0)
    assert silence.watched_s == 0
    for now in (3704.0, 3705.0, 3706.5):
        silence.look(now, 3702.5, 1.0)
    assert silence.watched_s == 3.5


def test_one_that_hangs_again_and_again_is_guilty() -> None:
    """However long the processes lived: nothing is asked of the time between."""
    hangs = Hangs()
    for count in range(1, HANGS + 1):
        begun(hangs, "a.so", "b.so")
        assert hangs.ended(2) == "b"
        assert hangs.guilty == ("b" if count == HANGS else None)
    assert hangs.ended(None) is None
    assert hangs.guilty is None


@pytest.mark.parametrize("between", [1, None, 0])
def test_in_a_row(between: int | None) -> None:
    """A hang of another set, a crash, or a hang in nobody's turn begins the count anew."""
    hangs = Hangs()
    for number in (2, 2, between, 2, 2):
        begun(hangs, "a.so", "b.so")
        hangs.ended(number)
        assert hangs.guilty is None


def test_a_set_that_was_changed_begins_anew() -> None:
    hangs = Hangs()
    for path in ("b1.so", "b1.so", "b2.so", "b2.so"):
        begun(hangs, path)
        assert hangs.ended(1) == "b"
        assert hangs.guilty is None


def answers_for_ever(definitions: Path, word: TurnWord) -> None:
    """An engine with a set that does, behind one that does not."""
    texts = ("SELECT len FROM PKT", "SELECT endless(len) AS e FROM PKT")
    with Engine() as engine:
        engine.add_files([FileSource("default", str(DEMO_CAPTURE))])
        for number, text in enumerate(texts, 1):
            queries = QueryTexts((SourceFile("q", text),), definitions=(str(definitions),))
            plan = plan_queries(check_texts(queries).queries)
            turn = Turn(word, number)
            engine.attach(AttachedSet(plan, include=[definitions.parent], turn=turn))
        engine.start()
        while engine.run(1 << 18, 1000):
            pass


def test_another_process_sees_whose_turn_does_not_end(tmp_path: Path) -> None:
    """Of two sets it is the one that never returns."""
    (tmp_path / "own.gsql").write_text(DECLARED)
    (tmp_path / "own.h").write_text(HEADER)
    word = TurnWord()
    child = os.fork()
    if child == 0:
        try:
            answers_for_ever(tmp_path / "own.gsql", word)
        finally:
            os._exit(1)
    try:
        wait_until(lambda: word.number == 2, "the turn of the second set")
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_nobody_has_a_turn_when_all_have_had_theirs() -> None:
    word, seen = TurnWord(), set[int]()
    plan = plan_queries(check_texts(QueryTexts((SourceFile("q", "SELECT len FROM PKT"),))).queries)
    with Engine() as engine:
        engine.add_files([FileSource("default", str(DEMO_CAPTURE))])
        attached = AttachedSet(plan, turn=Turn(word, 7))
        engine.attach(attached)
        engine.start()
        while engine.run(100, 1000):
            seen.add(word.number)
            assert all(event.batch.row_count >= 0 for event in attached.taken())
        attached.close()
    with word.of(5):
        seen.add(word.number)
    assert seen == {0, 5}
    assert word.number == 0
