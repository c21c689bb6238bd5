# SPDX-License-Identifier: Apache-2.0
"""Links on the command line: which are meant by -i, and what becomes of them while rows come."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import output_queries, stopped_by_signals, summarise
from gigastream.cli.errors import UsageError
from gigastream.config import Config
from gigastream.live import LIVE_OPTIONS, LiveSettings, LiveSource, Source
from gigastream.outputs import Output, parse_output

if TYPE_CHECKING:
    from gigastream.engine.session import Session
    from gigastream.engine.statistics import SourceStatistics, Statistics
    from gigastream.engine.threaded import ThreadedSession
    from gigastream.plan import Plan
    from gigastream.settings import Settings

_EVERY_SECONDS = 1.0
_SECOND_NS = 10**9
_ERASE_LINE = "\r\x1b[K"
_STATE = {
    "up": "is up",
    "down": "is down; packets are awaited",
    "gone": "is gone; it is awaited",
    "lost": "is gone; with several rings (--fanout) it is not taken up again",
}


def links_of(arguments: argparse.Namespace, config: Config) -> list[LiveSource]:
    """Return what -i names, with its settings.

    The command line goes before what the file says of the interface, and that before what it says
    of all links.

    Where there is any, this process gains no privilege from now on.
    """
    if arguments.interface:
        from gigastream.engine.privileges import gain_no_privileges

        gain_no_privileges()
    return [
        LiveSource(name, device, settings_of_link(name, arguments, config))
        for name, device in arguments.interface
    ]


def settings_of_link(interface: str, arguments: argparse.Namespace, config: Config) -> LiveSettings:
    """Return the settings of one link, the nearest that is said of it first."""
    given = {option.field: getattr(arguments, option.field) for option in LIVE_OPTIONS}
    chosen: dict[str, Any] = {**config.live, **_own_settings(interface, config)}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    return LiveSettings(**chosen)


def _own_settings(interface: str, config: Config) -> dict[str, Any]:
    """Read the properties of an interface that are settings of links."""
    properties = config.interfaces.get(interface, {})
    found = {}
    for option in LIVE_OPTIONS:
        if option.name in properties:
            try:
                found[option.field] = option.parse(properties[option.name])
            except ValueError as error:
                raise UsageError(f"interface.{interface}: {option.name}: {error}") from None
    return found


def answer_links(
    arguments: argparse.Namespace,
    plan: Plan,
    sources: Sequence[Source],
    settings: Settings,
    include: Sequence[Path],
    wanted: str,
) -> Statistics:
    """Run both levels here over links, and files beside them, until a signal; give the account.

    Privileges are given up when the links and the output are open.
    """
    from gigastream.engine.privileges import find_user
    from gigastream.engine.threaded import open_session

    find_user(_user(sources))
    started = time.monotonic()
    outputs: list[Output] = []

    def links_are_open() -> None:
        outputs.append(Output(*parse_output(wanted), output_queries(plan)))
        _give_up_privileges(sources)

    with open_session(
        plan, sources, settings, include=include, links_are_open=links_are_open
    ) as session:
        with stopped_by_signals(session):
            rows = _write(session, outputs[0], LinkStatus(session.statistics, not arguments.quiet))
        statistics = session.statistics()
    summarise(arguments, statistics, rows, time.monotonic() - started)
    return statistics


def hand_over(root: Path, sources: Sequence[Source]) -> None:
    """Give up privileges where there are links; the spool at `root` is then the new user's."""
    if not any(isinstance(source, LiveSource) for source in sources):
        return
    if os.geteuid() == 0:
        from gigastream.engine.privileges import find_user

        for folder, _, files in os.walk(root):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(path, *find_user(_user(sources)), follow_symlinks=False)
    _give_up_privileges(sources)


def _give_up_privileges(sources: Sequence[Source]) -> None:
    """Import what the summary needs, which the user that we become may not be able to read."""
    import gigastream.cli.summary  # noqa: F401
    from gigastream.engine.privileges import give_up_privileges

    give_up_privileges(_user(sources))


def _user(sources: Sequence[Source]) -> str:
    return next(source.settings.user for source in sources if isinstance(source, LiveSource))


def _write(session: Session | ThreadedSession, output: Output, status: LinkStatus) -> int:
    """Write all rows as they come; return how many there were."""
    rows = 0
    for turn in session.turns():
        for event in turn:
            if event.batch.row_count:
                rows += event.batch.row_count
                status.clear()
                output.write(event.query, event.batch)
        status.tick()
    status.clear()
    output.close()
    return rows


class LinkStatus:
    """A line such as `12,345 packets, 1,234/s, 0 dropped by the kernel, 0.2 s behind`.

    It is written to stderr where that is a terminal.

    Links that go down or come back are told in any case, each on a line of its own.
    """

    def __init__(self, statistics: Callable[[], Statistics], wanted: bool) -> None:
        """`statistics` gives the counters so far; nothing is shown unless it is `wanted`."""
        self._statistics = statistics
        self._wanted = wanted
        self._line = wanted and sys.stderr.isatty()
        self._shown = False
        self._due = 0.0
        self._last = (time.monotonic(), 0)
        self._links: dict[str, str | None] = {}

    def tick(self) -> None:
        """Look again if it is time."""
        now = time.monotonic()
        if not self._wanted or now < self._due:
            return
        self._due = now + _EVERY_SECONDS
        sources = [s for s in self._statistics().sources if s.link is not None]
        self._tell_changes(sources)
        if self._line:
            self._show(now, sources)

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        if self._shown:
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()
            self._shown = False

    def _tell_changes(self, sources: Sequence[SourceStatistics]) -> None:
        for source in sources:
            before = self._links.setdefault(source.label, "up")
            if source.link is not None and source.link != before:
                self.clear()
                print(f"gigastream: {source.label} {_STATE[source.link]}", file=sys.stderr)
            self._links[source.label] = source.link

    def _show(self, now: float, sources: Sequence[SourceStatistics]) -> None:
        read = sum(source.read for source in sources)
        since, before = self._last
        rate = (read - before) / max(now - since, 0.001) if before else 0.0
        self._last = (now, read)
        dropped = sum(source.kernel_dropped for source in sources)
        skew = sum(source.late + source.skew for source in sources)
        late = f", {skew:,} late" if skew else ""
        lag = max(source.lag_ns for source in sources) / _SECOND_NS
        sys.stderr.write(
            f"{_ERASE_LINE}{read:,} packets, {rate:,.0f}/s, {dropped:,} dropped by the kernel"
            f"{late}, {lag:.1f} s behind"
        )
        sys.stderr.flush()
        self._shown = True
