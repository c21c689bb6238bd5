# SPDX-License-Identifier: Apache-2.0
"""Queries that read queries that read queries: what doubles with each of them would never end.

Each chain is given to a process that has minutes for it; by paths it would take centuries.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream
from plan.planned import node, planned

from gigastream.gsql.order.inference import Monotone
from gigastream.plan.base_time import MAX_WAYS, base_times
from gigastream.plan.nodes import Node, quantities_of
from gigastream.plan.operators.low_node import LowNode
from tests.waiting import PATIENCE_S

LENGTH = 40
SECONDS = PATIENCE_S
PACKETS = "SELECT time AS t, len FROM TCP"
MINUTES = "SELECT tb, count(*) AS n FROM {} GROUP BY t/60 AS tb"

CHAINS: dict[str, Callable[[str], str]] = {
    "greater of two": lambda q: f"SELECT UMAX(t, t - 1) AS t, len FROM {q}",
    "sum": lambda q: f"SELECT (t + t)/2 AS t, len FROM {q}",
    "group": lambda q: f"SELECT t, max(len) AS len FROM {q} GROUP BY UMAX(t, t - 1) AS t",
    "union": lambda q: f"SELECT t, len FROM {q} UNION {q}",
    "merge": lambda q: f"MERGE a.t : b.t FROM {q} a, {q} b",
    "join": lambda q: f"SELECT a.t AS t, b.len FROM {q} a, {q} b WHERE a.t = b.t AND a.len < b.len",
    "join of all columns": lambda q: f"SELECT t, a.len FROM {q} a, {q} b WHERE a.t = b.t",
}


def chain(kind: str, length: int = LENGTH, first: str = PACKETS) -> str:
    """So many queries, each over the one before, and one that counts minutes."""
    texts = [f"DEFINE {{ query_name q0; visibility internal; }} {first}"]
    for n in range(1, length):
        head = f"DEFINE {{ query_name q{n}; visibility internal; }}"
        texts.append(f"{head} {CHAINS[kind](f'q{n - 1}')}")
    last = MINUTES.format(f"q{length - 1}")
    return ";\n".join([*texts, f"DEFINE {{ query_name minutes; }} {last}"])


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_long_chain_is_planned(kind: str, command: str) -> None:
    found = gigastream(command, "-e", chain(kind), seconds=SECONDS)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("kind", ["greater of two", "sum"])
def test_a_long_chain_is_answered(kind: str) -> None:
    words = "run", "-q", "-r", DEMO_CAPTURE, "-o", "csv", "-e"
    found = gigastream(*words, chain(kind), seconds=SECONDS)
    assert (found.code, found.err) == (0, "")
    assert found.lines == gigastream(*words, chain(kind, 1), seconds=SECONDS).lines


def test_of_a_long_chain_a_bound_is_computed_once_a_query() -> None:
    low = node(planned(chain("greater of two", 400)), "q0")
    assert isinstance(low, LowNode)
    (need,) = low.needs
    assert len(need.function.parts) < 1_000
    assert need.forward(180_000_000_000) == 3
    assert need.inverse(3) == 180_000_000_000


def test_what_is_shared_is_written_once() -> None:
    need = _need("greater of two")
    assert need.forward_text.startswith("b -> ")
    assert ", where #1 = max(min(floor(b/1000000000), 4294967295), " in need.forward_text
    assert len(need.forward_text) < 5_000


def test_base_times_of_a_long_chain_are_found() -> None:
    plan = planned(chain("greater of two"))
    (of_time,) = base_times(plan)[f"q{LENGTH - 1}"][0]
    assert of_time.forward(7_000_000_000) == 7


def test_times_that_are_made_alike_by_two_chains_are_one() -> None:
    other = re.sub(r"\bq(?=\d)", "p", chain("greater of two")).replace(" minutes", " others")
    text = f"{chain('greater of two')}; {other}; DEFINE {{ query_name both; }} SELECT t "
    times = base_times(planned(f"{text} FROM q{LENGTH - 1} UNION p{LENGTH - 1}"))
    assert len(times["both"][0]) == 1


def test_two_columns_of_a_union_have_no_more_ways_than_are_followed() -> None:
    texts = [
        "SELECT time + 1 AS t, time + 3 AS u FROM TCP",
        "DEFINE { query_name other; } SELECT time + 2 AS t, time + 7 AS u FROM UDP",
        "DEFINE { query_name q0; } SELECT t, u FROM query UNION other",
    ]
    for n in range(LENGTH):
        both = "UMAX(t, u) AS t, UMIN(t, u) AS u"
        texts.append(f"DEFINE {{ query_name q{n + 1}; }} SELECT {both} FROM q{n}")
    times = base_times(planned("; ".join(texts)))
    counts = [len(times[f"q{n}"][0]) for n in range(LENGTH + 1)]
    assert counts[:3] == [2, 4, 16]
    assert max(counts) <= MAX_WAYS
    assert counts[-1] == 0


def test_each_join_of_a_long_chain_is_asked_once_for_its_quantities() -> None:
    first = "SELECT t, max(len) AS len FROM TCP GROUP BY time AS t"
    plan = planned(chain("join of all columns", first=first))
    top: Node = node(plan, f"q{LENGTH - 1}")
    assert quantities_of(top) == (False, True)


def _need(kind: str) -> Monotone:
    low = node(planned(chain(kind)), "q0")
    assert isinstance(low, LowNode)
    return low.needs[0]
