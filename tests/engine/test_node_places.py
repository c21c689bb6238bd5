# SPDX-License-Identifier: Apache-2.0
"""Nodes of a plan that others run: what cannot be cut so is refused when the set is opened."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gigastream.engine.batch import EngineError
from gigastream.engine.node_places import NodePlaces
from gigastream.plan import Plan
from gigastream.sessions.high_session import HighSession
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import plan_of
from tests.captures import DEMO_CAPTURE
from tests.engine.divided_queries import TEXTS

TEXT = (
    "DEFINE { query_name a; visibility internal; } SELECT tb, srcIP, count(*) AS n FROM IPV4 "
    "GROUP BY time AS tb, srcIP; DEFINE { query_name b; } "
    "SELECT tb, count(*) AS k FROM a GROUP BY tb/9 AS tb"
)
NO_PORT = "batches are pushed where there is no low level"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(TEXT)


def _at(plan: Plan, name: str) -> int:
    """The number of the node whose stream has this name."""
    return next(at for at, node in enumerate(plan.nodes) if node.name == name)


def _reading(plan: Plan, places: NodePlaces, taps: Sequence[str] = (), **set_: bool) -> Session:
    source = FileSource("default", str(DEMO_CAPTURE))
    return Session(plan, [source], Settings(**set_), SessionOptions(places=places, taps=taps))


def test_a_node_that_a_set_runs_needs_what_it_reads(plan: Plan) -> None:
    low = [at for at, node in enumerate(plan.nodes) if node.is_low]
    for away in (low, [_at(plan, "a")], [*low, _at(plan, "a")]):
        with pytest.raises(EngineError, match="which it reads, is elsewhere"):
            HighSession(plan, ["default"], places=NodePlaces(elsewhere=away))
        with pytest.raises(EngineError, match="which it reads, is elsewhere"):
            _reading(plan, NodePlaces(elsewhere=away))


@pytest.mark.parametrize("low_level_only", [False, True])
def test_nothing_is_pushed_beside_an_engine(plan: Plan, low_level_only: bool) -> None:
    for at in range(len(plan.nodes)):
        with pytest.raises(EngineError, match=NO_PORT):
            _reading(plan, NodePlaces(pushed=[at]), low_level_only=low_level_only)


def test_what_is_elsewhere_is_not_tapped(plan: Plan) -> None:
    above = range(_at(plan, "a"), len(plan.nodes))
    with pytest.raises(EngineError, match="a is elsewhere, and so is its stream"):
        _reading(plan, NodePlaces(elsewhere=above), taps=["a"])


def test_a_table_of_several_queries_is_where_they_are() -> None:
    plan = plan_of(TEXTS["shared"])
    owners = {low.table_of[0] for low in plan.low if low.has_table_of_another}
    assert owners
    nodes = enumerate(plan.nodes)
    away = [at for at, node in nodes if not node.is_low or node.name in owners]
    with pytest.raises(EngineError, match="fills a table that is elsewhere"):
        _reading(plan, NodePlaces(elsewhere=away))


def test_what_is_elsewhere_may_be_asked_for_time(plan: Plan) -> None:
    from gigastream.engine._native import lib

    places = NodePlaces(elsewhere=[0], pushed=[_at(plan, "a")])
    with HighSession(plan, ["default"], places=places) as above:
        assert above.ports == (("a", "default"),)
        for node in range(len(plan.nodes) + 1):
            lib.gs_attached_ask(above._queries.native, node, 0, 1)
        lib.gs_attached_ask_for_time(above._queries.native)
        assert above.wanted() == {}
        above.end("a", "default")
        assert [event.batch.row_count for event in above.batches()] in ([], [0])
        assert above.is_answered
