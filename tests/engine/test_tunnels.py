# SPDX-License-Identifier: Apache-2.0
"""What an engine does of tunnels besides rows: what it counts, and what queries share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from gigastream.engine.statistics import LftaStatistics
from gigastream.settings import Settings
from tests.answers.engine import plan_of, run, source
from tests.answers.mixture import START_NS
from tests.cli.command import gigastream
from tests.strategies import frames
from tests.strategies.files import Packet, pcap
from tests.strategies.tunnels import closed, tunnelled

QUERY = "SELECT tb, count(*) AS packets FROM IP GROUP BY time/60 AS tb"
NESTED = 7


def _capture(folder: Path, data: Iterable[bytes]) -> Path:
    path = folder / "tunnels.pcap"
    path.write_bytes(pcap(Packet(START_NS + at, each) for at, each in enumerate(data)))
    return path


def _counts(path: Path, decapsulate: str, query: str = QUERY) -> LftaStatistics:
    text = f"DEFINE {{ decapsulate '{decapsulate}'; }} {query}"
    (lfta,) = run(plan_of(text), [source(path)], Settings(burst=3)).statistics.lftas
    return lfta


def _nested(depth: int) -> bytes:
    """A packet in so many others, which a host sends to be looked at for long."""
    inner = frames.ipv4(1, 2, frames.UDP, frames.udp(5, 6))
    for _ in range(depth):
        inner = frames.ipv4(3, 4, 4, inner)
    return frames.ethernet(frames.ETHERTYPE_IPV4, inner)


def test_what_is_opened_and_what_is_not_is_counted(tmp_path: Path) -> None:
    packets = [bytes(each) for each in (tunnelled() | closed()).values()]
    counts = _counts(_capture(tmp_path, packets), "all")
    assert counts.packets == len(packets)
    assert counts.opened == len(tunnelled())
    beside_a_tunnel = ("a port", "a later", "no tunnel", "a channel", "nothing")
    of_a_tunnel = [name for name in closed() if not name.startswith(beside_a_tunnel)]
    of_labels = ("a channel beside a pseudowire", "nothing behind the labels")
    assert counts.unopened == len(of_a_tunnel) + len(of_labels)
    assert counts.too_deep == 0


@pytest.mark.parametrize("depth", [1, 4, NESTED - 1, NESTED, 16])
def test_nesting_goes_as_deep_as_is_said(tmp_path: Path, depth: int) -> None:
    path = _capture(tmp_path, [_nested(n) for n in range(NESTED + 1)])
    counts = _counts(path, f"ipip:{depth}")
    assert counts.opened == NESTED
    assert counts.too_deep == max(0, NESTED - depth)
    tuples = _counts(path, f"ipip:{depth}", QUERY.replace("FROM IP", "FROM UDP")).accepted
    assert tuples == min(depth, NESTED) + 1


def test_what_is_cut_stays_what_it_was(tmp_path: Path) -> None:
    """However short, one of the packets is the packet; a frame whose IP is cut is one without."""
    whole = bytes(tunnelled()["nested"])
    path = _capture(tmp_path, [whole[:size] for size in range(34, len(whole))])
    counts = _counts(path, "all", QUERY.replace("FROM IP", "FROM PKT"))
    assert counts.accepted == len(whole) - 34
    assert 0 < counts.opened < counts.accepted
    assert counts.unopened > 0


def test_a_set_that_opens_none_counts_none(tmp_path: Path) -> None:
    path = _capture(tmp_path, [_nested(2)])
    (lfta,) = run(plan_of(QUERY), [source(path)], Settings()).statistics.lftas
    assert (lfta.opened, lfta.unopened, lfta.too_deep) == (0, 0, 0)


def test_the_account_says_what_became_of_them(tmp_path: Path) -> None:
    path = _capture(tmp_path, [_nested(n) for n in range(4)])
    text = f"DEFINE {{ decapsulate 'ipip:2'; }} {QUERY}"
    result = gigastream("run", "-e", text, "-r", path, "-o", "csv")
    assert result.code == 0
    assert "accepted 4; tunnels of 3 were opened, 1 have more inside" in result.err


def test_queries_that_open_the_same_share_the_low_level() -> None:
    def lftas(*options: str) -> int:
        head = "DEFINE {{ query_name q{}; {} }} {}"
        text = ";".join(head.format(at, option, QUERY) for at, option in enumerate(options))
        return len(plan_of(text).low)

    assert lftas("decapsulate 'gre,vxlan';", "decapsulate 'vxlan,gre';") == 1
    assert lftas("decapsulate 'gre';", "decapsulate 'vxlan,gre';", "") == 3
    assert lftas("decapsulate 'gre';", "decapsulate 'gre:2';") == 2
