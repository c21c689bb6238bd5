# SPDX-License-Identifier: Apache-2.0
"""What the groups of a sample keep, texts and values: it is given back with each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.captures import DEMO_CAPTURE
from tests.engine.low_level import Tuning
from tests.engine.stepping import plan_of
from tests.engine.traffic import EPOCH_NS, HOST
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

Rows = list[dict[str, Any]]
LEAST_MEMORY = 1 << 20


def packet(milliseconds: int, text: bytes, host: int = 0) -> Packet:
    """A UDP packet with a text."""
    content = frames.ipv4(HOST + host, HOST, frames.UDP, frames.udp(53, 5000, text))
    return Packet(EPOCH_NS + milliseconds * 10**6, frames.ethernet(frames.ETHERTYPE_IPV4, content))


def answered(text: str, packets: Sequence[Packet], folder: Path, **limits: Any) -> tuple[Rows, int]:
    """The rows of the query, and how many of the packets were refused room."""
    path = folder / "some.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    settings = replace(Tuning(burst=64, slack_ns=10**7).settings(), **limits)
    with Session(plan_of(text), [FileSource("default", str(path))], settings) as session:
        rows = [row for e in session.batches() for row in e.batch.to_arrow().to_pylist()]
        operators = session.statistics().operators
    return rows, sum(each.groups_refused for each in operators)


def many_texts(count: int) -> list[Packet]:
    """Texts of half a KiB, each from two hosts one behind the other, every hundredth from four."""
    found = []
    for at in range(count):
        text = b"%08d" % at + b"." * 500
        found += [packet(at, text, host) for host in range(2 if at % 100 else 4)]
    return found


KEEPING = """SELECT tb, t, count(DISTINCT srcIP) AS hosts, histogram(srcIP) AS by_host,
    last(UDP_data) AS text
FROM UDP GROUP BY time/60 AS tb, UDP_data AS t
CLEANING_WHEN count_distinct$() > 200 CLEANING_BY """


def test_what_is_cleaned_away_gives_its_memory_back(tmp_path: Path) -> None:
    """Of some 8 MB, in a budget of 1: those that stay have all that they met."""
    rows, refused = answered(
        KEEPING + "count(DISTINCT srcIP) <> 2",
        many_texts(6000),
        tmp_path,
        memory_bytes=LEAST_MEMORY,
    )
    assert refused == 0
    stay = [row for row in rows if row["hosts"] == 4]
    assert [int(row["t"][:8]) for row in stay] == list(range(0, 6000, 100))
    assert {row["by_host"] for row in stay} == {b"10.0.0.0=1, 10.0.0.1=1, 10.0.0.2=1, 10.0.0.3=1"}
    assert all(row["text"] == row["t"] for row in stay)
    assert len(rows) < 300


def test_what_the_budget_has_no_room_for_is_counted(tmp_path: Path) -> None:
    rows, refused = answered(
        KEEPING + "TRUE", many_texts(6000), tmp_path, memory_bytes=LEAST_MEMORY
    )
    assert 0 < len(rows) < 3000
    assert refused > 0


def test_supergroups_that_are_texts_go_on_in_the_next_window(tmp_path: Path) -> None:
    """The state of each is its own: reservoirs of two, of which each window begins anew."""
    texts = [b"one", b"", b"another, of some length", b"one "]
    packets = [packet(at * 97, texts[at % 4], at % 7) for at in range(3000)]
    text = """SELECT tb, t, packet_id FROM UDP WHERE rsample(packet_id, 2, 5)
        GROUP BY time/60 AS tb, UDP_data AS t, packet_id SUPERGROUP t
        HAVING rsclean_with(packet_id)
        CLEANING_WHEN rsdo_clean(count_distinct$()) CLEANING_BY rsclean_with(packet_id)"""
    rows, refused = answered(text, packets, tmp_path, memory_bytes=LEAST_MEMORY)
    found: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for row in rows:
        found[row["tb"], row["t"]].append(row["packet_id"])
    assert refused == 0
    assert {name for _, name in found} == set(texts)
    assert len({window for window, _ in found}) > 4
    assert {len(ids) for ids in found.values()} == {2}
    assert all(texts[at % 4] == t for (_, t), ids in found.items() for at in ids)


# ---- joins ----


def test_the_rows_of_a_join_are_sampled_by_a_query_over_it() -> None:
    text = """DEFINE { query_name pairs; visibility internal; }
        SELECT a.time, a.srcIP, a.len FROM TCP a, UDP b WHERE a.time = b.time AND a.srcIP = b.srcIP;
        DEFINE { query_name sampled; }
        SELECT tb, srcIP, sum(len) AS bytes FROM pairs WHERE ssample(len, 10)
        GROUP BY time/60 AS tb, srcIP, len HAVING ssfinal_clean(sum(len), count_distinct$())
        CLEANING_WHEN ssdo_clean(count_distinct$()) CLEANING_BY ssclean_with(sum(len))"""
    runs = [gigastream.run(text, str(DEMO_CAPTURE)) for _ in range(2)]
    one, other = ([row for batch in run for row in batch.to_pylist()] for run in runs)
    assert one == other
    assert one


# ---- functions in Python ----


@gigastream.udf
def shouted(t: pa.BinaryArray) -> pa.BinaryArray:
    return pa.array([text.upper() for text in t.to_pylist()], pa.binary())


@gigastream.udaf
def middle(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return x[(len(x) - 1) // 2]


SAMPLED = """FROM IPV4 {where} GROUP BY time/60 AS tb, protocol SUPERGROUP tb
    CLEANING_WHEN count_distinct$() > 1 CLEANING_BY count(*) > 3"""


def in_python(text: str) -> Rows:
    batches = gigastream.run(text, str(DEMO_CAPTURE), functions=[shouted, middle])
    return [row for batch in batches for row in batch.to_pylist()]


def test_functions_in_python_of_rows_and_of_groups() -> None:
    sizes, where = "array_agg(len) AS sizes", "WHERE shouted(interface) = 'DEFAULT'"
    shown = f"SELECT tb, protocol, shouted(first(interface)) AS i, middle(len) AS m, {sizes}"
    found = in_python(f"{shown} {SAMPLED.format(where=where)}")
    plain = in_python(f"SELECT tb, protocol, {sizes} {SAMPLED.format(where='')}")
    assert [(r["tb"], r["protocol"], r["sizes"]) for r in found] == [
        tuple(r.values()) for r in plain
    ]
    assert {row["i"] for row in found} == {b"DEFAULT"}
    for row in found:
        listed = row["sizes"].decode()[1:-1].split(", ")
        if "more" not in listed[-1]:
            assert row["m"] == sorted(map(int, listed))[(len(listed) - 1) // 2]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT tb, shouted(text(sum$(len))) AS t {SAMPLED.format(where='')}",
        f"SELECT tb {SAMPLED.format(where='')} AND shouted(first(interface)) = 'X'",
        f"SELECT tb {SAMPLED.format(where='WHERE shouted(text(sum$(len))) <> interface')}",
        f"SELECT tb, middle(len) AS m, sum$(len) AS s {SAMPLED.format(where='')}",
    ],
    ids=["select", "cleaning", "admission", "groups beside a superaggregate"],
)
def test_functions_in_python_know_of_no_supergroup(text: str) -> None:
    with pytest.raises(GsqlError, match="is in Python, which a sampling cannot call"):
        in_python(text)
