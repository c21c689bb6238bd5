# SPDX-License-Identifier: Apache-2.0
"""What twenty queries cost beside one of them, where all of them see every packet.

Of the same groups and predicates that half of the packets pass, or one in a hundred; and of five
kinds of groups, two of which have more groups than the first by far: a loop by hand says what these
cost beside it. Processor time: what else the machine does is no query's.
"""

from __future__ import annotations

from context import Bench, by_clock, speeds, time_ratio
from measure import DEFAULT_SLOTS_LOG2, PROCESSOR, Contender, loop, ours
from report import Figure
from workloads import Capture

TITLE = "Twenty queries of the same groups / one of them, processor time"
CAPTURES = ("uniform-66k",)
QUERIES = 20
KINDS = ("srcIP, destIP", "srcIP", "destIP, destPort", "srcIP, destIP, destPort", "srcIP, protocol")
LIMITS = {"half each": (5.0, 3.0), "1 % each": (5.0, 3.0), "five kinds of groups": (12.0, 8.0)}
"""By what is asked: floor and goal."""


def ask(bench: Bench) -> list[Figure]:
    """Rates, and the ratios of the times."""
    return [figure for capture in bench.captures(CAPTURES) for figure in _ask(bench, capture)]


def _ask(bench: Bench, capture: Capture) -> list[Figure]:
    sets = {what: queries_of(what) for what in LIMITS}
    contenders = {f"{what}, 20": _asked(capture, queries) for what, queries in sets.items()}
    contenders |= {f"{what}, 1": _asked(capture, queries[:1]) for what, queries in sets.items()}
    contenders["half each, 20 apart"] = _asked(capture, sets["half each"], share_groups=False)
    kinds = sets["five kinds of groups"]
    contenders["one of each kind"] = _asked(capture, kinds[: len(KINDS)])
    contenders |= {
        f"by hand, {count}": by_clock(_by_hand(capture, count), PROCESSOR) for count in (QUERIES, 1)
    }
    turns = bench.in_turn(contenders)
    ratios = [
        time_ratio(capture, turns, f"{what}, 20", f"{what}, 1", *limits)
        for what, limits in LIMITS.items()
    ]
    apart = time_ratio(capture, turns, "half each, 20", "half each, 20 apart")
    each = time_ratio(capture, turns, "five kinds of groups, 20", "one of each kind")
    hand = time_ratio(capture, turns, f"by hand, {QUERIES}", "by hand, 1")
    beside = time_ratio(capture, turns, "five kinds of groups, 20", f"by hand, {QUERIES}")
    return [*speeds(capture, turns), *ratios, apart, each, hand, beside]


def _by_hand(capture: Capture, queries: int) -> Contender:
    """The first so many of the queries of five kinds of groups."""
    return loop("kinds", capture, DEFAULT_SLOTS_LOG2, f"--queries={queries}")


def _asked(capture: Capture, queries: list[str], **settings: bool) -> Contender:
    return ours("whole_path", capture, ";\n".join(queries), clock=PROCESSOR, **settings)


def queries_of(what: str) -> list[str]:
    """Twenty, by what is asked of them (LIMITS)."""
    return [_query(number, what) for number in range(QUERIES)]


def _query(number: int, what: str) -> str:
    groups = KINDS[number % len(KINDS)] if what == "five kinds of groups" else KINDS[0]
    port = 8001 + number + (number + 1) // 7  # one in eight is of UDP
    least = 8000 + 2 * number
    where = {
        "half each": f"destPort >= {least} AND destPort < {least + 50}",
        "1 % each": f"destPort = {port}",
        "five kinds of groups": f"len > {number}",
    }[what]
    return (
        f"DEFINE {{ query_name q{number}; }} SELECT tb, {groups}, count(*) AS packets, "
        f"sum(len) AS bytes FROM TCP WHERE {where} GROUP BY time/60 AS tb, {groups}"
    )
