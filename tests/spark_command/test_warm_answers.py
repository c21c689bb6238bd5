# SPDX-License-Identifier: Apache-2.0
"""What a caller makes of what comes over the socket, and of what goes wrong with its own output."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow
import pytest

from gigastream.spool.plan import SpooledPlanError
from spark_sink.job_errors import JobError
from spark_sink.warm.channel import DONE, FROM_CALLER, FROM_SERVER, ROWS, Channel, GoneError
from spark_sink.warm.client import Question, WarmAnswer

QUESTION = Question("/tmp/gigastream-run-0", (), is_quick=True, idle_s=1.0)


@contextmanager
def answered_with(*messages: tuple[bytes, bytes]) -> Iterator[WarmAnswer]:
    ours, theirs = socket.socketpair()
    server = Channel(theirs, FROM_CALLER)
    for message in messages:
        server.send(*message)
    try:
        yield WarmAnswer(Channel(ours, FROM_SERVER))
    finally:
        server.close()


def rows_of(metadata: dict[bytes, bytes]) -> bytes:
    batch = pyarrow.record_batch({"a": [1]}).replace_schema_metadata(metadata)
    stream = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getvalue().to_pybytes()


def failing(error: Exception) -> Callable[..., bool]:
    def fail(*_: object) -> bool:
        raise error

    return fail


def kept(_query: str, _batch: pyarrow.RecordBatch) -> None:
    pass


@pytest.mark.parametrize(
    "error", [BrokenPipeError("a reader has left"), KeyError("a"), pyarrow.ArrowInvalid("a")]
)
def test_what_is_wrong_with_the_output_is_no_word_of_the_servers(error: Exception) -> None:
    with answered_with((ROWS, rows_of({b"query": b"q"}))) as answer, pytest.raises(type(error)):
        answer.take(QUESTION, failing(error), lambda: True)
    with answered_with() as answer, pytest.raises(type(error)):
        answer.take(QUESTION, kept, failing(error))


def test_an_error_of_ours_keeps_its_hint_and_exit_code() -> None:
    from spark_sink.warm.answering import _for_a_person

    told = _for_a_person(SpooledPlanError("what", "hint"))
    assert (str(told), told.hint, told.exit_code) == ("what", "hint", 2)
    told = _for_a_person(ConnectionRefusedError())
    assert (str(told), told.exit_code) == ("the job failed: ConnectionRefusedError", 1)


def test_only_the_channels_own_errors_say_that_the_other_end_has_gone() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(GoneError):
        Channel(ours, FROM_SERVER).send(DONE)
    ours.close()
    with pytest.raises(GoneError):
        Channel(ours, FROM_SERVER).receive()


@pytest.mark.parametrize(
    "message",
    [(ROWS, b"no rows"), (ROWS, rows_of({})), (ROWS, rows_of({b"query": b"\xff"})), (DONE, b"{}")],
)
def test_what_is_no_answer_is_told_as_the_servers(message: tuple[bytes, bytes]) -> None:
    with answered_with(message) as answer, pytest.raises(JobError, match="the warm server has"):
        answer.take(QUESTION, kept, lambda: True)
