# SPDX-License-Identifier: Apache-2.0
"""How long a row waits when nothing but its own punctuation was missing: two quiet links.

    sudo python bench/live/delay.py                     # every operator, every kind of time
    sudo python bench/live/delay.py --seconds 20 aggregate

Two cables in a network namespace of its own get ten packets a second each. Every batch of an LFTA
says when it was made, and with it what it promises; a row's punctuation is complete when the last
of the links that it waits for has promised enough. `delay` is from then until the row is in
Python's hands; `after its end` from the end of the window, or the row's own time, by the wall
clock: what the links leave open, which --time and --timestamps decide.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gigastream.engine.batch import NativeBatch
from gigastream.engine.events import Event
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.session import Session
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from gigastream.sources.live import LiveSettings, LiveSource
from gigastream.timestamps import EXTERNAL, IN_ORDER, Timestamps

LINKS = ("east", "west")
PACKETS_A_SECOND = 10
CLONE_NEWNET = 0x40000000
WINDOW_MS = 200
MS_NS = 10**6
NOTHING = -(1 << 63)
FRAME = bytes(12) + b"\x88\xb5" + bytes(46)
COUNTS = f"GROUP BY time_ms/{WINDOW_MS} AS tb"
MERGE = "DEFINE {{ query_name merged; visibility internal; }} MERGE {0}.timestamp : {1}.timestamp "
MERGE += "FROM east.PKT {0}, west.PKT {1}; DEFINE {{ query_name rows; }} "
MERGE += "SELECT timestamp, len FROM merged"


def part(link: str, what: str, rest: str = "") -> str:
    """What a join reads of a link."""
    define = f"DEFINE {{ query_name {link}_part; visibility internal; }}"
    return f"{define} SELECT tb, {what} FROM {link}.PKT {rest}; "


def joined(parts: str, what: str, how: str, rest: str = "") -> str:
    """Both links' parts by the time of their windows."""
    join = f"east_part e {how} west_part w ON e.tb = w.tb"
    return f"{parts}DEFINE {{ query_name rows; }} SELECT e.tb, {what} FROM {join} {rest}"


EAST = part("east", "count(*) AS n", COUNTS)
PACKETS = "".join(part(link, "len").replace("tb", f"time_ms/{WINDOW_MS} AS tb") for link in LINKS)
JOINS = {
    "join": joined(EAST + part("west", "count(*) AS n", COUNTS), "e.n, w.n AS m", "JOIN"),
    "left join": joined(  # nothing ever matches: every row waits for the proof
        EAST + part("west", "count(*) AS n", f"{COUNTS} HAVING count(*) > 1000"),
        *("e.n, w.n AS m", "LEFT JOIN"),
    ),
    "its count": joined(PACKETS, "count(*) AS n", "JOIN", "GROUP BY e.tb"),
}


@dataclass(frozen=True)
class Question:
    """A query, the column that says when a row may leave, and how long a value of it lasts."""

    text: str
    column: str = "tb"
    length_ns: int = WINDOW_MS * MS_NS


QUESTIONS = {
    "aggregate": Question(f"SELECT tb, count(*) AS n FROM PKT {COUNTS}"),
    "order": Question(f"SELECT tb, len, count(*) AS n FROM PKT {COUNTS}, len ORDER BY n LIMIT 3"),
    **{name: Question(text) for name, text in JOINS.items()},
    "merge": Question(MERGE.format("a", "b"), "timestamp", 1),
}
TIMES: tuple[tuple[str, Timestamps], ...] = (
    ("both", "external"),
    ("on-demand", "external"),
    ("periodic", "external"),
    ("both", "internal"),
    ("none", "latent"),
)


@dataclass
class Delays:
    """What was measured of a run (ns)."""

    question: Question
    column: Mapping[str, int]
    """By low node, where it is."""
    waits_for_equal: bool
    """A row leaves when no other of its value can come."""
    promised: dict[str, dict[int, int]] = field(default_factory=lambda: {n: {} for n in LINKS})
    """By link: the greatest bound of tb so far, and when it was given."""
    after_punctuation: list[int] = field(default_factory=list)
    after_end: list[int] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """An LFTA's batch, or rows."""
        now, wall = time.monotonic_ns(), time.time_ns()
        if event.interface is not None:
            self.promised[event.interface].setdefault(self._reached(event), event.batch.made_at_ns)
            return
        for value in values(event.batch, 0):
            self.after_punctuation.append(now - self._complete(value))
            self.after_end.append(wall - (value + 1) * self.question.length_ns)

    def _reached(self, event: Event) -> int:
        """What a link promises, or has come to with a row, where rows come in order."""
        column = self.column[event.query]
        rows = [] if self.waits_for_equal else values(event.batch, column)
        return max(event.batch.bounds[column], *rows, NOTHING)

    def _complete(self, value: int) -> int:
        """When the last link had promised that nothing of this is still to come."""
        return max(
            min(at for bound, at in given.items() if bound >= value + self.waits_for_equal)
            for given in self.promised.values()
        )


def values(batch: NativeBatch, column: int) -> list[int]:
    """A column of its rows, as the engine has it."""
    if batch.row_count == 0:
        return []
    return [int(value) for value in batch.to_arrow().column(column).cast("int64").to_pylist()]


def plan_of(text: str, kind: Timestamps) -> Plan:
    properties = {} if kind == EXTERNAL else {IN_ORDER: "true"}
    texts = QueryTexts(inline_queries((text,)), interfaces=dict.fromkeys(LINKS, properties))
    return plan_queries(check_texts(texts).queries)


def measure(question: Question, how: str, kind: Timestamps, seconds: float) -> Delays:
    """Answer a query for so long."""
    links = [LiveSource(n, n, LiveSettings(retire_ns=10 * MS_NS), timestamps=kind) for n in LINKS]
    plan, options = plan_of(question.text, kind), SessionOptions(low_taps=True)
    columns = {n.name: [c.name for c in n.schema.columns].index(question.column) for n in plan.low}
    is_ordered = question.column == "timestamp" and kind != EXTERNAL
    found = Delays(question, columns, not is_ordered)
    settings = Settings(time=how)
    end = time.monotonic() + seconds
    with Session(plan, links, settings, options) as session:
        for turn in session.turns():
            for event in turn:
                found.take(event)
            if time.monotonic() > end:
                break
    return found


def send() -> None:
    """Ten packets a second into each cable, the one between those of the other, for ever."""
    cables = []
    for name in LINKS:
        cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        cable.bind((f"{name}-near", 0))
        cables.append(cable)
    while True:
        for cable in cables:
            cable.send(FRAME)
            time.sleep(1 / PACKETS_A_SECOND / len(LINKS))


def in_namespace(run: Callable[[], None]) -> None:
    """Let it run with two cables that nobody else has."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace")
    for name in LINKS:
        words = f"ip link add {name}-near type veth peer name {name}"
        subprocess.run(words.split(), check=True)
        for end in (name, f"{name}-near"):
            subprocess.run(["sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1"], check=True)
            subprocess.run(f"ip link set {end} arp off up".split(), check=True)
    sender = os.fork()
    if sender == 0:
        send()
    try:
        run()
    finally:
        os.kill(sender, 9)
        os.waitpid(sender, 0)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=", ".join(QUESTIONS))
    parser.add_argument("--seconds", type=float, default=30.0, help="of each run (30)")
    arguments = parser.parse_args()
    in_namespace(lambda: show(arguments.operators or list(QUESTIONS), arguments.seconds))


def show(operators: list[str], seconds: float) -> None:
    print(
        "operator    time       timestamps  rows  delay: median  greatest   after its end: median"
    )
    for operator in operators:
        for how, kind in TIMES:
            found = measure(QUESTIONS[operator], how, kind, seconds)
            delays = [ns / MS_NS for ns in found.after_punctuation] or [float("nan")]
            ends = [ns / MS_NS for ns in found.after_end] or [float("nan")]
            print(
                f"{operator:11} {how:10} {kind:10} {len(delays):5}"
                f" {statistics.median(delays):10.3f} ms {max(delays):9.3f} ms"
                f" {statistics.median(ends):15.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
