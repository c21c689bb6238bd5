# SPDX-License-Identifier: Apache-2.0
"""One budget in bytes for all that grows with the traffic: held to, measured, given back."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gigastream.engine import memory as engine_memory
from gigastream.engine.opening import BudgetError
from gigastream.engine.statistics import Statistics
from gigastream.memory import PART, budget, default_budget
from gigastream.plan import Plan
from gigastream.sessions.session import Session
from gigastream.sessions.threaded_session import ThreadedSession
from gigastream.settings import LEAST_MEMORY, Settings
from gigastream.sources.files import FileSource
from tests.engine.stepping import plan_of
from tests.engine.traffic import packet
from tests.own_memory import own_memory
from tests.strategies.files import NANOSECONDS, pcap, pcap_record

MIB = 1 << 20
KEY_BYTES = 1_400
ROWS_IN_FLIGHT = 40 * MIB
"""Batches that are being filled or written: a megabyte for each string column of a stream."""
SETTINGS = Settings(heartbeat_packets=1_000, output_punctuation=True, slack_ns=0)
KEYS = "SELECT tb, data, count(*) AS n FROM UDP GROUP BY time/60 AS tb, UDP_data AS data"
LAST = "SELECT tb, srcPort, last(UDP_data) AS data FROM UDP GROUP BY time/60 AS tb, srcPort"

VALUES = "SELECT tb, {call} AS n FROM UDP GROUP BY time/60 AS tb"


def plan(*queries: str) -> Plan:
    return plan_of(
        ";\n".join(f"DEFINE {{ query_name q{at}; }} {text}" for at, text in enumerate(queries))
    )


def written(folder: Path, name: str, minutes: int, keys: int, key_bytes: int = KEY_BYTES) -> Path:
    """A capture in which each minute has so many payloads, all of them different."""
    path = folder / name
    with path.open("wb") as file:
        file.write(pcap([], magic=NANOSECONDS))
        for minute in range(minutes):
            record = pcap_record(packet(60 * minute, payload=key_bytes), magic=NANOSECONDS)
            head, tail = record[:-key_bytes], bytes(key_bytes - 8)
            numbers = range(minute * keys, (minute + 1) * keys)
            file.writelines(head + number.to_bytes(8, "big") + tail for number in numbers)
        file.write(pcap_record(packet(60 * minutes + 2), magic=NANOSECONDS))
    return path


@dataclass
class Run:
    """What a run did."""

    memory: list[int] = field(default_factory=list)
    """Bytes of this process, at each heartbeat."""
    held: list[int] = field(default_factory=list)
    """Of the budget, at each heartbeat."""
    rows: int = 0
    partial_rows: int = 0
    statistics: Statistics = field(default_factory=lambda: Statistics((), (), ()))

    @property
    def refused(self) -> int:
        return sum(operator.groups_refused for operator in self.statistics.operators)

    @property
    def peak_bytes(self) -> int:
        assert self.statistics.memory is not None
        return self.statistics.memory.peak_bytes


def run(of: Plan, capture: Path, settings: Settings = SETTINGS) -> Run:
    found = Run()
    with Session(of, [FileSource("default", str(capture))], settings) as session:
        for event in session.batches():
            found.rows += event.batch.row_count
            found.partial_rows += event.batch.row_count * event.batch.is_partial
            if event.batch.is_heartbeat:
                found.memory.append(own_memory())
                memory = session.statistics().memory
                assert memory is not None
                found.held.append(memory.held_bytes)
        found.statistics = session.statistics()
    return found


def limited(limit_bytes: int) -> Settings:
    return Settings(
        memory_bytes=limit_bytes, heartbeat_packets=1_000, output_punctuation=True, slack_ns=0
    )


@pytest.mark.parametrize(
    ("keys", "limit"),
    [(20_000, 16 * MIB), pytest.param(300_000, 64 * MIB, marks=pytest.mark.slow)],
)
def test_long_keys_are_held_within_the_budget(tmp_path: Path, keys: int, limit: int) -> None:
    """Three queries share it; what none of them can have is refused, counted and marked."""
    capture = written(tmp_path, "keys.pcap", 1, keys)
    queries = (KEYS, KEYS.replace("time/60", "time/120") + " ORDER BY data DESC", LAST)
    before = own_memory()
    found = run(plan(*queries), capture, limited(limit))
    assert max(found.memory) - before < limit + ROWS_IN_FLIGHT
    assert limit // 2 < max(found.held) <= limit
    assert found.peak_bytes <= limit + ROWS_IN_FLIGHT, "rows on their way out are not refused"
    assert found.refused > 0
    assert found.partial_rows > 0
    by_memory = sum(operator.refused_for_memory for operator in found.statistics.operators)
    assert by_memory == found.refused


def test_what_is_measured_is_what_is_there(tmp_path: Path) -> None:
    """Groups of a known size: their keys, and not more than some of it for index and growth."""
    keys = 10_000
    found = run(plan(KEYS), written(tmp_path, "keys.pcap", 1, keys), limited(512 * MIB))
    (aggregate,) = found.statistics.operators
    assert found.refused == 0
    assert keys * KEY_BYTES < aggregate.peak_bytes < 1.5 * keys * KEY_BYTES
    assert found.rows == keys + 1


def test_a_window_that_closes_gives_its_memory_back(tmp_path: Path) -> None:
    """Each minute needs most of the budget: none is refused for the one before."""
    keys, minutes = 4_000, 6
    capture = written(tmp_path, "minutes.pcap", minutes, keys)
    found = run(plan(KEYS), capture, limited(12 * MIB))
    assert found.refused == 0
    assert found.rows == minutes * keys + 1
    assert max(found.held) > keys * KEY_BYTES
    assert found.statistics.memory is not None
    assert found.statistics.memory.held_bytes < MIB


@pytest.mark.parametrize(
    "call", ["count(DISTINCT UDP_data)", "histogram(UDP_data)", "count_diff(UDP_data)"]
)
def test_distinct_values_are_held_within_the_budget_and_leave_with_their_window(
    tmp_path: Path, call: str
) -> None:
    keys, minutes = 4_000, 3
    capture = written(tmp_path, "minutes.pcap", minutes, keys)
    whole = run(plan(VALUES.format(call=call)), capture, limited(12 * MIB))
    assert (whole.refused, whole.partial_rows) == (0, 0)
    assert max(whole.held) > keys * KEY_BYTES
    assert whole.statistics.memory is not None
    assert whole.statistics.memory.held_bytes < MIB
    cut = run(plan(VALUES.format(call=call)), capture, limited(4 * MIB))
    assert 0 < cut.refused < minutes * keys
    assert max(cut.held) <= 4 * MIB
    assert cut.partial_rows == minutes


def test_only_the_windows_that_were_refused_are_marked(tmp_path: Path) -> None:
    big, small = written(tmp_path, "big", 1, 9_000), written(tmp_path, "small", 3, 300)
    later = small.read_bytes()[24:]
    joined = tmp_path / "joined.pcap"
    first = int.from_bytes(later[:4], "little")
    at, moved = 0, bytearray(later)
    while at < len(moved):
        seconds = int.from_bytes(moved[at : at + 4], "little") - first + first + 120
        moved[at : at + 4] = seconds.to_bytes(4, "little")
        at += 16 + int.from_bytes(moved[at + 8 : at + 12], "little")
    joined.write_bytes(big.read_bytes() + moved)
    settings = replace(limited(6 * MIB), burst=64)  # few packets are of two windows
    found = run(plan(KEYS), joined, settings)
    assert 0 < found.refused < 9_000
    assert found.rows == 9_000 - found.refused + 1 + 900 + 1
    assert found.partial_rows == 9_000 - found.refused


def test_rows_that_are_sorted_are_bounded_too(tmp_path: Path) -> None:
    """ORDER BY over a query's rows: the best few of many take little, all of them are refused."""
    capture = written(tmp_path, "rows.pcap", 1, 12_000, 400)
    text = f"{KEYS} ORDER BY data DESC"
    best = run(plan(f"{text} LIMIT 5"), capture, limited(16 * MIB))
    order = next(o for o in best.statistics.operators if o.kind == "order")
    assert (best.rows, best.refused) == (6, 0)
    assert order.peak_bytes < 3 * MIB
    everything = run(plan(text), capture, limited(8 * MIB))
    order = next(o for o in everything.statistics.operators if o.kind == "order")
    assert order.refused_for_memory > 0
    assert everything.partial_rows > 0


def test_a_limit_by_count_is_no_want_of_memory(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 100)
    found = run(plan(KEYS), capture, Settings(max_groups=10))
    (aggregate,) = found.statistics.operators
    assert (aggregate.groups_refused, aggregate.refused_for_memory) == (101 - 10, 0)


def test_nothing_is_held_when_a_session_is_closed(tmp_path: Path) -> None:
    gc.collect()  # what an earlier test has left of the same budget
    capture = written(tmp_path, "keys.pcap", 1, 500)
    settings = limited(33 * MIB)
    order = plan(f"{KEYS} ORDER BY data LIMIT 3", LAST)
    with Session(order, [FileSource("default", str(capture))], settings) as session:
        next(session.batches())
        memory = session.statistics().memory
        assert memory is not None
        assert memory.held_bytes > 0
    with Session(order, [FileSource("default", str(capture))], settings) as session:
        first = session.statistics().memory
        assert first is not None
        tables = sum(lfta.held_bytes for lfta in session.statistics().lftas)
        assert first.held_bytes == tables


def test_threads_share_the_budget(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 6_000)
    parts = [[FileSource("default", str(capture))]] * 2
    settings = limited(4 * MIB)
    with ThreadedSession(plan(KEYS, LAST), parts, settings) as session:
        refused = sum(event.batch.is_partial for event in session.batches())
        statistics = session.statistics()
    assert refused > 0
    assert statistics.memory is not None
    assert statistics.memory.limit_bytes == 4 * MIB
    assert sum(o.peak_bytes for o in statistics.operators if o.kind == "aggregate") <= 4 * MIB


def test_tables_that_are_asked_for_and_do_not_fit_are_refused_before_the_first_packet(
    tmp_path: Path,
) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 1)
    settings = Settings(memory_bytes=LEAST_MEMORY, slots=1 << 20)
    with pytest.raises(BudgetError, match="more than the memory that is given") as refused:
        Session(plan(LAST.replace("last(UDP_data)", "count(*)")), _source(capture), settings)
    assert refused.value.exit_code == 2


def test_tables_begin_within_a_small_budget(tmp_path: Path) -> None:
    capture = written(tmp_path, "keys.pcap", 1, 1)
    counts = [
        f"SELECT tb, srcIP, count(*) FROM IP GROUP BY time/{n} AS tb, srcIP" for n in range(2, 22)
    ]
    with Session(plan(*counts), _source(capture), limited(LEAST_MEMORY)) as session:
        statistics = session.statistics()
    assert sum(lfta.held_bytes for lfta in statistics.lftas) <= LEAST_MEMORY // 8


def _source(capture: Path) -> list[FileSource]:
    return [FileSource("default", str(capture))]


# ---- how much there is ----


def _root(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _cases() -> Iterator[tuple[str, dict[str, str]]]:
    yield (
        "v2",
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": f"{64 * MIB}\n",
        },
    )
    yield (
        "v1",
        {
            "proc/self/cgroup": "5:cpu,memory:/a\n4:pids:/b\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{64 * MIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    yield (
        "container",
        {
            "proc/self/cgroup": "0::/../host/path\n",
            "sys/fs/cgroup/memory.max": f"{64 * MIB}\n",
        },
    )


@pytest.mark.parametrize("files", [files for _, files in _cases()], ids=[n for n, _ in _cases()])
def test_a_cgroup_bounds_the_default(tmp_path: Path, files: dict[str, str]) -> None:
    assert default_budget(_root(tmp_path, files)) == 64 * MIB // PART


LIES = {
    "no colon": (b"12\n", b"67108864\n"),
    "one colon": (b"0:/a\n", b"67108864\n"),
    "empty line": (b"\n\n", b"67108864\n"),
    "zero byte": (b"0::/a\0b\n", b"67108864\n"),
    "limit not UTF-8": (b"0::/a\n", b"\xff6\n"),
    "limit of 5,000 digits": (b"0::/a\n", b"9" * 5_000),
    "limit in other digits": (b"0::/a\n", "٦٤".encode()),
}


@pytest.mark.parametrize(("line", "limit"), LIES.values(), ids=LIES)
def test_what_the_kernel_would_not_write_says_nothing(
    tmp_path: Path, line: bytes, limit: bytes
) -> None:
    """And the lines beside it hold."""
    files = {"proc/self/cgroup": "", "sys/fs/cgroup/a/memory.max": ""}
    root = _root(tmp_path, {**files, "sys/fs/cgroup/memory/b/memory.limit_in_bytes": f"{64 * MIB}"})
    for name, content in zip(files, (line + b"5:memory:/b\n", limit), strict=True):
        (root / name).write_bytes(content)
    assert default_budget(root) == 64 * MIB // PART


def test_a_path_that_is_not_utf_8_is_a_path(tmp_path: Path) -> None:
    root = _root(tmp_path, {"proc/self/cgroup": ""})
    (root / "proc/self/cgroup").write_bytes(b"0::/\xff\n")
    _root(root / "sys/fs/cgroup" / os.fsdecode(b"\xff"), {"memory.max": str(64 * MIB)})
    assert default_budget(root) == 64 * MIB // PART
    assert budget(root).origin.endswith("/\N{REPLACEMENT CHARACTER}/memory.max)")


@pytest.mark.parametrize("limit", [0, 100])
def test_a_limit_that_is_too_small_is_named(
    tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": f"{limit}\n"}
    root = _root(tmp_path / "root", files)
    monkeypatch.setattr(engine_memory, "budget", lambda: budget(root))
    for cached in (engine_memory.default_budget, engine_memory.account):
        cached.cache_clear()
    try:
        with pytest.raises(BudgetError) as refused:
            Session(
                plan(LAST.replace("last(UDP_data)", "count(*)")),
                _source(written(tmp_path, "keys.pcap", 1, 1)),
                Settings(),
            )
    finally:
        for cached in (engine_memory.default_budget, engine_memory.account):
            cached.cache_clear()
    said = f"the memory that is given, {limit // PART} bytes: half of the cgroup's limit ({root}"
    assert f"{said}/sys/fs/cgroup/a/memory.max)" in str(refused.value)
    assert refused.value.hint is not None
    assert "--memory" in refused.value.hint


def test_without_a_cgroup_the_machine_does(tmp_path: Path) -> None:
    assert default_budget(tmp_path) > 64 * MIB
