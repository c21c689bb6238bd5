# SPDX-License-Identifier: Apache-2.0
"""Selections at the low level: rows as packets come, punctuation when a consumer would see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.plan import Plan
from tests.engine.low_level import Tuning
from tests.engine.stepping import Call, Row, plan_of, run_steps
from tests.engine.traffic import SECOND_NS, crowd, streams
from tests.models.bounds import NEVER, Column, Vector, bounds, greatest
from tests.oracle.capture import read_bytes
from tests.oracle.packet import Packet as Tuple
from tests.oracle.packet import parse
from tests.strategies.captures import packet_lists
from tests.strategies.files import NANOSECONDS, Packet, pcap

QUERY_SET = Path(__file__).parent / "set_queries" / "selections.gsql"
SECONDS = Column(lambda time: time // SECOND_NS)
HALVES = Column(lambda time: time // (SECOND_NS // 2))
REST = Column(lambda time: time // SECOND_NS - 1_800_000_000)
TENS = Column(lambda time: time // (10 * SECOND_NS))


@dataclass(frozen=True)
class Selection:
    """A query, its temporal columns and where they stand, and what its consumers look at."""

    name: str
    protocol: str
    row: Callable[[Tuple], Row]
    columns: dict[int, Column]
    needs: tuple[Column, ...]
    where: Callable[[Tuple], bool] = lambda packet: True


SEEN = Selection(
    "seen",
    "UDP",
    lambda p: (p["time"], p["srcIP"], p["time_ms"] // 500, p["len"]),
    {0: SECONDS, 2: HALVES},
    (TENS,),
    where=lambda p: p["len"] > 60,
)
ALONE = Selection("alone", "IPV4", lambda p: (p["srcIP"], 1_800_000_000 - p["time"]), {1: REST}, ())

Token = Row | tuple[str, Vector, bool]
quickly = settings(max_examples=60)
tunings = st.builds(
    Tuning,
    disorder_bytes=st.sampled_from([0, 100, 700]),
    slack_ns=st.sampled_from([None, 0, 3 * SECOND_NS]),
    heartbeat_ns=st.sampled_from([0, SECOND_NS, 7 * SECOND_NS]),
    heartbeat_packets=st.sampled_from([0, 0, 3]),
    batch_rows=st.sampled_from([1, 3, None]),
    burst=st.sampled_from([1, 1, 64]),
    fast_path=st.booleans(),
)


@cache
def plan() -> Plan:
    return plan_of(QUERY_SET.read_text(encoding="utf-8"))


def by_definition(data: bytes, selection: Selection, tuning: Tuning) -> list[Token]:
    """A punctuation where a consumer's expression of W grows, and at each heartbeat."""
    time, beats, tokens = tuning.source_time(), tuning.heartbeats(), list[Token]()
    given: Vector = (NEVER,) * len(selection.columns)
    needs: Vector = (NEVER,) * len(selection.needs)

    def tell(promise: float, is_heartbeat: bool) -> None:
        nonlocal given, needs
        seen = bounds(selection.needs, promise)
        if seen != needs or is_heartbeat:
            now = greatest(given, bounds(selection.columns.values(), promise))
            if now != given or is_heartbeat:
                tokens.append(("bound", now, is_heartbeat))
            given = now
        needs = seen

    for record in read_bytes(data).records:
        reading = time.read(record.timestamp_ns, record.file_offset)
        tell(reading.promise, beats.before_packet(reading.high))
        layers = parse(record)
        packet = layers.as_protocol(selection.protocol) if layers else None
        if packet is not None and not reading.late and selection.where(packet):
            tokens.append(selection.row(packet))
        if beats.after_packet():
            tell(reading.promise, True)
    return [*tokens, ("bound", (float("inf"),) * len(given), False)]


def put_out(calls: Sequence[Call], selection: Selection) -> list[Token]:
    tokens, given = list[Token](), (NEVER,) * len(selection.columns)
    for out in (out for call in calls for out in call.outs if out.node == selection.name):
        tokens += out.rows
        bound = out.punctuation(tuple(selection.columns))
        if bound != given or out.is_heartbeat:
            tokens.append(("bound", bound, out.is_heartbeat))
        given = bound
    return tokens


def check(selection: Selection, tuning: Tuning, packets: list[Packet]) -> None:
    data = pcap(packets, magic=NANOSECONDS)
    calls = run_steps(plan(), [("default", data)], tuning.settings())
    assert put_out(calls, selection) == by_definition(data, selection, tuning)


@pytest.mark.parametrize("selection", [SEEN, ALONE], ids=lambda selection: selection.name)
@quickly
@given(tuning=tunings, packets=streams() | packet_lists(20))
def test_any_stream(selection: Selection, tuning: Tuning, packets: list[Packet]) -> None:
    check(selection, tuning, packets)


@pytest.mark.parametrize("selection", [SEEN, ALONE], ids=lambda selection: selection.name)
def test_thousands_of_packets(selection: Selection) -> None:
    packets = crowd(31, 3_000, hosts=50, seconds=100, back_seconds=9)
    check(selection, Tuning(disorder_bytes=3_000, burst=64), packets)
