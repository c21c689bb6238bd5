# SPDX-License-Identifier: Apache-2.0
"""gigastream top: a live screen of a daemon's links and queries, and the newest rows of one."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.cli.arguments import add_socket
from gigastream.cli.errors import UsageError
from gigastream.daemon.client import ControlClient, ControlError

if TYPE_CHECKING:
    from rich.console import ConsoleDimensions

    from gigastream.cli.top_screen import History, NewestRows
    from gigastream.daemon.messages import TailLine

_EPILOG = """\
n shows the rows of the next query, q ends it.

exit codes: 0 done, 2 there is no daemon, or no terminal."""
_PERIOD_S = 1.0
ANSWER_S = 10.0
"""A daemon that says nothing for so long is told of: a screen that stands still says nothing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which daemon."""
    parser.epilog = _EPILOG
    add_socket(parser)
    parser.add_argument("--once", action="store_true", help="show it once, without a terminal")


def execute(arguments: argparse.Namespace) -> int:
    """Show it until q, Ctrl-C or the end of the daemon."""
    if find_spec("rich") is None:
        raise UsageError("rich is not installed", "pip install 'gigastream[daemon]'")
    top = _Top(Path(arguments.socket))
    if arguments.once:
        top.once()
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top needs a terminal", "--once, or gigastream ctl status --json")
    with suppress(KeyboardInterrupt), _keys():
        top.show()
    return 0


class _Top:
    """The screen, and the thread that takes the rows of one query."""

    def __init__(self, path: Path) -> None:
        from gigastream.cli.top_screen import History, NewestRows

        self._client = ControlClient(path, ANSWER_S)
        self._history: History = History()
        self._newest: NewestRows = NewestRows()
        self._follower: _Follower | None = None

    def once(self) -> None:
        """Print one look, with rates over a second."""
        from rich.console import Console

        console = Console()
        self._look()
        time.sleep(_PERIOD_S)
        self._look()
        console.print(self._screen(console.size))

    def show(self) -> None:
        """Look once a second; keys act at once."""
        from rich.live import Live

        with Live(screen=True, auto_refresh=False) as live:
            next_look = 0.0
            while True:
                if time.monotonic() >= next_look:
                    self._look()
                    next_look = time.monotonic() + _PERIOD_S
                live.update(self._screen(live.console.size), refresh=True)
                key = _key(min(0.25, max(0.0, next_look - time.monotonic())))
                if key == "q":
                    return
                if key == "n":
                    self._next()

    def _screen(self, size: ConsoleDimensions) -> Any:
        from gigastream.cli.top_screen import screen

        if self._follower is None:
            return screen(self._history, self._newest, size.height, size.width)
        with self._follower.lock:
            return screen(self._history, self._newest, size.height, size.width)

    def _look(self) -> None:
        self._history.look(self._client.status())
        if self._newest.query not in self._queries():
            self._next()
        elif self._follower is not None and not self._follower.is_alive():
            self._follow()  # the set was dropped and has come again

    def _queries(self) -> list[str]:
        now = self._history.now
        if now is None or now.report is None:
            return []
        return [f"{queries.name}.{query}" for queries in now.report.sets for query in queries.rows]

    def _next(self) -> None:
        """Show the rows of the query behind the one that is shown."""
        from gigastream.cli.top_screen import NewestRows

        queries = self._queries()
        if not queries:
            return
        shown = self._newest.query
        at = (queries.index(shown) + 1) % len(queries) if shown in queries else 0
        self._newest = NewestRows(queries[at])
        self._follow()

    def _follow(self) -> None:
        if self._follower is not None:
            self._follower.leave()
        self._follower = _Follower(self._client.path, self._newest)
        self._follower.start()


class _Follower(threading.Thread):
    """Takes the rows of one query as they come."""

    def __init__(self, path: Path, newest: NewestRows) -> None:
        super().__init__(daemon=True)
        self.lock = threading.Lock()
        self._path = path
        self._newest = newest
        self._client: ControlClient | None = None
        self._has_left = False

    def run(self) -> None:
        """Take rows until they end, or others are shown."""
        from gigastream.cli.ctl_tail import TailDamageError
        from gigastream.daemon.messages import TailQuery

        set_name, _, query = self._newest.query.rpartition(".")
        ends = (ControlError, TailDamageError)
        with suppress(*ends), ControlClient(self._path, ANSWER_S) as client:
            self._client = client
            if self._has_left:
                return
            for line in client.tail(TailQuery(query=query, set_name=set_name)):
                if self._has_left:
                    return
                with self.lock:
                    _take(self._newest, line)

    def leave(self) -> None:
        """Others are shown: hang up, though no row comes."""
        self._has_left = True
        if self._client is not None:
            self._client.stop()


def _take(newest: NewestRows, line: TailLine) -> None:
    import json

    from gigastream.cli.ctl_tail import batches_of
    from gigastream.engine.arrow_rows import batch_of_arrow
    from gigastream.gsql.types import Type

    newest.lost += line.lost
    for batch, schema, _ in batches_of(line.arrow):
        columns = list(enumerate(schema.columns))
        newest.columns = tuple(column.name for _, column in columns)
        newest.numeric = frozenset(at for at, column in columns if column.type.is_numeric)
        newest.times = frozenset(at for at, column in columns if column.type is Type.TIMESTAMP)
        for row in batch_of_arrow(batch).json(None).splitlines():
            values = json.loads(row, parse_int=str, parse_float=str).values()
            newest.rows.append(tuple("" if v is None else str(v) for v in values))


@contextmanager
def _keys() -> Iterator[None]:
    """Give keys as they are pressed, and leave the terminal as it was. SIGTERM is as Ctrl-C."""
    before = termios.tcgetattr(sys.stdin)
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, handler)


def _key(wait_s: float) -> str:
    """The key that is pressed within that time, or nothing; q where there is no keyboard left."""
    ready, _, _ = select.select([sys.stdin], [], [], wait_s)
    if not ready:
        return ""
    # Not sys.stdin.read, which would take all that was typed and give the first of it.
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"
