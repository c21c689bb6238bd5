# SPDX-License-Identifier: Apache-2.0
"""Whose time packets have (OPERATORS section 2, Timestamps): theirs, the host's, or nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.cli.arguments import CommandParser
from gigastream.cli.errors import UsageError
from gigastream.cli.interfaces import properties_of, with_timestamps
from gigastream.cli.run import add_arguments
from gigastream.config import Config
from gigastream.gsql.queries import ProtocolSource
from gigastream.gsql.types import Order
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.settings import Settings, SettingsError
from gigastream.sources.files import FileSource
from gigastream.sources.live import LiveSettings, LiveSource, Source
from gigastream.timestamps import Timestamps
from tests.engine.stepping import memory_file, plan_of
from tests.live.mock_link import MS_NS, SECOND_NS, START_NS, MockLink, MockSession, frame, seconds
from tests.strategies.files import NANOSECONDS, Packet, pcap

NAMES = ("east", "west")
COUNTS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
BOTH = plan_of(COUNTS, NAMES)
TICK_NS = 100 * MS_NS
WRONG = START_NS - 3600 * SECOND_NS


def ticks(first_s: float, last_s: float) -> Iterator[int]:
    yield from range(round(first_s * SECOND_NS), round(last_s * SECOND_NS) + 1, TICK_NS)


def receive(link: MockLink, *stamps: int) -> None:
    link.receive(*map(frame, stamps))
    link.retire()


def of_link(link: MockLink, name: str, kind: Timestamps) -> LiveSource:
    source = link.source(name)
    return LiveSource(name, name, source.settings, source.ring_device, timestamps=kind)


def two(kinds: tuple[Timestamps, Timestamps], time: str) -> tuple[MockSession, list[MockLink]]:
    links = [MockLink(), MockLink()]
    sources = [of_link(*given) for given in zip(links, NAMES, kinds, strict=True)]
    return MockSession(BOTH, sources, Settings(time=time, hash_key=(1, 2))), links


def closed(session: MockSession, first_s: float, last_s: float) -> dict[int, list[int]]:
    """The seconds that came at each tick (ms) at which some did."""
    found = {}
    for now in ticks(first_s, last_s):
        session.set_clock(now)
        rows = session.rows()
        if rows:
            found[now // MS_NS] = sorted(seconds(rows).items())
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["internal", "latent"])
def test_packets_have_the_time_at_which_they_are_read(kind: Timestamps) -> None:
    """Whatever they say: none is late, or ahead; and equal where they came together."""
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    link = MockLink()
    with MockSession(plan, [of_link(link, "link", kind)], Settings()) as session:
        stamps = []
        for now, said in ((1, [WRONG, START_NS]), (2, [2 * START_NS]), (3, [0])):
            receive(link, *said)
            session.set_clock(now * SECOND_NS)
            stamps += [row[0].timestamp() - START_NS // SECOND_NS for row in session.rows()]
        assert stamps == [1, 1, 2, 3]
        counted = session.source()
        assert (counted.read, counted.decoded, counted.carried) == (4, 4, 0)


@pytest.mark.parametrize("kind", ["internal", "latent"])
@pytest.mark.parametrize("time", ["on-demand", "periodic"])
def test_time_does_not_pass_packets_that_have_been_read(kind: Timestamps, time: str) -> None:
    """Of a block that is taken burst by burst: the clock goes on meanwhile, and asks and beats."""
    link = MockLink()
    settings = Settings(time=time, burst=2, hash_key=(1, 2))
    plan = plan_of(COUNTS, ["link"])
    with MockSession(plan, [of_link(link, "link", kind)], settings) as session:
        session.set_clock(0)
        assert session.rows() == []
        receive(link, *([START_NS] * 10))
        session.set_clock(SECOND_NS)
        assert session._engine.run(4, 0)
        assert 0 < session.source().read < 10
        session.set_clock(3 * SECOND_NS)
        rows = session.rows() + session.end()
        counted = session.source()
    assert seconds(rows) == {1: 10}
    assert (counted.decoded, counted.late, counted.skew) == (10, 0, 0)


def test_a_clock_that_steps_back_does_not_take_packets_back() -> None:
    plan = plan_of("SELECT timestamp, packet_id FROM PKT", ["link"])
    link = MockLink()
    with MockSession(plan, [of_link(link, "link", "internal")], Settings()) as session:
        stamps = []
        for now, wall in ((5, 5), (6, 3), (7, 4), (9, 6)):
            receive(link, START_NS)
            session.set_clock(now * SECOND_NS, START_NS + wall * SECOND_NS)
            stamps += [row[0].timestamp() - START_NS // SECOND_NS for row in session.rows()]
        assert stamps == [5, 5, 5, 6]
        assert session.source().skew == 0


@pytest.mark.parametrize(
    ("kinds", "time", "expected"),
    [
        (("internal", "internal"), "on-demand", {1000: [(0, 2)]}),
        (("internal", "internal"), "both", {1000: [(0, 2)]}),
        (("internal", "internal"), "periodic", {1000: [(0, 2)]}),
        (("internal", "internal"), "none", {}),
        (("latent", "latent"), "none", {1000: [(0, 2)]}),
        (("latent", "internal"), "none", {}),
        (("latent", "internal"), "on-demand", {1000: [(0, 2)]}),
    ],
)
def test_a_second_is_over_when_the_clock_says_so(
    kinds: tuple[Timestamps, Timestamps], time: str, expected: dict[int, list[int]]
) -> None:
    """Of links one of which has never spoken: asked, at a heartbeat, or latent, unasked."""
    session, links = two(kinds, time)
    with session:
        session.set_clock(0)
        assert session.rows() == []
        receive(links[0], WRONG, WRONG)
        assert closed(session, 0.1, 4) == expected
        by_request = time == "on-demand" and kinds[1] == "internal"
        assert session.source(1).answered == by_request


def test_a_ring_that_holds_something_back_answers_all_the_same() -> None:
    """What has not been read will get a later time."""
    session, links = two(("internal", "internal"), "on-demand")
    with session:
        session.set_clock(100 * MS_NS)
        receive(links[0], WRONG)
        assert session.rows() == []
        links[1].receive(frame(WRONG))
        assert closed(session, 0.2, 2) == {1000: [(0, 1)]}
        links[1].retire()
        assert closed(session, 2.1, 4) == {3000: [(2, 1)]}


def test_nobody_waits_for_what_is_latent() -> None:
    """The other link goes by its packets; the latent one, which never spoke, holds nothing back."""
    session, links = two(("external", "latent"), "none")
    with session:
        session.set_clock(0)
        receive(links[0], START_NS, START_NS)
        assert session.rows() == []
        session.set_clock(1100 * MS_NS)
        receive(links[0], START_NS + 1100 * MS_NS, START_NS + 1100 * MS_NS)
        assert seconds(session.rows()) == {0: 2}


def test_a_file_may_have_the_hosts_time() -> None:
    data = pcap([Packet(at * SECOND_NS, bytes(60), 60) for at in (9, 5, 7)], magic=NANOSECONDS)
    source = FileSource("link", memory_file(data)[1], timestamps="internal")
    with MockSession(plan_of(COUNTS, ["link"]), [source], Settings()) as session:
        session.set_clock(0)
        assert seconds(session.rows()) == {0: 3}


# What is known of it when queries are bound


def planned(text: str, interfaces: dict[str, dict[str, str]]) -> Plan:
    texts = QueryTexts(inline_queries((text,)), interfaces=interfaces)
    return plan_queries(check_texts(texts).queries)


def link_of(name: str, fanout: int = 1) -> LiveSource:
    return LiveSource(name, name, LiveSettings(fanout=fanout))


SELECTION = "DEFINE {{ query_name rows; }} SELECT timestamp, len FROM {}PKT"


@pytest.mark.parametrize(
    ("sources", "table", "expected"),
    [
        ([link_of("east")], "", Order.ORDERED),
        ([link_of("east"), FileSource("west", "x")], "", Order.PROGRESSING),
        ([link_of("east"), FileSource("west", "x")], "east.", Order.ORDERED),
        ([link_of("east"), FileSource("west", "x")], "west.", Order.PROGRESSING),
        ([link_of("east"), link_of("east")], "", Order.PROGRESSING),
        ([link_of("east", fanout=2)], "", Order.PROGRESSING),
    ],
)
def test_what_comes_in_order_is_known_to(
    sources: list[Source], table: str, expected: Order
) -> None:
    """One source, stamped as it is read; several of them are not, nor are rings of one link."""
    config = Config(interfaces={"east": {"timestamps": "internal"}, "west": {"in_order": "true"}})
    interfaces = properties_of(with_timestamps(sources, config), config, Settings())
    (node,) = planned(SELECTION.format(table), interfaces).low
    assert node.order == (expected, None)


def test_a_file_says_it_of_one_interface_and_an_option_of_all() -> None:
    config = Config(interfaces={"east": {"timestamps": "latent", "role": "core"}})
    settings = Settings(timestamps="internal")
    sources = with_timestamps([link_of("east"), link_of("west", fanout=2)], config)
    assert [source.timestamps for source in sources] == ["latent", None]
    assert properties_of(sources, config, settings) == {
        "east": {"timestamps": "latent", "role": "core", "in_order": "true"},
        "west": {"timestamps": "internal"},
    }


def test_what_is_none_of_them_is_refused() -> None:
    config = Config(interfaces={"east": {"timestamps": "mine"}})
    with pytest.raises(UsageError, match=r"interface\.east: timestamps: 'mine' is none of"):
        with_timestamps([link_of("east")], config)
    with pytest.raises(SettingsError, match="the setting timestamps is"):
        Settings(timestamps="mine")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="the setting time is"):
        Settings(time="never")


def test_both_are_options() -> None:
    parser = CommandParser(prog="run")
    add_arguments(parser)
    given = parser.parse_args(["--time", "on-demand", "--timestamps", "latent"])
    assert (given.time, given.timestamps) == ("on-demand", "latent")


def test_an_interface_set_may_ask_for_it(tmp_path: Path) -> None:
    sets = tmp_path / "sets.gsql"
    sets.write_text("stamped : Equals[timestamps, internal];")
    texts = QueryTexts(
        inline_queries(("SELECT time FROM [stamped].PKT",)),
        definitions=(str(sets),),
        interfaces={"east": {"timestamps": "internal", "in_order": "true"}, "west": {}},
    )
    (query,) = check_texts(texts).queries
    (source,) = query.sources
    assert isinstance(source, ProtocolSource)
    assert source.interfaces == ("east",)
    assert source.is_in_order


# What waits in an operator of two links, or more


MERGED = "MERGE a.timestamp : b.timestamp FROM east.PKT a, west.PKT b"
FIRST_MS, NEXT_MS = 1500, 2000


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "progressing"])
@pytest.mark.parametrize(("kind", "time"), [("internal", "on-demand"), ("latent", "none")])
def test_a_merged_row_waits_for_nothing_but_its_time(
    ordered: bool, kind: Timestamps, time: str
) -> None:
    """The other link is silent. What is sorted waits until no equal time can come."""
    interfaces = {name: {"in_order": "true"} if ordered else {} for name in NAMES}
    links = [MockLink(), MockLink()]
    sources = [of_link(link, name, kind) for link, name in zip(links, NAMES, strict=True)]
    settings = Settings(time=time, hash_key=(1, 2))
    with MockSession(planned(MERGED, interfaces), sources, settings) as session:
        receive(links[0], WRONG)
        came = []
        for now in range(FIRST_MS, NEXT_MS + 1, 50):
            session.set_clock(now * MS_NS)
            came += [now] * len(session.rows())
    assert came == [FIRST_MS if ordered else FIRST_MS + 50]
