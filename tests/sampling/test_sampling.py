# SPDX-License-Identifier: Apache-2.0
"""Samples: the rows of models in Python, one answer on every path, and what each promises."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sources.files import FileSource
from tests.answers.paths import ONE_THREAD, kind_of
from tests.engine.low_level import Tuning
from tests.engine.stepping import plan_of
from tests.engine.traffic import EPOCH_NS, HOST, SECOND_NS, packet
from tests.models.bottom_k import BottomK
from tests.models.sample import Rules, Supergroup, sample
from tests.models.subset_sum import SubsetSum
from tests.strategies.files import NANOSECONDS, Packet, pcap

TEXT = """
DEFINE { query_name papers; }
SELECT tb, srcIP, sum(len) AS bytes, packet_id, ssthreshold() AS z, count_distinct$() AS n,
       sum$(len) AS all_bytes
FROM IPV4 WHERE ssample(len, 10) = TRUE
GROUP BY time/60 AS tb, srcIP, packet_id SUPERGROUP tb
HAVING ssfinal_clean(sum(len), count_distinct$()) = TRUE
CLEANING_WHEN ssdo_clean(count_distinct$()) = TRUE
CLEANING_BY ssclean_with(sum(len)) = TRUE;

DEFINE { query_name hosts; }
SELECT tb, srcIP, packet_id, len, UMAX(sum(len), ssthreshold()) AS bytes
FROM IPV4 WHERE ssample(len, 20, 7)
GROUP BY time/60 AS tb, srcIP, packet_id, len SUPERGROUP tb, srcIP
HAVING ssfinal_clean(sum(len), count_distinct$())
CLEANING_WHEN ssdo_clean(count_distinct$()) CLEANING_BY ssclean_with(sum(len));

DEFINE { query_name flows; }
SELECT tb, srcIP, destIP, fsweight(flow_weight(len, ssthreshold()), max(ssthreshold())) AS bytes
FROM IPV4 WHERE fssample(len, 10)
GROUP BY time/60 AS tb, srcIP, destIP SUPERGROUP srcIP
HAVING fsfinal_clean(flow_weight(len, ssthreshold()), max(ssthreshold()), count_distinct$())
CLEANING_WHEN ssdo_clean(count_distinct$())
CLEANING_BY fsclean_with(flow_weight(len, ssthreshold()), max(ssthreshold()));

DEFINE { query_name reservoir; }
SELECT tb, srcIP, packet_id FROM IPV4 WHERE rsample(packet_id, 20, 3)
GROUP BY time/60 AS tb, srcIP, packet_id SUPERGROUP tb, srcIP
HAVING rsclean_with(packet_id)
CLEANING_WHEN rsdo_clean(count_distinct$()) CLEANING_BY rsclean_with(packet_id);

DEFINE { query_name min_hash; }
SELECT tb, destIP, mhcount() AS hosts FROM IPV4 WHERE mhsample(destIP, 16)
GROUP BY time/60 AS tb, destIP HAVING mhclean_with(destIP)
CLEANING_WHEN mhdo_clean(count_distinct$()) CLEANING_BY mhclean_with(destIP);

DEFINE { query_name two_sizes; }
SELECT tb, packet_id FROM IPV4 WHERE mhsample(packet_id, 20) AND mhsample(packet_id, 4)
GROUP BY time/60 AS tb, packet_id HAVING mhclean_with(packet_id);

DEFINE { query_name heavy; }
SELECT tb, destIP, count(*) AS packets, local_rows() AS of_ FROM IPV4
GROUP BY time/60 AS tb, destIP
HAVING count(*) > local_rows() / 20
CLEANING_WHEN local_count(100) CLEANING_BY count(*) + min(current_bucket()) > current_bucket()
"""
Answers = dict[str, list[dict[str, Any]]]
FIRST = EPOCH_NS // SECOND_NS // 60


def traffic(seed: int = 1) -> list[Packet]:
    """Of 60 hosts the same sizes and destinations each, in two minutes; few are large."""
    chance = random.Random(seed)
    sizes = [int(min(1_000, 5 * chance.paretovariate(0.8))) for _ in range(60)]
    others = [int(chance.paretovariate(0.7)) % 200 for _ in sizes]
    found = []
    for at, (size, other) in enumerate(zip(sizes, others, strict=True)):
        for host in range(60):
            seconds = at * 2 + host / 100
            found.append(packet(seconds, source=host, other=other, payload=size))
    return found


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(TEXT)


def run(plan: Plan, folder: Path, *interfaces: list[Packet], **limits: Any) -> Answers:
    sources = []
    for at, packets in enumerate(interfaces):
        path = folder / f"{at}.pcap"
        path.write_bytes(pcap(packets, magic=NANOSECONDS))
        sources.append(FileSource(f"i{at}", str(path)))
    found: Answers = defaultdict(list)
    with Session(plan, sources, Tuning(**limits).settings()) as session:
        for event in session.batches():
            found[event.query] += event.batch.to_arrow().to_pylist()
    return found


@pytest.fixture(scope="module")
def answers(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return run(plan, tmp_path_factory.mktemp("samples"), traffic())


def lengths(packets: list[Packet]) -> list[tuple[int, int, int]]:
    """(window, host, len) of packets."""
    return [(p.timestamp_ns // SECOND_NS // 60, p.data[29], len(p.data)) for p in packets]


def subset_sum(wanted: int) -> Rules:
    """The paper's query: rows are weights."""

    def passes(each: Supergroup, _: Hashable, rows: list[float]) -> bool:
        return bool(each.state.ssfinal_clean(sum(rows), each.count))

    return Rules(
        begin=SubsetSum,
        end=SubsetSum.end,
        admits=lambda each, weight: each.state.ssample(weight, wanted),
        cleans=lambda each: each.state.ssdo_clean(each.count),
        keeps=lambda each, _, rows: each.state.ssclean_with(sum(rows)),
        passes=passes,
    )


def test_samples_are_the_same_where_packets_are_decoded_ahead(
    plan: Plan, tmp_path: Path, answers: Answers
) -> None:
    assert run(plan, tmp_path, traffic(), fast_path=False) == answers


def test_threads_are_one_for_a_sample(plan: Plan) -> None:
    """It is of rows in their order."""
    assert kind_of(plan) == ONE_THREAD


def test_the_papers_query_is_the_models(answers: Answers) -> None:
    rows = [(tb, None, at, float(size)) for at, (tb, _, size) in enumerate(lengths(traffic()))]
    expected = [
        (window, place, each.state.threshold, each.count, sum(map(sum, each.groups.values())))
        for window, _, each in sample(rows, subset_sum(10))
        for place in each.groups
    ]
    found = [(r["tb"], r["packet_id"], r["z"], r["n"], r["all_bytes"]) for r in answers["papers"]]
    assert found == expected
    assert len({row[0] for row in found}) == len({row[0] for row in rows})


def test_several_interfaces_and_steps_back_are_sampled_in_order(
    plan: Plan, tmp_path: Path, answers: Answers
) -> None:
    """What comes out of order, or in other batches, is sampled in the order of its time."""
    packets = traffic()
    for at in range(0, len(packets) - 1, 7):
        packets[at], packets[at + 1] = packets[at + 1], packets[at]
    halves = [packets[:1], packets[1:]]
    slow = run(plan, tmp_path, *halves, slack_ns=SECOND_NS, batch_rows=16)
    again = run(plan, tmp_path, *halves, slack_ns=SECOND_NS)
    assert slow == again
    by_time = sorted(packets, key=lambda p: p.timestamp_ns)
    weights = [(tb, None, at, float(size)) for at, (tb, _, size) in enumerate(lengths(by_time))]
    expected = [(w, e.state.threshold, e.count) for w, _, e in sample(weights, subset_sum(10))]
    assert sorted({(r["tb"], r["z"], r["n"]) for r in slow["papers"]}) == expected


# ---- what each promises, over 60 hosts of the same traffic, each drawn by itself ----


def near(estimates: list[float], truth: float) -> None:
    """The mean is within five of its deviations, as the estimates themselves have it."""
    mean = sum(estimates) / len(estimates)
    spread = sum((e - mean) ** 2 for e in estimates) / (len(estimates) - 1)
    assert abs(mean - truth) <= 5 * (spread / len(estimates)) ** 0.5 + 1e-6 * truth


@pytest.mark.parametrize("least", [0, 60, 100])
def test_subset_sums_are_right_on_average(answers: Answers, least: int) -> None:
    rows = [(tb, size) for tb, host, size in lengths(traffic()) if host == 0]
    for window in {tb for tb, _ in rows}:
        truth = sum(size for tb, size in rows if tb == window and size >= least)
        found: dict[Any, float] = dict.fromkeys(range(60), 0.0)
        for row in answers["hosts"]:
            if row["tb"] == window and row["len"] >= least:
                found[int(row["srcIP"]) - HOST] += row["bytes"]
        near(list(found.values()), truth)


PARTS: dict[str, Callable[[int, int], bool]] = {
    "all": lambda _at, _size: True,
    "large": lambda _at, size: size >= 100,
    "small": lambda _at, size: size < 100,
    "every_other": lambda at, _size: at % 2 == 1,
}


@pytest.mark.parametrize("part", PARTS)
def test_subset_sums_deviate_no_more_than_is_promised(part: str) -> None:
    """By the square root of threshold times sum: over 400 samples of the same rows.

    Small ones, each of which is drawn, come to 0.57 of its square: draws that hang together, or
    a threshold that is told too low, go beyond it.
    """
    sizes = [size for _, host, size in lengths(traffic()) if host == 0]
    places = {at for at, size in enumerate(sizes) if PARTS[part](at, size)}
    truth = sum(sizes[at] for at in places)
    rows = [(0, each, at, float(size)) for at, size in enumerate(sizes) for each in range(400)]
    squares, thresholds = [], []
    for _, _, each in sample(rows, subset_sum(20)):
        threshold = each.state.threshold
        found = sum(max(sizes[at], threshold) for at in places & each.groups.keys())
        squares.append((found - truth) ** 2)
        thresholds.append(threshold)
    assert sum(squares) / len(squares) <= sum(thresholds) / len(thresholds) * truth


def test_about_as_many_as_are_wanted(answers: Answers) -> None:
    counts = Counter((row["tb"], row["srcIP"]) for row in answers["hosts"])
    mean = sum(counts.values()) / len(counts)
    assert 14 <= mean <= 26
    assert max(counts.values()) < 40


def test_flows_are_right_on_average(answers: Answers) -> None:
    for window in {row["tb"] for row in answers["flows"]}:
        truth = sum(size for tb, host, size in lengths(traffic()) if host == 0 and tb == window)
        found: dict[Any, float] = defaultdict(float)
        for row in answers["flows"]:
            if row["tb"] == window:
                found[row["srcIP"]] += row["bytes"]
        near(list(found.values()), truth)


def test_a_reservoir_has_its_size_and_favours_nobody(answers: Answers) -> None:
    counts = Counter((row["tb"], row["srcIP"]) for row in answers["reservoir"])
    seen = Counter((tb, 0x0A000000 + host) for tb, host, _ in lengths(traffic()))
    assert counts == {key: min(20, n) for key, n in seen.items()}
    halves = Counter(row["packet_id"] // 60 % 2 for row in answers["reservoir"])
    near([1.0] * halves[1] + [0.0] * halves[0], 0.5)


def test_a_min_hash_has_its_size_and_counts(answers: Answers) -> None:
    for window in {tb for tb, _, _ in lengths(traffic())}:
        rows = [row for row in answers["min_hash"] if row["tb"] == window]
        truth = {p.data[30:34] for p in traffic() if p.timestamp_ns // SECOND_NS // 60 == window}
        assert len(rows) == min(16, len(truth))
        assert 0.4 * len(truth) <= rows[0]["hosts"] <= 2.5 * len(truth)


def test_two_calls_of_one_state_keep_what_the_last_has_wanted(answers: Answers) -> None:
    least: dict[int, BottomK] = {}
    for at, (tb, _, _) in enumerate(lengths(traffic())):
        least.setdefault(tb, BottomK(None, 0)).mhsample(at, 4)
    found = Counter(row["tb"] for row in answers["two_sizes"])
    assert found == dict.fromkeys(least, 4)
    assert all(least[row["tb"]].mhclean_with(row["packet_id"]) for row in answers["two_sizes"])


def test_no_heavy_hitter_is_missing(answers: Answers) -> None:
    for window in {tb for tb, _, _ in lengths(traffic())}:
        inside = [p for p in traffic() if p.timestamp_ns // SECOND_NS // 60 == window]
        truth = Counter(int.from_bytes(p.data[30:34], "big") for p in inside)
        found = {int(r["destIP"]): r["packets"] for r in answers["heavy"] if r["tb"] == window}
        lost = len(inside) / 100
        heavy = {host for host, n in truth.items() if n > len(inside) / 20 + lost}
        assert heavy <= set(found)
        assert all(truth[host] - lost <= n <= truth[host] for host, n in found.items())


# ---- bounds ----


def test_groups_beyond_max_groups_are_counted(tmp_path: Path) -> None:
    text = "SELECT tb, packet_id FROM IPV4 GROUP BY time/60 AS tb, packet_id SUPERGROUP tb"
    path = tmp_path / "some.pcap"
    path.write_bytes(pcap([packet(at / 10) for at in range(50)], magic=NANOSECONDS))
    settings = replace(Tuning().settings(), max_groups=30)
    with Session(plan_of(text), [FileSource("default", str(path))], settings) as session:
        rows = [row for e in session.batches() for row in e.batch.to_arrow().to_pylist()]
        operators = session.statistics().operators
    assert len(rows) == 30
    assert sum(each.groups_refused for each in operators) == 20
