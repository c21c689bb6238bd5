# SPDX-License-Identifier: Apache-2.0
"""A longer window that lacks rows of shorter ones is marked, though nothing of these is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.engine.events import Event
from gigastream.sessions.exchanging_session import ExchangingSession
from gigastream.sessions.replay import open_divided
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import plan_of
from tests.engine.traffic import udp_packet
from tests.strategies.files import NANOSECONDS, pcap

SECOND_NS = 10**9
SECONDS = 100
CROWDED = (39, 75)
"""In these one packet each of many hosts takes all the room."""
CROWD = 400
ROOM = Settings(max_groups=40, disorder_bytes=1500, burst=4, batch_rows=16, hash_key=(11, 13))
THREADS = Settings(max_groups=12, jobs=3, batch_rows=16)

SHORT = """DEFINE { query_name short; visibility internal; }
SELECT tb, host, count(*) AS n FROM UDP GROUP BY time AS tb, srcIP AS host"""
HEAVY = f"{SHORT} HAVING count(*) > 2"
TEXTS = SHORT.replace("srcIP", "text(srcIP)")
OTHER = """DEFINE { query_name other; visibility internal; }
SELECT tb, count(*) AS n FROM UDP GROUP BY time AS tb"""
SOME = "DEFINE { query_name some; visibility internal; } SELECT tb, n FROM short"
BOTH = "DEFINE { query_name both; visibility internal; }"
LONG = """DEFINE {{ query_name long; }}
SELECT m, sum(n) AS packets FROM {} GROUP BY tb/10 AS m"""
SLIDING = """DEFINE {{ query_name long; }}
SELECT window_end, {}sum(n) AS packets FROM short [RANGE 10, SLIDE 5, WA tb]"""

CASES = {
    "refused": f"{SHORT}; {LONG.format('short')}",
    "HAVING": f"{HEAVY}; {LONG.format('short')}",
    "selection": f"{SHORT}; {SOME} WHERE n > 2; {LONG.format('some')}",
    "union": f"{HEAVY}; {OTHER}; {SOME}; {LONG.format('some UNION other')}",
    "merge": f"{HEAVY}; {OTHER}; {SOME}; {BOTH} MERGE some.tb : other.tb FROM some, other; "
    f"{LONG.format('both')}",
    "join": f"{HEAVY}; {OTHER}; {BOTH} SELECT a.tb, a.n FROM short a, other b "
    f"WHERE a.tb = b.tb; {LONG.format('both')}",
    "groups of groups": f"{HEAVY}; {BOTH} SELECT p * 2 AS tb, sum(n) AS n FROM short "
    f"GROUP BY tb/2 AS p, host; {LONG.format('both')}",
    "top": f"{HEAVY} ORDER BY n DESC LIMIT 2; {LONG.format('short')}",
    "sampling": f"{HEAVY}; {BOTH} SELECT tb, sum(n) AS n FROM short GROUP BY tb, host "
    f"SUPERGROUP tb CLEANING_WHEN count_distinct$() > 100 CLEANING_BY TRUE; {LONG.format('both')}",
    "running": f"{HEAVY}; {BOTH} SELECT tb, running_sum(n) AS n FROM short "
    f"GROUP BY tb, host CLOSING_WHEN FALSE; {LONG.format('both')}",
    "sliding": f"{HEAVY}; {SLIDING.format('')}",
    "sliding rows": f"{HEAVY}; {SLIDING.format('count(DISTINCT host) > 0 AS d, ')}",
    "one high level": f"{TEXTS}; {LONG.format('short')}",
}

Windows = dict[str, tuple[str, bool]]
"""Each one's row, and whether that is marked."""


def _written(folder: Path, hosts: Iterable[list[int]]) -> Path:
    """Of each second the hosts of its packets."""
    packets = [
        udp_packet(second * SECOND_NS + at * (SECOND_NS // len(sources)), source, 7)
        for second, sources in enumerate(hosts)
        for at, source in enumerate(sources)
    ]
    path = folder / "capture.pcap"
    path.write_bytes(pcap(packets, magic=NANOSECONDS))
    return path


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second two hosts of six packets each, behind the crowd where there is one."""
    crowd = list(range(10, 10 + CROWD))
    hosts = ([*crowd, *[1, 2] * 6] if at in CROWDED else [1, 2] * 6 for at in range(SECONDS))
    return _written(tmp_path_factory.mktemp("crowded"), hosts)


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second one host: it is refused, or the window lacks nothing."""
    hosts = ([1 + at % 7] * 6 for at in range(SECONDS))
    return _written(tmp_path_factory.mktemp("lonely"), hosts)


def _windows(events: Iterable[Event]) -> Windows:
    found = {}
    for event in events:
        assert event.batch.row_count > 0
        for line in event.batch.csv().decode().splitlines():
            found[line.split(",")[0]] = line, event.batch.is_partial
    return found


def _alone(text: str, capture: Path, settings: Settings) -> Windows:
    with Session(plan_of(text), [FileSource("default", str(capture))], settings) as session:
        return _windows(session.batches())


def _check(text: str, capture: Path, found: Windows) -> None:
    """Windows that have less than they should are marked, and no others."""
    whole = _alone(text, capture, Settings())
    lacking = {window for window, (line, _) in found.items() if whole[window][0] != line}
    marked = {window for window, (_, is_marked) in found.items() if is_marked}
    assert lacking
    assert marked == lacking
    assert not any(is_marked for _, is_marked in whole.values())


@pytest.mark.parametrize("name", CASES)
def test_who_lacks_rows_is_marked_and_nobody_else(name: str, crowded: Path) -> None:
    found = _alone(CASES[name], crowded, ROOM)
    _check(CASES[name], crowded, found)
    assert any(not is_marked for _, is_marked in found.values())


@pytest.mark.parametrize("name", CASES)
def test_threads_mark_the_same(name: str, lonely: Path) -> None:
    plan, source = plan_of(CASES[name]), FileSource("default", str(lonely))
    with open_divided(plan, source, THREADS, extent_bytes=3000) as session:
        assert isinstance(session, ExchangingSession) == (name != "one high level")
        found = _windows(session.batches())
    _check(CASES[name], lonely, found)


@pytest.mark.parametrize("name", CASES)
def test_who_asks_for_punctuation_gets_nothing_else(name: str, crowded: Path) -> None:
    """What names a window is no batch of an output, and its bounds are no promise."""
    source, settings = FileSource("default", str(crowded)), replace(ROOM, output_punctuation=True)
    before = [-(1 << 63)]
    with Session(plan_of(CASES[name]), [source], settings) as session:
        for event in session.batches():
            assert event.batch.row_count > 0 or not event.batch.is_partial
            bounds = list(event.batch.bounds[:1])
            assert bounds >= before
            before = bounds
    assert before == [(1 << 63) - 1]
