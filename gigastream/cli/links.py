# SPDX-License-Identifier: Apache-2.0
"""Links on the command line: which are meant by -i, and what becomes of them while rows come."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.answering import Ends, Outputs, account_of, answer, summarise
from gigastream.cli.errors import UsageError
from gigastream.cli.failures import with_failures
from gigastream.cli.hints import joined_hint, tag_hint
from gigastream.cli.operator_tables import with_tables
from gigastream.cli.stderr import Line, is_terminal
from gigastream.config import Config
from gigastream.outputs.delivery import Delivered
from gigastream.records.source import AnySource
from gigastream.sources.live import LIVE_OPTIONS, LiveSettings, LiveSource
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.engine.statistics import SourceStatistics, Statistics
    from gigastream.plan import Plan
    from gigastream.settings import Settings

_EVERY_SECONDS = 1.0
_SECOND_NS = 10**9
_STATE = {
    "up": "is up",
    "down": "is down; packets are awaited",
    "gone": "is gone; it is awaited",
    "lost": "is gone, and cannot be taken up again",
}


def links_of(arguments: argparse.Namespace, config: Config) -> list[LiveSource]:
    """Return what -i names, with its settings.

    The command line goes before what the file says of the interface, and that before what it says
    of all links.

    Where there is any, this process gains no privilege from now on.
    """
    links = [
        LiveSource(name, device, settings_of_link(name, arguments, config))
        for name, device in arguments.interface
    ]
    if links:
        from gigastream.engine.privileges import gain_no_privileges

        gain_no_privileges(_user(links))
    return links


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
    sources: Sequence[AnySource],
    settings: Settings,
    include: Sequence[Path],
    open_outputs: Callable[[], Outputs],
    ends: Ends,
) -> tuple[Statistics, Delivered]:
    """Run both levels here over links, and files beside them, until a signal; give the account.

    Privileges are given up when the links and the output are open.
    """
    from gigastream.sessions.shape import SessionOptions
    from gigastream.sessions.threaded_session import open_session

    started = time.monotonic()
    outputs: list[Outputs] = []

    def links_are_open() -> dict[str, int]:
        outputs.append(open_outputs())
        _give_up_privileges(sources, ())
        return {}

    with open_session(
        plan, sources, settings, SessionOptions(include=include, links_are_open=links_are_open)
    ) as session:

        def account(delivered: Delivered) -> str:
            seconds = time.monotonic() - started
            return account_of(arguments, session.statistics(), delivered, seconds)

        links = LinkStatus(session.statistics, not arguments.quiet, settings.filter)
        status = with_tables(links, session.statistics, arguments)
        status = with_failures(
            status, lambda: session.statistics().sources, settings, quiet=arguments.quiet
        )
        delivered = answer(session, plan, outputs[0], status, account, settings, ends)
        statistics = session.statistics()
    summarise(arguments, statistics, delivered, time.monotonic() - started)
    return statistics, delivered


def has_links(sources: Sequence[AnySource]) -> bool:
    """Whether there is a link among them."""
    return any(isinstance(source, LiveSource) for source in sources)


def hand_over(root: Path, sources: Sequence[AnySource]) -> None:
    """Give up privileges where there are links; only then is a spool at `root` looked at.

    As root a folder is made for the user that we become, if there is none; one that is there is
    left as it is, for it may be full of links. UsageError where that user cannot write it.
    """
    if not has_links(sources):
        return
    from gigastream.destination import make_folder
    from gigastream.engine.privileges import user_to_become

    name = _user(sources)
    user = user_to_become(name)
    try:
        if user is None:
            root.mkdir(parents=True, exist_ok=True)
        else:
            make_folder(root, *user)
    except OSError as error:
        raise UsageError(f"{root}: {error.strerror}", getattr(error, "hint", None)) from None
    _give_up_privileges(sources, (root,))
    if user is not None and not os.access(root, os.W_OK | os.X_OK):
        raise UsageError(
            f"{root} cannot be written by {name}, whom root becomes",
            f"chown {name} {root}, with what is in it if it is a spool; or --user NAME",
        )


def _give_up_privileges(sources: Sequence[AnySource], folders: Sequence[Path]) -> None:
    """Import what the summary needs, which the user that we become may not be able to read.

    From then on files change below `folders` alone.
    """
    import gigastream.cli.operator_table
    import gigastream.cli.summary
    import gigastream.cli.traces  # noqa: F401
    from gigastream.engine.privileges import confine, give_up_privileges

    give_up_privileges(_user(sources))
    confine(folders)


def _user(sources: Sequence[AnySource]) -> str:
    return next(source.settings.user for source in sources if isinstance(source, LiveSource))


def clock_step(source: SourceStatistics) -> str:
    """Say how far a link's clock stepped, and what becomes of its packets."""
    size = source.clock_step_ns / _SECOND_NS
    if size > 0:
        return f"stepped forward by {size:,.3f} s; packets ahead of what is believed are carried"
    return f"stepped back by {-size:,.3f} s; packets before what was answered are carried"


class LinkStatus:
    """A line such as `12,345 packets, 1,234/s, 0 dropped by the kernel, 0.2 s behind`.

    It is written to stderr where that is a terminal.

    Links that go down or come back are told in any case, each on a line of its own.
    """

    def __init__(
        self, statistics: Callable[[], Statistics], wanted: bool, bpf_filter: str = ""
    ) -> None:
        """`statistics` gives the counters so far; nothing is shown unless it is `wanted`.

        Make it when the links are open: it counts from then on, and says that they are.
        """
        self._statistics = statistics
        self._wanted = wanted
        self.line = Line()
        self._has_line = wanted and is_terminal()
        self._filter = bpf_filter
        self._hinted: set[tuple[str, str]] = set()
        self._due = time.monotonic() + _EVERY_SECONDS
        self._last = (time.monotonic(), 0)
        self._links: dict[str, str | None] = {}
        self._steps: dict[str, int] = {}

    def tick(self) -> None:
        """Look again if it is time."""
        now = time.monotonic()
        if not self._wanted or now < self._due:
            return
        self._due = now + _EVERY_SECONDS
        sources = self._told()
        if self._has_line:
            self._show(now, sources)

    def finish(self) -> None:
        """Remove the line for good; what has changed since the last tick is told."""
        self.line.clear()
        if self._wanted:
            self._told()

    def _told(self) -> Sequence[SourceStatistics]:
        sources = [s for s in self._statistics().sources if s.link is not None]
        self._tell_changes(sources)
        self._tell_steps(sources)
        self._tell_hints(sources)
        return sources

    def begin(self) -> None:
        """Say which links are open: whoever has read it may end the run by a signal."""
        if self._wanted:
            links = [s.label for s in self._statistics().sources if s.link is not None]
            self.line.tell(f"gigastream: listening on {', '.join(links)}")

    def _tell_hints(self, sources: Sequence[SourceStatistics]) -> None:
        for source in sources:
            for kind, hint in (
                ("tags", tag_hint(source, self._filter)),
                ("joined", joined_hint(source)),
            ):
                device = source.label.partition("/")[0]
                if hint is not None and (device, kind) not in self._hinted:
                    self._hinted.add((device, kind))
                    self.line.tell(f"gigastream: {hint}")

    def _tell_changes(self, sources: Sequence[SourceStatistics]) -> None:
        for source in sources:
            before = self._links.setdefault(source.label, "up")
            if source.link is not None and source.link != before:
                self.line.tell(f"gigastream: {source.label} {_STATE[source.link]}")
            self._links[source.label] = source.link

    def _tell_steps(self, sources: Sequence[SourceStatistics]) -> None:
        """Tell each step of the clock once, with its size, whichever links have seen it."""
        seen: dict[str, list[str]] = {}
        for source in sources:
            if source.clock_steps > self._steps.get(source.label, 0):
                seen.setdefault(clock_step(source), []).append(source.label)
            self._steps[source.label] = source.clock_steps
        for step, labels in seen.items():
            self.line.tell(f"gigastream: {', '.join(labels)}: this host's clock {step}")

    def _show(self, now: float, sources: Sequence[SourceStatistics]) -> None:
        read = sum(source.read for source in sources)
        since, before = self._last
        rate = (read - before) / max(now - since, 0.001)
        self._last = (now, read)
        dropped = sum(source.kernel_dropped for source in sources)
        skew = sum(source.late + source.skew for source in sources)
        late = f", {skew:,} late" if skew else ""
        lag = max(source.lag_ns for source in sources) / _SECOND_NS
        self.line.show(
            f"{counted(read, 'packet')}, {rate:,.0f}/s, {dropped:,} dropped by the kernel"
            f"{late}, {lag:.1f} s behind"
        )
