# SPDX-License-Identifier: Apache-2.0
"""Requests for time go up: what a consumer wants of a column is, at the sources, a packet time."""

from __future__ import annotations

from functools import cache

import pytest

from gigastream.engine._native import ffi, lib
from gigastream.plan import Plan
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import NOTHING, Stepper, memory_file, plan_of
from tests.engine.test_hfta import FOLDER
from tests.strategies.files import NANOSECONDS, Packet, pcap

SECOND, MILLISECOND = 1_000_000_000, 1_000_000
PORTS = ("east", "west")


@cache
def plan(name: str) -> Plan:
    return plan_of((FOLDER / f"{name}.gsql").read_text(encoding="utf-8"), PORTS)


def ask(queries: object, of: Plan, name: str, column: int, value: int) -> None:
    """Want a bound of a query's column."""
    node = [node.name for node in of.nodes].index(name)
    lib.gs_attached_ask(queries.native, node, column, value)  # type: ignore[attr-defined]


def wanted(session: HighSession) -> list[tuple[int, int]]:
    """(packet time that was asked for, how often it has grown) of each port."""
    found = []
    for port in range(len(session.ports)):
        native = lib.gs_attached_port_wanted(session._queries.native, port)
        found.append((native.value, native.count))
    return found


@pytest.mark.parametrize(
    ("query_set", "name", "column", "value", "expected_ns"),
    [
        ("two_clocks", "one", 0, 7, 7 * SECOND),
        ("two_clocks", "first", 1, 7, 7 * MILLISECOND),
        ("two_clocks", "selected", 1, 7, 12 * MILLISECOND),
        ("two_clocks", "selected", 2, 7, 70 * SECOND),
        ("two_clocks", "grouped", 0, 7, 70 * SECOND),
        ("two_clocks", "grouped", 1, -1, -9 * MILLISECOND),
        ("two_clocks", "top", 1, 7, 35 * MILLISECOND),
        ("minutes", "minutes", 0, 7, 420 * SECOND),
        ("union", "tens", 0, 7, 70 * SECOND),
        ("selected", "selected", 0, 76, 80 * SECOND),
    ],
)
def test_the_value_goes_through_the_inverse(
    query_set: str, name: str, column: int, value: int, expected_ns: int
) -> None:
    """The least packet time by which the bound is reached."""
    of = plan(query_set)
    with HighSession(of, PORTS, Settings()) as session:
        ask(session._queries, of, name, column, value)
        assert wanted(session) == [(expected_ns, 1)] * len(session.ports)


def test_both_clocks_are_asked_where_either_is_enough() -> None:
    """Of one interface the seconds, which the other has promised, of both the thousandths.

    What can be met first is outstanding.
    """
    of = plan("two_clocks")
    with HighSession(of, PORTS, Settings()) as session:
        nothing = [NOTHING] * 4
        session.push("clocks", "east", None, [30, *nothing[1:]])
        ask(session._queries, of, "selected", 0, 20)
        assert wanted(session) == [(20 * MILLISECOND, 1), (20 * MILLISECOND, 2)]


@pytest.mark.parametrize("column", [2, 3, 99])
def test_what_is_no_time_is_not_asked(column: int) -> None:
    of = plan("two_clocks")
    with HighSession(of, PORTS, Settings()) as session:
        ask(session._queries, of, "grouped", column, 5)
        assert wanted(session) == [(NOTHING, 0)] * 2


@pytest.mark.parametrize("node", [2**10, 2**32 - 1])
def test_nobody_is_asked_where_there_is_no_node(node: int) -> None:
    with HighSession(plan("two_clocks"), PORTS, Settings()) as session:
        lib.gs_attached_ask(session._queries.native, node, 0, 5)
        assert wanted(session) == [(NOTHING, 0)] * 2


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 2, 2**63 - 1])
def test_what_no_packet_time_says_is_not_asked(value: int) -> None:
    of = plan("two_clocks")
    with HighSession(of, PORTS, Settings()) as session:
        for column in (0, 1):
            for name in ("one", "first", "selected", "grouped", "top"):
                ask(session._queries, of, name, column, value)
        assert wanted(session) == [(NOTHING, 0)] * len(session.ports)


def test_one_request_is_outstanding() -> None:
    """The same again, or more, or what is known already, is no news; less is."""
    of = plan("two_clocks")
    with HighSession(of, PORTS, Settings()) as session:
        for value in (5, 5, 6):
            ask(session._queries, of, "grouped", 0, value)
        assert wanted(session) == [(50 * SECOND, 1)] * 2
        for port in PORTS:
            session.push("clocks", port, None, [60, NOTHING, NOTHING, NOTHING])
        assert not list(session.batches())
        ask(session._queries, of, "grouped", 0, 6)
        assert wanted(session) == [(NOTHING, 1)] * 2
        ask(session._queries, of, "grouped", 0, 7)
        assert wanted(session) == [(70 * SECOND, 2)] * 2
        ask(session._queries, of, "grouped", 1, 61)
        assert wanted(session) == [(305 * MILLISECOND, 3)] * 2


def test_sources_note_what_they_are_asked() -> None:
    """Those of an interface that the query reads, until they have ended."""
    of = plan("minutes")
    data = pcap([Packet(at * SECOND, b"") for at in (0, 100)], magic=NANOSECONDS)
    files = [FileSource(name, memory_file(data)[1]) for name in PORTS]
    with Stepper(of, files, Settings()) as session:
        native = ffi.new("struct gs_source_statistics *")

        def noted() -> list[tuple[int, int]]:
            found = []
            for source in range(len(files)):
                lib.gs_engine_source_statistics(session._engine.native, source, native)
                found.append((native.wanted.value, native.wanted.count))
            return found

        assert noted() == [(NOTHING, 0)] * 2
        ask(session._queries, of, "minutes", 0, 7)
        assert noted() == [(420 * SECOND, 1)] * 2
        list(session.batches())
        ask(session._queries, of, "minutes", 0, 8)
        assert noted() == [(420 * SECOND, 1)] * 2


def test_a_low_level_elsewhere_is_not_asked() -> None:
    """How its clocks follow from packet time is not known here."""
    of = plan("minutes")
    with HighSession(of, PORTS, Settings(), is_low_elsewhere=True) as session:
        ask(session._queries, of, "minutes", 0, 7)
        assert wanted(session) == [(NOTHING, 0)] * 2
