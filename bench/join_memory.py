# SPDX-License-Identifier: Apache-2.0
"""What a join of two links holds while time goes by: the whole product, a minute of packet time.

    python bench/joins.py memory [--seconds 60] [--rate 500000]

Each link is a pipe that a process writes packets into as they are read, so that neither files nor
rows pile up anywhere but in the join. After each turn of the engine the process's own memory
(RssAnon) and the join's account are looked at; the rows are taken and dropped.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent), str(HERE / "papers")]

from measure import anonymous_bytes  # noqa: E402
from packets import PCAP_HEADER, START_S, Traffic, records_of  # noqa: E402

from gigastream.plan import Plan, plan_queries  # noqa: E402
from gigastream.query_texts import QueryTexts, check_texts, inline_queries  # noqa: E402
from gigastream.sessions.session import Session  # noqa: E402
from gigastream.sources.files import FileSource  # noqa: E402

LINKS = ("left", "right")
SPAN_S = 10
"""Seconds of packet time that a line of the table sums up."""
STEADY = 1.05
"""The second half may hold so much more than the first, at most: how far one pipe is ahead of the
other differs from second to second, and what is held with it."""
PIPE_BYTES = 1 << 20
ROTATED_PACKETS = (7_919, 104_729)
"""Of each link, every second: who meets whom, and when, is never the same again."""
SELECT = "SELECT l.timestamp, l.srcIP, l.destIP, r.timestamp AS other FROM left.TCP l, right.TCP r"
KEYS = "l.srcIP = r.destIP AND l.destIP = r.srcIP AND l.srcPort = r.destPort"
BAND = "r.timestamp BETWEEN l.timestamp - 10000000 AND l.timestamp + 10000000"
QUERIES = {
    "equality of seconds": f"{SELECT} WHERE l.time = r.time AND {KEYS}",
    "band of 10 ms": f"{SELECT} WHERE {BAND} AND {KEYS}",
}


@dataclass(frozen=True)
class Sample:
    """What was seen when both links had come so far."""

    at_s: float
    own_bytes: int
    rows_held: int
    held_bytes: int
    rows_out: int
    """In all, as is the next."""
    refused: int


def write_packets(descriptor: int, traffic: Traffic, seconds: int, rotated: int) -> None:
    """The packets of one second again and again: only their time, and their turn, moves on."""
    records = records_of(traffic)
    times = records["nanoseconds"].copy()
    os.write(descriptor, PCAP_HEADER)
    for second in range(seconds):
        records["seconds"], records["nanoseconds"] = START_S + second, times
        left = memoryview(records.tobytes())
        while left:
            left = left[os.write(descriptor, left) :]
        records = numpy.roll(records, rotated)


@contextmanager
def link(interface: str, write: Callable[[int], None]) -> Iterator[FileSource]:
    """A pipe that a process of its own writes into."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write(writing)
        finally:  # also where nobody reads any more
            os._exit(0)
    os.close(writing)
    try:
        yield FileSource(interface, f"/dev/fd/{reading}", reading)
    finally:
        os.close(reading)
        os.waitpid(child, 0)


@contextmanager
def links(rate: int, seconds: int) -> Iterator[list[FileSource]]:
    """Both, with as many connections as packets a second: one meets one."""
    with ExitStack() as opened:
        yield [
            opened.enter_context(
                link(name, partial(write_packets, traffic=traffic, seconds=seconds, rotated=turned))
            )
            for name, turned, traffic in zip(
                LINKS,
                ROTATED_PACKETS,
                (Traffic(rate, 1, rate), Traffic(rate, 1, rate, seed=2, are_replies=True)),
                strict=True,
            )
        ]


def plan_of(query: str) -> Plan:
    texts = QueryTexts(inline_queries((query,)), interfaces={name: {} for name in LINKS})
    return plan_queries(check_texts(texts).queries)


def samples(query: str, rate: int, seconds: int) -> Iterator[Sample]:
    """One after each turn of the engine: a million packets, about a second of both links."""
    rows = 0
    with links(rate, seconds) as sources, Session(plan_of(query), sources) as session:
        for turn in session.turns():
            rows += sum(event.batch.row_count for event in turn)
            found = session.statistics()
            at_s = sum(source.read for source in found.sources) / (rate * len(LINKS))
            yield Sample(
                at_s,
                anonymous_bytes(os.getpid()),
                sum(operator.held for operator in found.operators),
                0 if found.memory is None else found.memory.held_bytes,
                rows,
                sum(operator.rows_refused for operator in found.operators),
            )


HEADER = "join                 seconds   rows held  held, MB  RssAnon, MB     rows out  refused"


def line(name: str, span: Sequence[Sample], before: int) -> str:
    """The most of everything in a span, and the rows that came out in it."""
    first = int(span[0].at_s) // SPAN_S * SPAN_S
    return (
        f"{name:20} {first:3} to {first + SPAN_S:3}"
        f" {max(each.rows_held for each in span):10,}"
        f" {max(each.held_bytes for each in span) / 1e6:9.1f}"
        f" {max(each.own_bytes for each in span) / 1e6:12.1f}"
        f" {span[-1].rows_out - before:12,} {span[-1].refused:8}"
    )


def spans(found: Sequence[Sample]) -> list[list[Sample]]:
    """Those of each ten seconds; what comes with the end of the input is left out."""
    running = [each for each in found if each.at_s < found[-1].at_s]
    numbers = sorted({int(each.at_s) // SPAN_S for each in running})
    return [[e for e in running if int(e.at_s) // SPAN_S == number] for number in numbers]


def show(name: str, found: Sequence[Sample]) -> bool:
    """A line for each ten seconds, and whether memory was steady."""
    parts, before = spans(found), 0
    for span in parts:
        print(line(name, span, before), flush=True)
        before = span[-1].rows_out
    own, held = (_growth(parts, what) for what in ("own_bytes", "held_bytes"))
    is_steady = max(own, held) <= STEADY
    verdict = "steady" if is_steady else "NOT STEADY"
    print(f"{name}: {found[-1].rows_out:,} rows; {verdict}: second half / first half:", end=" ")
    print(f"RssAnon {own:.3f}, held {held:.3f}", flush=True)
    return is_steady


def _growth(parts: Sequence[Sequence[Sample]], what: str) -> float:
    """From the first half's most to the second's; 1 where one has nothing to compare."""
    peaks = [max(getattr(each, what) for each in span) for span in parts]
    half = len(peaks) // 2
    first = max(peaks[:half], default=0)
    return max(peaks[half:]) / first if first else 1.0


def main(arguments: Sequence[str]) -> int:
    """The command line; 1: memory was not steady."""
    parser = argparse.ArgumentParser(prog="joins.py memory", description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=500_000, help="packets a second of each link")
    parser.add_argument("--seconds", type=int, default=60, help="of packet time")
    options = parser.parse_args(arguments)
    print(HEADER)
    steady = [
        show(name, list(samples(query, options.rate, options.seconds)))
        for name, query in QUERIES.items()
    ]
    return 0 if all(steady) else 1
