# SPDX-License-Identifier: Apache-2.0
"""The watchlists of a query set: read before its first packet, and anew when their files change.

A list that has changed is read by a thread, beside the one that packets meet, and takes its place
between two bursts: no packet waits for it, and none sees half of it. What cannot be read leaves the
old list where it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import check
from gigastream.engine.list_file import Identity, ListError, ReadList, identity_of, read_list
from gigastream.engine.statistics import ListStatistics
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, field, replace


@dataclass
class _KeptList:
    """A list that packets meet."""

    watchlist: Watchlist
    number: int
    seen: Identity | None = None
    """What the file was when it was read, or could not be, last."""
    failure: str = ""
    """Why it could not; empty: it could."""
    next_look: float = 0.0
    counts: ListStatistics = field(default_factory=lambda: ListStatistics("", 0, 0, 0, 0, 0))
    reader: Thread | None = None
    results: SimpleQueue[ReadList | str] = field(default_factory=SimpleQueue)


class Watchlists:
    """Those of an attached set; used by the thread that runs its engine."""

    def __init__(self, lists: Sequence[Watchlist], query_set: Any) -> None:
        """`query_set` is the `struct gs_attached_set *`; nothing is read yet."""
        self._query_set = query_set
        self._kept = [_KeptList(item, number) for number, item in enumerate(lists)]

    def open(self) -> None:
        """Read them all. ListError."""
        for kept in self._kept:
            kept.counts = ListStatistics(kept.watchlist.name, 0, 0, 0, 0, 0)
            self._take(kept, read_list(kept.watchlist))

    def look(self) -> None:
        """Between two bursts: give what has been read anew; see what has changed."""
        now = time.monotonic()
        for kept in self._kept:
            with suppress(Empty):
                self._finish(kept, kept.results.get_nowait())
            if kept.reader is None and now >= kept.next_look:
                kept.next_look = now + kept.watchlist.every_s
                self._look(kept)

    def statistics(self) -> tuple[ListStatistics, ...]:
        """The counters so far."""
        return tuple(kept.counts for kept in self._kept)

    def close(self) -> None:
        """Wait for those who read; what they have read is nobody's any more."""
        for kept in self._kept:
            if kept.reader is not None:
                kept.reader.join()
                found = kept.results.get()
                if isinstance(found, ReadList):
                    lib.gs_watchlist_free(found.native)
                kept.reader = None

    def _look(self, kept: _KeptList) -> None:
        try:
            identity = identity_of(kept.watchlist.path)
        except OSError as error:
            self._fail(kept, f"{kept.watchlist.path}: {error.strerror}", None)
            return
        if identity == kept.seen:
            return
        kept.seen = identity
        kept.reader = Thread(target=_read, args=(kept.watchlist, kept.results), daemon=True)
        kept.reader.start()

    def _finish(self, kept: _KeptList, found: ReadList | str) -> None:
        assert kept.reader is not None
        kept.reader.join()
        kept.reader = None
        if isinstance(found, str):
            self._fail(kept, found, kept.seen)
        else:
            self._take(kept, found)

    def _fail(self, kept: _KeptList, message: str, seen: Identity | None) -> None:
        """Said once for each state of the file, counted each time."""
        is_new = message != kept.failure or seen != kept.seen
        kept.seen, kept.failure = seen, message
        kept.counts = replace(kept.counts, failures=kept.counts.failures + 1)
        if is_new:
            _tell(f"{message}; the list {kept.watchlist.name} stays as it was")

    def _take(self, kept: _KeptList, found: ReadList) -> None:
        error = ffi.new("struct gs_error *")
        status = lib.gs_attached_give_watchlist(self._query_set, kept.number, found.native, error)
        check(status, error)
        kept.seen, kept.failure = found.identity, ""
        kept.counts = replace(
            kept.counts,
            rows=found.rows,
            refused=found.refused,
            replaced=found.replaced,
            reads=kept.counts.reads + 1,
        )
        kept.next_look = time.monotonic() + kept.watchlist.every_s
        if found.refused:
            lines = "1 line is" if found.refused == 1 else f"{found.refused} lines are"
            _tell(f"{kept.watchlist.path}: {lines} left out; {found.remark}")


def _read(watchlist: Watchlist, results: SimpleQueue[ReadList | str]) -> None:
    """Give a result whatever happens: who closes the lists waits for it."""
    try:
        results.put(read_list(watchlist))
    except ListError as error:
        results.put(str(error))
    except MemoryError:
        results.put(f"{watchlist.path}: there is no memory for it")
    except Exception as error:
        results.put(f"{watchlist.path}: it cannot be read: {type(error).__name__}: {error}")


def _tell(text: str) -> None:
    print(f"gigastream: {text}", file=sys.stderr, flush=True)
