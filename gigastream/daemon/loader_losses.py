# SPDX-License-Identifier: Apache-2.0
"""What of a spool no loader of a table has read, for it was deleted or is damaged.

Each loader reads a generation from its begin, for the windows that are not in the table yet. What
has been deleted since another has read it is no loss, and a damaged segment is one loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gigastream.daemon.loader_progress import ReadRows

if TYPE_CHECKING:
    from gigastream.spool import Spool, Track
    from gigastream.spool.account import StreamAccount

_NOTHING = ReadRows()


class LoaderLosses:
    """In rows of the low level."""

    def __init__(self, before: Mapping[str, ReadRows]) -> None:
        """`before` is what loaders of the table have read."""
        self._before = dict(before)
        self._now: dict[str, StreamAccount] = {}
        self._retired: dict[str, int] = {}

    def take(self, accounts: Iterable[StreamAccount]) -> None:
        """Take what has been read so far."""
        for account in accounts:
            key = _key(account)
            if _passed(account) == 0:
                continue
            self._retired[key] = self._retired.get(key, 0) + self._missed(key, account)
            self._now[key] = account

    @property
    def retired_rows(self) -> int:
        """Deleted before they were read."""
        return sum(self._retired.values())

    @property
    def lost_rows(self) -> int:
        """In damaged segments that nobody has counted."""
        return sum(
            max(0, account.lost_rows - self._before.get(key, _NOTHING).lost)
            for key, account in self._now.items()
        )

    @property
    def read(self) -> dict[str, ReadRows]:
        """What the next loader need not count."""
        read = dict(self._before)
        for key, account in self._now.items():
            before = self._before.get(key, _NOTHING)
            rows, lost = max(before.rows, _passed(account)), max(before.lost, account.lost_rows)
            read[key] = ReadRows(rows, lost)
        return read

    def _missed(self, key: str, account: StreamAccount) -> int:
        """Of rows that are gone: none that lie before where another has come."""
        before, last = self._before.get(key, _NOTHING).rows, self._now.get(key)
        if last is None:
            return max(0, account.retired_rows - before)
        gone = account.retired_rows - last.retired_rows
        return min(gone, max(0, _passed(account) - max(before, _passed(last))))


def deleted_before(spool: Spool) -> dict[str, ReadRows]:
    """What is gone before a table's first loader, and so is not its loss."""
    tracks = [each for track in spool.tracks() for each in (*spool.earlier(track), track)]
    return {_key(track): ReadRows(track.retained().rows) for track in tracks}


def _key(of: StreamAccount | Track) -> str:
    return f"{of.stream} {of.interface} {of.generation}"


def _passed(account: StreamAccount) -> int:
    """Rows from the begin of a generation up to where it is read."""
    return account.rows + account.lost_rows + account.retired_rows
