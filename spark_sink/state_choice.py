# SPDX-License-Identifier: Apache-2.0
"""Where an output's open windows wait: as asked, as its checkpoint began, or by default.

What the driver writes waits in the spool (window_complete/), unless its checkpoint was begun with
Spark's store: the two number their micro-batches each on its own, so neither can go on with the
other's progress. What Spark writes waits in Spark's store, files of Parquet if asked in the spool.
"""

from __future__ import annotations

from collections.abc import Collection

from spark_sink.checkpoint import BEGUN, filesystem, known_outputs, newest_number, read_begun
from spark_sink.job_errors import JobError
from spark_sink.session import SPOOL
from spark_sink.sinks import Sink


def outputs_begun(folder: str) -> frozenset[str]:
    """By name, the outputs that a job's checkpoint has had. Raises JobError."""
    system, path = filesystem(folder)
    try:
        return known_outputs(read_begun(system, path) or {})
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None


def output_name(sink: Sink, state: str | None, begun: Collection[str]) -> str:
    """Return what a checkpoint calls an output: a table's keys are numbers of one kind.

    `state` is what was asked for, `begun` the outputs that it has. Raises JobError where these do
    not go together.
    """
    if sink.tables is None:
        return sink.text
    in_store, in_spool = sink.text, f"{sink.text} (--state {SPOOL})"
    if state is None:
        return in_store if in_store in begun and in_spool not in begun else in_spool
    wanted, other = (in_spool, in_store) if state == SPOOL else (in_store, in_spool)
    if other in begun and wanted not in begun:
        raise _refusal(sink.text, state)
    return wanted


def is_without_state(name: str, state: str | None, folder: str, *, by_default: bool = True) -> bool:
    """Return whether an output goes by whole windows; `folder` has its progress.

    `by_default`: one that has not begun, where nothing is asked for: what the driver writes.
    Raises JobError where it was begun the other way than `state` says.
    """
    system, path = filesystem(folder)
    try:
        in_spool, in_store = (newest_number(system, f"{path}/{at}") is not None for at in BEGUN)
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    if state is None:
        return in_spool or (by_default and not in_store)
    is_wanted = state == SPOOL
    if in_spool != in_store and in_spool != is_wanted:
        raise _refusal(name, state)
    return is_wanted


def _refusal(name: str, state: str) -> JobError:
    how = "with Spark's state store" if state == SPOOL else f"with --state {SPOOL}"
    return JobError(
        f"{name} was begun {how} in this checkpoint, and cannot go on with --state {state}",
        "without --state it goes on as it was begun; another way is a new --checkpoint",
        exit_code=2,
    )
