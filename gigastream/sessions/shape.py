# SPDX-License-Identifier: Apache-2.0
"""What the sessions have in common.

Seven of them run a plan: Session both levels, here; ThreadedSession the same over several rings;
DividedSession the same over one file, by several threads; ExchangingSession too, where each of
these completes part of the groups; LowSession the low level alone, into a spool; SpoolSession the
high level alone, out of one; and HighSession is that high level, into which others push.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self, TypeVar, runtime_checkable

from gigastream.engine.exchange import GroupShare
from gigastream.engine.node_places import ALL_HERE, NodePlaces
from gigastream.engine.statistics import Statistics
from gigastream.late_dataclass import dataclass
from gigastream.sessions.limit import PacketLimit

Turn = TypeVar("Turn", covariant=True)
LinksAreOpen = Callable[[], Mapping[str, int]]
"""Called when links are open; gives what Session.begin is told of each interface."""


@runtime_checkable
class AnySession(Protocol):
    """Every session: open once it is made, counted, and closed at the end."""

    def statistics(self) -> Statistics:
        """The counters so far."""

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""


@runtime_checkable
class ReadingSession(AnySession, Protocol[Turn]):
    """A session that reads its input by itself, a turn at a time."""

    def turns(self) -> Iterator[Turn]:
        """What each turn brought, which may be nothing, to the end of the input or stop()."""

    def stop(self) -> None:
        """End the input here: the open windows are answered. May be called by a signal handler."""


class Closing:
    """A session that is closed where its `with` ends."""

    def close(self) -> None:
        """Give everything back."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a session over sources may be told besides its settings."""

    taps: Sequence[str] = ()
    """Names of nodes whose streams come out as events as well."""
    low_taps: bool = False
    """Every LFTA's batches do, interface by interface, punctuation and heartbeats included."""
    include: Sequence[Path] = ()
    """Folders of C headers that user protocols name."""
    links_are_open: LinksAreOpen | None = None
    """Called when all links are open and no packet is read."""
    begins: bool = True
    """Else begin() is called."""
    parts: int = 1
    """Sessions like it, each of which has part of the packets, and of the memory for tables."""
    part: GroupShare | None = None
    """Which of the groups it has, where they exchange rows."""
    places: NodePlaces = ALL_HERE
    """What of the plan others run."""
    code: Path | None = None
    """The compiled object of another session like it, which is its own, too."""
    limit: PacketLimit | None = None
    """Shared with other sessions, in the place of the setting packets_max."""


NO_OPTIONS = SessionOptions()
