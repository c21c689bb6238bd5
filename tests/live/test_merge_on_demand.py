# SPDX-License-Identifier: Apache-2.0
"""MERGE of two links that fall silent: its rows wait for time, and ask for it (OPERATORS §6)."""

from __future__ import annotations

import pytest

from gigastream.settings import Settings
from tests.engine.stepping import plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, MockLink, MockSession, frame

NAMES = ("east", "west")
MERGED = plan_of(
    "DEFINE { query_name both; visibility internal; }"
    " MERGE a.timestamp : b.timestamp FROM east.PKT a, west.PKT b;"
    " DEFINE { query_name seen; } SELECT time_ms, interface FROM both",
    NAMES,
)
TICK_MS = 50
PAIR = ["east", "west"]


def came(time: str) -> dict[int, tuple[int, list[str]]]:
    """Of packets at .1 and .2 s on both links: at which ms of the clock, and of which links."""
    links = MockLink(), MockLink()
    sources = [link.source(name) for link, name in zip(links, NAMES, strict=True)]
    found: dict[int, tuple[int, list[str]]] = {}
    with MockSession(MERGED, sources, Settings(time=time)) as session:
        for link in reversed(links):
            link.receive(*(frame(START_NS + ms * MS_NS) for ms in (100, 200)))
            link.retire()
        for now in range(0, 6_000, TICK_MS):
            session.set_clock(now * MS_NS)
            for time_ms, interface in session.rows():
                stamp = time_ms - START_NS // MS_NS
                found.setdefault(stamp, (now, []))[1].append(interface.decode())
    return found


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("on-demand", {100: (50, PAIR), 200: (150, PAIR)}),
        ("periodic", {100: (3_000, PAIR), 200: (3_000, PAIR)}),
        ("none", {}),
    ],
)
def test_when_rows_of_silent_links_leave(time: str, expected: object) -> None:
    """H, .1 s, and what has passed since, less 10 ms; or the clock, less max-skew, each second."""
    assert came(time) == expected
    assert SECOND_NS == 1_000 * MS_NS
