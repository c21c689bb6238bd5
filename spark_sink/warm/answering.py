# SPDX-License-Identifier: Apache-2.0
"""One caller's queries: those that its spool was written for, by the session that is there."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow

from spark_sink.account import query_accounts
from spark_sink.driver_query import start_on_driver
from spark_sink.job_errors import JobError
from spark_sink.progress import QueryProgress
from spark_sink.run import Streams, plan_of_paths
from spark_sink.sinks import DriverSink
from spark_sink.streaming import Running, finish, spark_errors, stop, watch
from spark_sink.warm.channel import (
    ASK,
    DONE,
    FAILED,
    HELLO,
    PROGRESS,
    ROWS,
    WRITTEN,
    Channel,
    ChannelError,
    plain,
)
from spark_sink.window_complete.query import SpoolQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gigastream.gsql.types import Schema

_TOLD_EVERY_S = 0.5
_ROWS = 1 << 16
"""In a message."""
_AT_ONCE = {"processingTime": "0 milliseconds"}


def answer(session: SparkSession, channel: Channel) -> None:
    """Answer one caller, to its end or the answer's; what is wrong is told to it."""
    try:
        channel.send(HELLO)
        asked = _asked(channel)
        own = session.newSession()  # names of queries are its own, and two callers may use one
        if asked.get("is_quick"):
            own.conf.set("spark.sql.codegen.wholeStage", "false")
        _CallersAnswer(own, channel).run(asked)
    except ChannelError as error:
        _tell(channel, str(error), None)
    except JobError as error:
        _tell(channel, str(error), error.hint)
    except ConnectionError:
        pass  # the caller has gone
    except Exception as error:  # whatever it is: other callers are answered
        _tell(channel, f"the job failed: {error or type(error).__name__}", None)
    finally:
        channel.close()


def _tell(channel: Channel, message: str, hint: str | None) -> None:
    with suppress(OSError):
        channel.send_json(FAILED, {"message": message, "hint": hint})


def _asked(channel: Channel) -> dict[str, Any]:
    found = channel.receive()
    if found is None:
        raise ConnectionError
    if found[0] != ASK:
        raise ChannelError("what came over the socket is no question")
    asked: dict[str, Any] = plain(found[1], dict)
    folder, definitions = asked.get("folder"), asked.get("definitions")
    if not isinstance(folder, str) or not isinstance(definitions, list):
        raise ChannelError("what came over the socket is no question")
    if not all(isinstance(each, str) for each in definitions):
        raise ChannelError("what came over the socket is no question")
    found_folder = os.lstat(folder)
    if not stat.S_ISDIR(found_folder.st_mode) or found_folder.st_uid != os.geteuid():
        raise JobError(f"{folder} is no folder of ours")
    return asked


class _WireSink(DriverSink):
    """Sends rows to the caller, which prints them."""

    def __init__(self, channel: Channel, lock: threading.Lock, query: str, schema: Schema) -> None:
        super().__init__(lock, query, schema)
        self._channel = channel

    def _put(self, batches: Sequence[pyarrow.RecordBatch], _number: int) -> None:
        pieces = (batch.slice(at, _ROWS) for batch in batches for at in _starts(batch))
        for batch in pieces:
            stream = pyarrow.BufferOutputStream()
            named = batch.schema.with_metadata({b"query": self.query.encode()})
            with pyarrow.ipc.new_stream(stream, named) as writer:
                writer.write_batch(batch.replace_schema_metadata(named.metadata))
            self._channel.send(ROWS, stream.getvalue().to_pybytes())
            self.written += batch.num_rows


def _starts(batch: pyarrow.RecordBatch) -> range:
    return range(0, batch.num_rows, _ROWS)


class _CallersAnswer:
    def __init__(self, session: SparkSession, channel: Channel) -> None:
        self._session = session
        self._channel = channel
        self._running: list[Running] = []
        self._is_written = threading.Event()
        self._is_gone = threading.Event()
        self._told_s = time.monotonic()

    def run(self, asked: dict[str, Any]) -> None:
        folder = Path(asked["folder"])
        spool = str(folder / "spool")
        self._plan = plan_of_paths([spool], None, asked["definitions"], on_driver=True)
        self._read = Streams(self._session, [spool])
        with spark_errors():
            try:
                self._start(folder)
                watch(self._running, self._is_over)
                if not self._is_gone.is_set():
                    finish(self._running)
            finally:
                stop(self._running)
        if not self._is_gone.is_set():
            self._channel.send_json(DONE, [self._at_end(each) for each in self._running])

    def _start(self, folder: Path) -> None:
        lock = threading.Lock()
        for node in self._plan.outputs:
            sink = _WireSink(self._channel, lock, node.name, node.schema)
            place = str(folder / "checkpoints" / str(len(self._running)))
            asked = SpoolQuery(node.name, self._plan, node, self._read, place)
            self._running.append(start_on_driver(asked, sink, _AT_ONCE, without_state=True))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """The caller says that its spool is whole; if it goes, its queries end."""
        try:
            while (found := self._channel.receive()) is not None:
                if found[0] == WRITTEN:
                    self._is_written.set()
        except (ChannelError, OSError, ValueError):
            pass
        self._is_gone.set()
        stop(self._running)

    def _is_over(self) -> bool:
        if time.monotonic() - self._told_s > _TOLD_EVERY_S:
            self._told_s = time.monotonic()
            told = [_plain(each.progress()) for each in self._running]
            self._channel.send_json(PROGRESS, told)
        return self._is_written.is_set() or self._is_gone.is_set()

    def _at_end(self, running: Running) -> dict[str, Any]:
        """Rows in are those of the spool that were read, each of them once."""
        accounts = query_accounts(
            running.name, self._plan, self._read.source_options, running.reached()
        )
        return _plain(replace(running.progress(), rows_in=sum(each.read for each in accounts)))


def _plain(progress: QueryProgress) -> dict[str, Any]:
    return replace(progress, tracks=()).as_json()
