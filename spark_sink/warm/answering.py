# SPDX-License-Identifier: Apache-2.0
"""One caller's queries: those that its spool was written for, by the session that is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow

from gigastream.gsql.diagnostics import GsqlError
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
    REFUSED,
    ROWS,
    ROWS_BYTES,
    WRITTEN,
    Channel,
    ChannelError,
    GoneError,
    plain,
)
from spark_sink.warm.leftovers import is_a_runs, remove_behind
from spark_sink.window_complete.query import SpoolQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gigastream.gsql.types import Schema

_TOLD_EVERY_S = 0.5
_ASKED_WITHIN_S = 30.0
_ROWS = 1 << 16
"""In a message, and fewer where they are long."""
_NO_JAVA = "Spark's Java has ended"
_AGAIN = "the same command starts another"
_AT_ONCE = {"processingTime": "0 milliseconds"}


def answer(session: SparkSession, channel: Channel, stay: Callable[[float], None]) -> None:
    """Answer one caller, to its end or the answer's; what is wrong is told to it.

    `stay` is told for how many seconds it wants the server to be there.
    """
    folder: Path | None = None
    try:
        channel.send(HELLO)
        asked = _asked(channel)
        folder = Path(asked["folder"])
        stay(float(asked["idle_s"]))
        own = session.newSession()  # names of queries are its own, and two callers may use one
        if asked["is_quick"]:
            own.conf.set("spark.sql.codegen.wholeStage", "false")
        _CallersAnswer(own, channel).run(folder, asked["definitions"])
    except GsqlError:
        with suppress(OSError):
            channel.send(REFUSED)
    except GoneError:
        pass  # or asks nothing
    except Exception as error:  # whatever it is: other callers are answered
        told = JobError(_NO_JAVA, _AGAIN) if _has_no_java(session) else _for_a_person(error)
        _tell(channel, told)
    finally:
        process = channel.process
        channel.close()
    if folder is not None and process:
        remove_behind(process, folder)


def _has_no_java(session: SparkSession) -> bool:
    return session.sparkContext._gateway.proc.poll() is not None


def _for_a_person(error: Exception) -> JobError:
    """As the caller would tell it: errors of ours are sentences, with a hint and an exit code."""
    if type(error).__module__.startswith(("gigastream.", "spark_sink.")):
        return JobError(str(error), getattr(error, "hint", None), getattr(error, "exit_code", 1))
    return JobError(f"the job failed: {str(error) or type(error).__name__}")


def _tell(channel: Channel, error: JobError) -> None:
    told = {"message": str(error), "hint": error.hint, "exit_code": error.exit_code}
    with suppress(OSError):
        channel.send_json(FAILED, told)


_TYPES = {"folder": str, "definitions": list, "is_quick": bool, "idle_s": float}


def _asked(channel: Channel) -> dict[str, Any]:
    found: tuple[bytes, bytes] | None = None
    with suppress(TimeoutError):
        found = channel.receive_within(_ASKED_WITHIN_S)
    if found is None:
        raise GoneError
    asked: dict[str, Any] = plain(found[1], dict) if found[0] == ASK else {}
    if {name: type(value) for name, value in asked.items()} != _TYPES:
        raise ChannelError("what came over the socket is no question")
    is_plain = all(isinstance(each, str) for each in asked["definitions"])
    if not is_plain or not 0 < asked["idle_s"] < float("inf"):
        raise ChannelError("what came over the socket is no question")
    if not is_a_runs(Path(asked["folder"])):
        raise JobError(f"{asked['folder']} is no folder of a run of ours")
    return asked


class _WireSink(DriverSink):
    """Sends rows to the caller, which prints them."""

    def __init__(self, channel: Channel, lock: threading.Lock, query: str, schema: Schema) -> None:
        super().__init__(lock, query, schema)
        self._channel = channel

    def _put(self, batches: Sequence[pyarrow.RecordBatch], _number: int) -> None:
        for batch in (piece for whole in batches for piece in pieces(whole)):
            stream = pyarrow.BufferOutputStream()
            named = batch.schema.with_metadata({b"query": self.query.encode()})
            with pyarrow.ipc.new_stream(stream, named) as writer:
                writer.write_batch(batch.replace_schema_metadata(named.metadata))
            self._channel.send(ROWS, stream.getvalue().to_pybytes())
            self.written += batch.num_rows


def pieces(batch: pyarrow.RecordBatch) -> Iterator[pyarrow.RecordBatch]:
    """Of no more rows than that, and of no more than half the bytes that a message may have."""
    if batch.num_rows <= 1 or (batch.num_rows <= _ROWS and batch.nbytes <= ROWS_BYTES // 2):
        yield batch
        return
    half = batch.num_rows // 2
    yield from pieces(batch.slice(0, half))
    yield from pieces(batch.slice(half))


class _CallersAnswer:
    def __init__(self, session: SparkSession, channel: Channel) -> None:
        self._session = session
        self._channel = channel
        self._running: list[Running] = []
        self._is_written = threading.Event()
        self._is_gone = threading.Event()
        self._told_s = time.monotonic()

    def run(self, folder: Path, definitions: Sequence[str]) -> None:
        spool = str(folder / "spool")
        self._plan = plan_of_paths([spool], None, definitions, on_driver=True)
        self._read = Streams(self._session, [spool])
        with spark_errors():
            try:
                self._start(folder)
                watch(self._running, self._is_over, self._is_written.wait)
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
        if _has_no_java(self._session):  # which is asked for nothing while no more rows come
            raise JobError(_NO_JAVA, _AGAIN)
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
