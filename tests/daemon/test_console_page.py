# SPDX-License-Identifier: Apache-2.0
"""The console's page in Chromium, with a real daemon on a real cable behind it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.daemon.consoles import browser, console
from tests.daemon.resident import Daemon, end, started
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]
TALKERS = (
    "DEFINE { query_name talkers; } "
    "SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes FROM IP "
    "GROUP BY time AS tb, srcIP ORDER BY bytes DESC LIMIT 5"
)
MINUTES = (
    "SELECT second, vlan, count(*) AS packets FROM ETH "
    "GROUP BY time_bucket('1 s', timestamp) AS second, vlan"
)
PATIENCE_MS = 1000 * PATIENCE_S
THE_ACCOUNT_ADDS_UP = """() => [...document.querySelectorAll("#links tr")].slice(1).every((line) => {
  const [received, ...terms] = [...line.cells].slice(3).map((cell) => Number(cell.textContent.replaceAll(",", "")));
  return received > 1000 && terms.length === 7 && received === terms.reduce((sum, term) => sum + term, 0);
})"""  # noqa: E501

FIGURES = """() => {
  const cells = [$("links").rows[1]?.cells[3], $("sets").rows[1]?.cells[1]];
  return cells.every(Boolean) && cells.map((cell) => Number(cell.textContent.replaceAll(",", "")));
}"""


@dataclass
class Shown:
    """A page, and what its browser has complained of."""

    page: Any
    complaints: list[str]

    def text(self, place: str) -> str:
        found: str = self.page.inner_text(place)
        return found

    def wait_for(self, place: str, text: str) -> None:
        """Wait until a place has a text."""
        self.page.locator(place, has_text=text).first.wait_for()

    def wait_until(self, is_so: str) -> None:
        """Wait until JavaScript says so."""
        self.page.wait_for_function(is_so)

    def figures(self) -> list[int]:
        """What the first link has received, and the rows of the first query."""
        found: list[int] = self.page.wait_for_function(FIGURES).json_value()
        return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as made:
        yield made


@pytest.fixture
def shown(daemon: Daemon, traffic: None, chromium: Any) -> Iterator[Shown]:
    """The page of a daemon that has a query."""
    daemon.add("talkers", TALKERS)
    with console(daemon.folder / "socket") as made:
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(made.address)
        assert page.url == made.root + "/"  # the token is not where it is kept
        assert page.context.cookies() == []  # nor where other ports of this host would get it
        yield Shown(page, complaints)
        page.context.close()


def test_the_account_the_rows_and_their_charts(shown: Shown) -> None:
    shown.wait_until(THE_ACCOUNT_ADDS_UP)
    shown.wait_for("#title", "talkers.talkers")
    shown.wait_for("#rows td", "10.20.0.")
    shown.page.locator("#chart canvas").wait_for()
    shown.wait_until("() => document.querySelectorAll('#bars progress').length >= 3")
    most = "() => { const bars = [...document.querySelectorAll('#bars progress')]; return "
    shown.wait_until(most + "bars.every((bar, at) => !at || bar.value <= bars[at - 1].value); }")
    shown.page.select_option("#value", label="packets")
    shown.page.select_option("#group", label="nothing")
    shown.wait_for(".u-legend", "packets")
    assert shown.complaints == []  # such as styles that the policy of the page forbids


def test_a_query_is_written_added_watched_and_dropped(daemon: Daemon, shown: Shown) -> None:
    page = shown.page
    page.fill("#text", "SELECT srcPI FROM IP")
    shown.wait_for("#diagnostics", "IP has no column srcPI")
    assert shown.text("#diagnostics").splitlines()[:3] == [
        "query.gsql:1:8: error: IP has no column srcPI",
        "    SELECT srcPI FROM IP",
        "           ^~~~~",
    ]
    assert page.is_disabled("#add")
    page.fill(
        "#text", "PARAM { least uint; } " + MINUTES.replace("GROUP", "WHERE len > $least GROUP")
    )
    shown.wait_for("#diagnostics", "least")
    page.fill("#parameters", "least=60")
    shown.wait_for("#columns td", "timestamp")
    page.click("summary")
    shown.wait_for("#explain", "below the border")
    page.fill("#name", "vlans")
    page.click("#add")
    shown.wait_for("#title", "vlans.vlans")
    shown.wait_for("#rows td", ":")
    shown.wait_for("#day", "UTC")
    assert daemon.status().sets["vlans"].spec.parameters == {"least": "60"}
    page.click("#add")
    shown.wait_for("#diagnostics", "vlans")  # there is one of that name
    page.locator("#sets tr", has_text="vlans").locator("button").click()
    shown.wait_for("#title", "has ended")
    assert set(daemon.status().sets) == {"talkers"}
    page.click("#sets tr:has-text('talkers') td")
    shown.wait_for("#title", "talkers.talkers")
    shown.wait_for("#rows td", "10.20.0.")
    assert shown.complaints == []


WIDE = """async () => {
  leave();
  watched.triedAt = Infinity; // no row of another window comes
  const source = { label: "enp193s0f0np0.4094", link: "up", read: 123456789012, kernel_dropped: 123456789012 };
  for (const name of Object.keys(ACCOUNT)) source[name] = 123456789012;
  before = null;
  showLinks({ incarnation: -1, at_ns: 1, sources: [source] });
  const time = "2026-11-25T14:30:02.000000000Z", columns = ["begins", "ends", "srcIP", "destIP", "packets", "bytes"];
  const row = [time, time, "2001:db8:1234:5678:9abc:def0:1234:5678", "2001:db8:1234:5678::1", "123456789", "123456789012"];
  Object.assign(watched, { columns, numeric: columns.map((_, at) => at > 3), times: columns.map((_, at) => at < 2), rows: [row] });
  offer();
  show();
  await new Promise(requestAnimationFrame);
  const places = ["#account", "#queries", "#editor", "#watched", "#watched .scrolled"].map((one) => document.querySelector(one));
  return {
    clipped: places.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id || one.className),
    cells: [...$("rows").rows[1].cells].map((one) => one.textContent),
    day: $("day").textContent,
    axis: [plot.scales.x.min, plot.scales.x.max],
    at: windowOf(row),
  };
}"""  # noqa: E501


def test_a_narrow_page_shows_all_of_a_window(shown: Shown) -> None:
    shown.wait_for("#rows td", "10.20.0.")
    shown.page.set_viewport_size({"width": 1280, "height": 900})
    found = shown.page.evaluate(WIDE)
    assert found["clipped"] == []
    assert found["cells"][:2] == ["14:30:02", "14:30:02"]
    assert found["day"] == "2026-11-25 UTC"
    assert found["axis"] == [found["at"] - 10, found["at"] + 10]  # seconds, not years


def test_a_query_that_has_no_window_yet(daemon: Daemon, shown: Shown) -> None:
    shown.wait_for("#rows td", "10.20.0.")
    assert not shown.page.is_visible("#waiting")
    daemon.add("decades", "SELECT tb, count(*) AS n FROM IP GROUP BY time/1000000000 AS tb")
    shown.page.click("#sets tr:has-text('decades') td")
    shown.wait_for("#title", "decades")
    assert shown.page.is_visible("#waiting")
    assert shown.text("#waiting") == "waiting for the first window"


def test_a_page_without_the_token_says_what_to_open(shown: Shown) -> None:
    """As in another tab: the token is of the one that had the address."""
    address = shown.page.url
    other = shown.page.context.new_page()
    other.goto(address)
    other.locator("#state", has_text="open the address that gigastream console").wait_for()
    token = shown.page.evaluate("() => sessionStorage.getItem('token')")
    other.goto(f"{address}#token={token}")  # into the same page, which is not loaded anew
    other.locator("#rows td", has_text="10.20.0.").first.wait_for()
    assert other.url == address
    other.close()


def test_rows_without_a_window_are_a_table(daemon: Daemon, shown: Shown) -> None:
    daemon.add("lengths", "SELECT srcIP, len FROM IP")
    shown.page.click("#sets tr:has-text('lengths') td")
    shown.wait_for("#rows th", "len")
    shown.wait_until("() => document.querySelectorAll('#rows tr').length > 100")
    assert shown.page.locator("#chart canvas").count() == 0
    assert shown.complaints == []


def test_a_daemon_that_ends_and_one_that_comes(daemon: Daemon, shown: Shown) -> None:
    shown.wait_for("#rows td", "10.20.0.")
    assert daemon.stop() == 0
    shown.wait_for("#state.bad", "no daemon answers at")
    assert "10.20.0." in shown.text("#rows")
    again = started(daemon.space, daemon.folder)
    try:
        shown.wait_for("#none", "No query runs")
        shown.wait_for("#title", "has ended")
        again.add("talkers", TALKERS)
        before = shown.text("#rows tr:nth-child(2)")
        shown.wait_until(f"() => $('rows').rows[1].innerText !== {before!r}")
        assert "has ended" not in shown.text("#title")
        assert shown.text("#state") != ""
        assert shown.page.locator("#state.bad").count() == 0
    finally:
        end(again)


def test_a_capture_that_crashes_is_told(daemon: Daemon, shown: Shown) -> None:
    shown.wait_for("#rows td", "10.20.0.")
    pid = daemon.status().capture_pid
    assert pid is not None
    wait_until(lambda: all(shown.figures()), "a report that counts the first rows")
    received, rows = shown.figures()
    os.kill(pid, signal.SIGKILL)
    shown.wait_for("#state", "begun again 1 times")
    wait_until(lambda: daemon.report().incarnation == 1, "a report of the next process")
    with shown.page.expect_response("**/api/status"):
        pass  # it is shown before the next one is asked for
    since = shown.figures()
    assert since[0] >= received > 0
    assert since[1] >= rows > 0
    shown.wait_for("#notices", "a crash (")
    before = shown.text("#rows tr:nth-child(2)")
    shown.wait_until(f"() => $('rows').rows[1].innerText !== {before!r}")
    assert shown.complaints == []
