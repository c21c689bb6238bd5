# SPDX-License-Identifier: Apache-2.0
"""Where a new checkpoint takes up: behind the windows that are over at a punctuation.

A point is a time, or another checkpoint, whose job has stopped: the windows that have left there
leave no more, and all others do, whole. That is a sentence about windows; of rows that leave at
once it says nothing, so that only queries all of whose rows are of windows can take up at one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pyarrow.fs

from gigastream.plan.operators.low_node import LowNode
from gigastream.plan.plan import Plan
from gigastream.spool import Entry
from spark_sink.checkpoint import FILE, filesystem, known_parts, part, read_json
from spark_sink.job_errors import JobError
from spark_sink.options import parse
from spark_sink.reading import Reading
from spark_sink.spark_checkpoint import last_done
from spark_sink.spools import Spools
from spark_sink.window_complete.due import Due, can_answer
from spark_sink.window_complete.micro_batch_log import MicroBatchLog


def after_of(
    point: str, plan: Plan, spools: Sequence[str], options: Mapping[str, str]
) -> dict[str, int]:
    """Return by query up to which base time (ms) windows are over at a point.

    Raises JobError where there is no such point, or the spools cannot give what is behind it.
    """
    found = {}
    for output in plan.outputs:
        if not can_answer(plan, output):
            raise JobError(
                f"--from: rows of {output.name} do not all leave with windows, and a point says of "
                "windows alone whether they are out",
                "without --from it is answered from the oldest that the spool has",
                exit_code=2,
            )
        at_ms, due = _time_ms(point), Due(plan, output)
        found[output.name] = _reached_ms(point, output.name, due) if at_ms is None else at_ms
        _check_kept(point, due, found[output.name], spools, options)
    return found


def _time_ms(text: str) -> int | None:
    """A time without a zone is UTC's."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


# Another checkpoint


def _reached_ms(folder: str, query: str, due: Due) -> int:
    system, path = filesystem(folder)
    try:
        said = read_json(system, f"{path}/{FILE}")
    except OSError as error:
        raise JobError(f"--from {folder}: {error}", exit_code=2) from None
    if not said:
        raise JobError(
            f"--from {folder} is neither a time nor a checkpoint",
            "--from '2026-11-22 10:00:00', or the --checkpoint of a job that has stopped",
            exit_code=2,
        )
    names = [name for (its, _), name in known_parts(said).items() if its == query]
    reached = {_part_reached_ms(folder, name, query, due) for name in names}
    if len(reached) == 1:
        return reached.pop()
    what = "has no query" if not names else "has outputs that are not equally far of the query"
    raise JobError(
        f"--from {folder}: it {what} {query}",
        "`DEFINE { query_name … }` names one as it was; --trigger now lets all outputs catch up",
        exit_code=2,
    )


def _part_reached_ms(folder: str, name: str, query: str, due: Due) -> int:
    place = part(folder, name)
    system, path = filesystem(place)
    if system.get_file_info(f"{path}/planned").type == pyarrow.fs.FileType.Directory:
        log = MicroBatchLog(place)
        is_done, reached_ms = log.is_done, 0 if log.last is None else log.last.until_ms
    elif due.leaves_early:
        raise JobError(
            f"--from {folder}: rows of {query} left Spark's store when they matched, which it does"
            " not keep",
            "--from a time, or the checkpoint of a job with --state spool",
            exit_code=2,
        )
    else:
        done = last_done(place)
        is_done = done is None or done.is_newest
        reached_ms = 0 if done is None else done.watermark_ms
    if not is_done:
        raise JobError(
            f"--from {folder}: a micro-batch of {query} was begun and is not done: whether its "
            "rows are out nobody knows",
            "run that job once more, with --trigger now",
            exit_code=2,
        )
    return reached_ms


# What is still there


def _check_kept(
    point: str, due: Due, after_ms: int, paths: Sequence[str], options: Mapping[str, str]
) -> None:
    """Refuse where retention has deleted rows of windows behind the point."""
    since = due.needed_from(after_ms)
    for stream in due.streams:
        spools = Spools(parse({**options, "paths": json.dumps(paths), "stream": stream.name}))
        spools.refresh({})
        for _, readings in spools.chains().values():
            for reading in readings:
                if _has_lost(due, stream, reading, since[stream.name]):
                    raise JobError(
                        f"--from {point}: retention has deleted rows of {reading.track.folder} "
                        "that windows behind it need",
                        "a later point, or a new checkpoint without --from",
                        exit_code=2,
                    )


def _has_lost(due: Due, stream: LowNode, reading: Reading, since_ns: int) -> bool:
    """By the lines that are left; of what stood before them the punctuation behind it tells."""
    index, first = reading.index, reading.track.retained().first
    deleted: list[Entry] = index.between(0, first)
    is_behind = index.heartbeat_before_ns(index.first_segment) > since_ns
    before = index.rows_before(index.first_segment) > 0 and is_behind
    return before or any(due.has_rows_from(stream, entry, since_ns) for entry in deleted)
