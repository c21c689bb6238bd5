# SPDX-License-Identifier: Apache-2.0
"""A caller's side: the server that fits is found, or started, and answers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow

from spark_sink.java_words import cause_in
from spark_sink.job_errors import JobError
from spark_sink.progress import QueryProgress
from spark_sink.warm import place
from spark_sink.warm.channel import (
    ASK,
    DONE,
    FAILED,
    FROM_SERVER,
    HELLO,
    PROGRESS,
    REFUSED,
    ROWS,
    WRITTEN,
    Channel,
    ChannelError,
    plain,
)

_START_LIMIT_S = 180
_HELLO_LIMIT_S = 30.0
_LOOK_PERIOD_S = 0.02
_OTHER_STARTS = 3
_PACKAGES = Path(__file__).resolve().parents[2]
_GONE = "the warm server has gone"
_AGAIN = "the same command starts another"
_END_ALL = f"`pkill -9 -f spark_sink.warm.server` ends it, and {_AGAIN}"

Rows = Callable[[str, pyarrow.RecordBatch], None]


def connect(
    settings: Mapping[str, str], look: Callable[[], object], check: Callable[[], object]
) -> Channel:
    """Return a channel to the server, which is started if there is none that fits.

    `check` is called before that, and `look` meanwhile. Raises JobError, UntrustedError where
    others enter its folder, and what those two raise.
    """
    folder, name = place.folder(), place.name(settings)
    places = place.SocketFolder(folder)
    try:
        channel = _reached(places, name)
        if channel is not None:
            return channel
        check()
        return _started(places, name, settings, look)
    finally:
        places.close()


def _reached(places: place.SocketFolder, name: str) -> Channel | None:
    """A server that says hello; what says something else, or nobody, is none.

    Raises JobError where one of ours says nothing.
    """
    connection = places.connect(f"{name}.socket")
    if connection is None:
        return None
    channel = Channel(connection, FROM_SERVER)
    try:
        if channel.is_of_us and channel.receive_within(_HELLO_LIMIT_S) == (HELLO, b""):
            return channel
    except TimeoutError:
        end = f"`kill -9 {channel.process}` ends it, and {_AGAIN}"
        channel.close()
        raise JobError(f"the warm server has said nothing for {_HELLO_LIMIT_S:g} s", end) from None
    except (ChannelError, OSError):
        pass
    channel.close()
    return None


def _started(
    places: place.SocketFolder,
    name: str,
    settings: Mapping[str, str],
    look: Callable[[], object],
) -> Channel:
    """Whoever has the lock is, or becomes, the server; where nobody has it we start one."""
    log, lock = places.path / f"{name}.log", places.path / f"{name}.lock"
    process: subprocess.Popen[bytes] | None = None
    until = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < until:
        channel = _reached(places, name)
        if channel is not None:
            return channel
        if process is not None and process.poll() not in (None, _OTHER_STARTS):
            break
        if (process is None or process.returncode is not None) and not place.is_locked(lock):
            process = _process(places.path, name, settings, log)
        look()
        time.sleep(_LOOK_PERIOD_S)
    if place.is_locked(lock):  # and as many as may wait for it do already
        raise JobError(f"the warm server has taken no caller for {_START_LIMIT_S} s", _END_ALL)
    raise JobError(f"the warm server did not start: {_reason(log)}")


def _reason(log: Path) -> str:
    """Of what it said; the log goes with a server that ends in order."""
    try:
        return cause_in(log) or "it said nothing"
    except FileNotFoundError:
        return "it was told to end"


def _process(
    folder: Path, name: str, settings: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "spark_sink.warm.server", str(folder), name]
    with log.open("ab") as stream:
        return subprocess.Popen(
            [*words, json.dumps(dict(settings))],
            cwd=_PACKAGES,
            env=place.environment(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@dataclass(frozen=True)
class Question:
    """What a run asks for: the queries of its spool."""

    folder: str
    """Of the run, with `spool` in it; absolute."""
    definitions: Sequence[str]
    is_quick: bool
    """Whether it is over within seconds."""
    idle_s: float
    """How long the server stays after it."""


class WarmRefusedError(JobError):
    """Spark cannot run the queries; why, whoever asks can say as well."""


class WarmAnswer:
    """The answer to one run, as it comes."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.progress: Sequence[QueryProgress] = ()
        """Of each query, by now."""

    def take(
        self,
        question: Question,
        rows: Rows,
        is_written: Callable[[], bool],
    ) -> None:
        """Give rows on until all have come.

        `is_written`: whether the spool has its end.

        Raises JobError, WarmRefusedError, and what `rows` and `is_written` raise.
        """
        try:
            with _answered():
                self._channel.send_json(ASK, asdict(question))
            was_told = False
            while True:
                if is_written() and not was_told:
                    with _answered():
                        self._channel.send(WRITTEN)
                    was_told = True
                if self._channel.has_more(_LOOK_PERIOD_S) and self._took(rows):
                    return
        finally:
            self._channel.close()

    def _took(self, rows: Rows) -> bool:
        """Take a message; return whether it was the last."""
        with _answered():
            found = self._channel.receive()
        if found is None:
            raise JobError(_GONE, _AGAIN)
        kind, payload = found
        if kind == ROWS:
            for query, batch in _batches(payload):
                rows(query, batch)
        elif kind in (PROGRESS, DONE):
            with _answered():
                self.progress = [_progress(each) for each in plain(payload, list)]
        elif kind == FAILED:
            with _answered():
                told = plain(payload, dict)
            raise JobError(str(told.get("message")), told.get("hint"), _exit_code(told))
        elif kind == REFUSED:
            raise WarmRefusedError("Spark cannot run this", exit_code=2)
        return kind == DONE


@contextmanager
def _answered() -> Iterator[None]:
    """Around what the channel does, and never around what takes the rows: its errors are ours."""
    try:
        yield
    except (ChannelError, OSError) as error:
        raise JobError(f"{_GONE}: {error}", _AGAIN) from None


def _batches(payload: bytes) -> list[tuple[str, pyarrow.RecordBatch]]:
    """Return batches with the query that each is of."""
    with _answered():
        try:
            table = pyarrow.ipc.open_stream(payload)
            query = (table.schema.metadata or {})[b"query"].decode()
            return [(query, batch.replace_schema_metadata(None)) for batch in table]
        except (pyarrow.ArrowInvalid, KeyError, UnicodeDecodeError) as error:
            raise ChannelError(str(error)) from None


def _exit_code(told: Mapping[str, Any]) -> int:
    return 2 if told.get("exit_code") == 2 else 1


def _progress(told: Any) -> QueryProgress:
    try:
        return QueryProgress(**{**told, "tracks": ()})
    except TypeError as error:
        raise ChannelError(str(error)) from None
