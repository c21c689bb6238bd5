# SPDX-License-Identifier: Apache-2.0
"""RUNNING UDAFs: states that go on from window to window, and are told that it has moved."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from tests.cli.command import gigastream
from tests.live.mock_link import SECOND_NS, START_NS, Frame, MockLink, MockSession
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap

HEADER = """
#include "gs_extension.h"

struct fading { uint64_t left, rows, windows; };

#define FADING(name, type)                                                           \\
    static inline void gs_udaf_##name##_init(void *state) { (void)state; }           \\
    static inline void gs_udaf_##name##_update(void *state, type bytes)              \\
    {                                                                                \\
        struct fading *fading = state;                                               \\
        fading->left += bytes;                                                       \\
        fading->rows++;                                                              \\
    }                                                                                \\
    static inline void gs_udaf_##name##_merge(void *state, const void *other)        \\
    {                                                                                \\
        struct fading *fading = state;                                               \\
        const struct fading *more = other;                                           \\
        fading->left += more->left;                                                  \\
        fading->rows += more->rows;                                                  \\
    }                                                                                \\
    static inline uint64_t gs_udaf_##name##_output(const void *state)                \\
    {                                                                                \\
        return ((const struct fading *)state)->left;                                 \\
    }                                                                                \\
    static inline void gs_udaf_##name##_moved(void *state, uint64_t windows)         \\
    {                                                                                \\
        struct fading *fading = state;                                               \\
        fading->left = windows > 63 ? 0 : fading->left >> windows;                   \\
        fading->windows += windows;                                                  \\
    }

FADING(fading_uint, uint32_t)
FADING(fading_above_uint, uint32_t)
FADING(fading_parts_uint, uint32_t)
FADING(whole_ullong, uint64_t)

static inline bool gs_udaf_fading_uint_valid(const void *state)
{
    return ((const struct fading *)state)->rows != 0;
}
static inline uint64_t gs_extractor_age_uint(const void *state)
{
    return ((const struct fading *)state)->windows;
}
static inline bool gs_udaf_whole_ullong_valid(const uint64_t *part) { return *part != 0; }
static inline void gs_udaf_part_uint_init(uint64_t *state) { *state = 0; }
static inline void gs_udaf_part_uint_update(uint64_t *state, uint32_t x) { *state += x; }
static inline bool gs_udaf_part_uint_full(const uint64_t *state) { return *state > 500; }
static inline uint64_t gs_udaf_part_uint_output(const uint64_t *state) { return *state; }
"""
DEFINITIONS = """
ullong UDAF [RUNNING, LFTA_LEGAL, COST LOW] fading fstring24 (uint);
ullong EXTR age fading age (uint);
ullong UDAF [RUNNING, HFTA_ONLY] fading_above fstring24 (uint);
ullong UDAF [RUNNING, SUBAGGR part, SUPERAGGR whole] fading_parts fstring24 (uint);
ullong UDAF part ullong (uint);
ullong UDAF whole fstring24 (ullong);
"""
ITEMS = "tb, srcPort, count(*) AS n, {}(len) AS left_"
GROUPS = "GROUP BY time/10 AS tb, srcPort CLOSING_WHEN {}(len) < 20"
QUERIES = ";\n".join(
    [
        f"DEFINE {{ query_name low; }} SELECT {ITEMS.format('fading')}, age(len) AS age_, "
        f"fading(len) FILTER (WHERE len % 2 = 0) AS even FROM UDP {GROUPS.format('fading')}",
        "DEFINE { query_name rows; visibility internal; } SELECT time, srcPort, len FROM UDP",
        *(
            f"DEFINE {{ query_name {name}_{source.lower()}; }} SELECT {ITEMS.format(name)} "
            f"FROM {source} {GROUPS.format(name)}"
            for name in ("fading_above", "fading_parts")
            for source in ("UDP", "rows")
        ),
    ]
)
PLAIN = ("fading_above_udp", "fading_above_rows", "fading_parts_udp", "fading_parts_rows")
Datagram = tuple[int, int, int]
"""Second, source port, length of the frame."""


def datagrams(seed: int, count: int = 400) -> list[Datagram]:
    chance, now, found = random.Random(seed), START_NS // SECOND_NS, []
    for _ in range(count):
        now += chance.choice((0, 0, 1, 2, 2, 40 if chance.random() < 0.1 else 3))
        found.append((now, chance.choice((1, 2, 3, 4 + now % 20)), 60 + chance.randrange(300)))
    return found


def frame(datagram: Datagram) -> Frame:
    second, port, length = datagram
    payload = frames.udp(port, 9, bytes(length - 42))
    data = frames.ethernet(frames.ETHERTYPE_IPV4, frames.ipv4(1, 2, frames.UDP, payload))
    return Frame(second * SECOND_NS, data, len(data))


def expected(given: Sequence[Datagram]) -> list[tuple[str, ...]]:
    """Rows of `low`: a group adds what a window has, is put out, and fades by half."""
    windows: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for second, port, length in given:
        windows[second // 10][port].append(length)
    standing: dict[int, tuple[int, int, int | None]] = {}
    found = []
    for window in range(min(windows), max(windows) + 1):
        for port in list(dict.fromkeys((*standing, *windows.get(window, {})))):
            lengths = windows[window][port] if window in windows else []
            left, age, even = standing.pop(port, (0, 0, None))
            left += sum(lengths)
            if any(length % 2 == 0 for length in lengths):
                even = (even or 0) + sum(length for length in lengths if length % 2 == 0)
            row = (window, port, len(lengths), left, age, "" if even is None else even)
            found.append(tuple(map(str, row)))
            if left >= 20:
                standing[port] = left >> 1, age + 1, None if even is None else even >> 1
    return sorted(found)


def check(folder: Path, wanted: Sequence[tuple[str, ...]]) -> None:
    """The csv files of a run are what is expected."""
    for name in ("low", *PLAIN):
        with (folder / f"{name}.csv").open(newline="") as file:
            given = sorted(map(tuple, list(csv.reader(file))[1:]))
        assert given == sorted(row if name == "low" else row[:4] for row in wanted), name


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fading")
    (folder / "fading.h").write_text(HEADER)
    (folder / "fading.gsql").write_text(DEFINITIONS)
    (folder / "queries.gsql").write_text(QUERIES)
    packets = (frame(each) for each in datagrams(1))
    path = folder / "some.pcap"
    path.write_bytes(pcap((Packet(f.timestamp_ns, f.data) for f in packets), magic=NANOSECONDS))
    return folder


def asked(files: Path) -> tuple[object, ...]:
    return "--definitions", files / "fading.gsql", files / "queries.gsql"


def test_what_explain_says(files: Path) -> None:
    done = gigastream("explain", *asked(files))
    assert done.code == 0, done.err
    said = done.out.decode()
    assert "fading(len) = since the group began, states of user" in said
    assert "age(len) = since the group began, age of states of user" in said


@pytest.mark.parametrize("slots", [1, 512])
def test_a_file(slots: int, files: Path, tmp_path: Path) -> None:
    words = ("-r", files / "some.pcap", "--slots", str(slots), "-o", f"csv:{tmp_path}")
    done = gigastream("run", *asked(files), *words)
    assert done.code == 0, done.err
    check(tmp_path, expected(datagrams(1)))


def test_a_spool_and_back(files: Path, tmp_path: Path) -> None:
    words = ("-r", files / "some.pcap", "--slots", "4", "-o", f"spool:{tmp_path / 'spool'}")
    done = gigastream("run", *asked(files), *words)
    assert done.code == 0, done.err
    words = ("--definitions", files / "fading.gsql", "-o", f"csv:{tmp_path}")
    done = gigastream("run", "--spool", tmp_path / "spool", *words)
    assert done.code == 0, done.err
    check(tmp_path, expected(datagrams(1)))


def test_a_ring(files: Path) -> None:
    """As packets come in; partial rows and batches of one row."""
    texts = QueryTexts(
        inline_queries((QUERIES,)),
        definitions=(str(files / "fading.gsql"),),
        interfaces={"link": {}},
    )
    plan, link = plan_queries(check_texts(texts).queries), MockLink(1 << 14, 8)
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in ("low", *PLAIN)}
    settings, options = Settings(batch_rows=1, slots=1), SessionOptions(include=texts.include)
    given = datagrams(2, 120)
    with MockSession(plan, [link.source()], settings, options) as session:

        def take() -> None:
            for event in session.events():
                lines = event.batch.csv().decode().splitlines()
                found[event.query] += map(tuple, csv.reader(lines))

        for each in given:
            session.set_clock(each[0] * SECOND_NS - START_NS)
            assert link.receive(frame(each)) == 1
            link.retire()
            take()
        session.finish()
        take()
    wanted = expected(given)
    assert sorted(found["low"]) == wanted
    for name in PLAIN:
        assert sorted(found[name]) == sorted(row[:4] for row in wanted), name


def test_windows_that_are_passed_over_are_told_as_a_number(files: Path, tmp_path: Path) -> None:
    start = START_NS // SECOND_NS
    given = [(start, 1, 300), (start + 260, 1, 100), (start + 5_000, 1, 60)]
    path = tmp_path / "some.pcap"
    packets = map(frame, given)
    path.write_bytes(pcap((Packet(f.timestamp_ns, f.data) for f in packets), magic=NANOSECONDS))
    query = f"DEFINE {{ query_name low; max_silence 3; }} SELECT {ITEMS.format('fading')}, "
    query += "age(len) AS age_, fading(len) FILTER (WHERE len % 2 = 0) AS even FROM UDP "
    query += "GROUP BY time/10 AS tb, srcPort CLOSING_WHEN age(len) > 600"
    words = ("--definitions", files / "fading.gsql", "-r", path, "-e", query, "-o", "csv")
    done = gigastream("run", *words)
    assert done.code == 0, done.err
    rows = [line.split(",") for line in done.out.decode().splitlines()[1:]]
    assert [row[2:] for row in rows] == [
        *(["1", "300", "0", "300"], ["0", "150", "1", "150"]),
        *(["0", "75", "2", "75"], ["0", "37", "3", "37"]),
        *(["1", "100", "26", "100"], ["0", "50", "27", "50"]),
        *(["0", "25", "28", "25"], ["0", "12", "29", "12"]),
        ["1", "60", "500", "60"],
    ]
    assert "passed over 492" in done.err
