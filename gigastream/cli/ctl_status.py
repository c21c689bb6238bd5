# SPDX-License-Identifier: Apache-2.0
"""What a daemon says of itself, for a person: in the words of a run's account (summary.py)."""

from __future__ import annotations

import pwd
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gigastream.cli.progress import in_bytes
from gigastream.cli.summary import lfta_line, list_line, operator_line, remarks, source_lines
from gigastream.daemon.losses import loss_text, seconds_text
from gigastream.engine.statistics import NONE
from gigastream.gsql.stream_names import is_of_stream
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.daemon.loader_messages import TableState
    from gigastream.daemon.messages import (
        CaptureReport,
        Loss,
        OutputStatistics,
        QueriesAnswer,
        SetState,
        SetStatistics,
        StatusAnswer,
    )
    from gigastream.engine.statistics import Statistics

_SECOND_NS = 10**9
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
LOSSES_SHOWN = NOTICES_SHOWN = 5


def status_text(status: StatusAnswer) -> str:
    """Return all that a person looks for first; `--json` has everything."""
    return "\n".join(_status_lines(status))


def queries_text(answer: QueriesAnswer) -> str:
    """Return the sets with their texts and outputs."""
    if not answer.sets:
        return "there is no query set; gigastream ctl add FILE.gsql adds one"
    return "\n\n".join("\n".join(_set_text(state)) for state in answer.sets.values())


def _status_lines(status: StatusAnswer) -> Iterator[str]:
    yield _head(status)
    report = status.report
    if report is None:
        yield "nothing has been counted yet"
    else:
        yield from _inputs(status, report)
    for name, state in status.sets.items():
        yield from _set_lines(name, state, report)
        yield from (f"  {_table(each)}" for each in status.tables if each.set_name == name)
    if report is not None:
        yield from _resources(report)
        yield from remarks(_statistics(report))
    if not status.sets:
        yield "there is no query set; gigastream ctl add FILE.gsql adds one"
    yield from _losses(status.losses)
    yield from (f"notice: {notice}" for notice in status.notices[-NOTICES_SHOWN:])


def _head(status: StatusAnswer) -> str:
    up = _span((time.time_ns() - status.started_ns) / _SECOND_NS)
    if status.capture_pid is None:
        process = "no capture process: it is being started again"
    else:
        process = f"capture process {status.capture_pid}"
    again = ""
    if status.restarts:
        again = (
            f", restarted {counted(status.restarts, 'time')} (counters of sets are since the last)"
        )
    return f"gigastream {status.version}, up {up}; {process}{again}"


def _inputs(status: StatusAnswer, report: CaptureReport) -> Iterator[str]:
    yield from source_lines(status.sources or report.sources)
    yield from _records(report)
    rings = [f"{ring.label} {ring.used:,} of {ring.blocks:,} blocks" for ring in report.rings]
    if rings:
        yield f"rings in use: {', '.join(rings)}"
    for source in report.sources:
        if source.link not in (None, "up"):
            yield f"{source.label}: the link is {source.link}"
    if report.sampling_shift:
        yield (
            f"overload: 1 in {1 << report.sampling_shift:,} flows is looked at "
            f"(policy {status.overload.policy})"
        )


def _records(report: CaptureReport) -> Iterator[str]:
    """How far STREAMs are in their own time, and why one broke off."""
    for source in report.sources:
        if not is_of_stream(source.interface):
            continue
        if source.is_ended:
            yield f"{source.label}: it has ended"
        elif source.promise_ns != NONE:
            yield f"{source.label}: its records have come to {_clock(source.promise_ns)}"
        if source.damage is not None:
            yield f"{source.label}: {source.damage}"
        yield from (f"{source.label}: {note}" for note in source.notes)


def _set_lines(name: str, state: SetState, report: CaptureReport | None) -> Iterator[str]:
    found = None
    if report is not None:
        found = next((each for each in report.sets if each.name == name), None)
    yield f"set {name}, {_whose(state)}: {_state_of(found, state, report)}"
    if found is None or report is None:
        return
    yield from (f"  {lfta_line(lfta, lfta.decoded)}" for lfta in found.lftas)
    yield from (f"  {operator_line(operator)}" for operator in found.operators)
    yield from (f"  {list_line(item)}" for item in found.lists)
    for query, rows in found.rows.items():
        yield f"  {query}: {counted(rows, 'row')}{_reached(found, query, report.at_ns)}"
    if found.cut_rows:
        yield f"  {counted(found.cut_rows, 'row')} of windows that were not seen whole left out"
    yield from (f"  {_output(output)}" for output in found.outputs)


def _state_of(found: SetStatistics | None, state: SetState, report: CaptureReport | None) -> str:
    if found is None and (report is None or report.at_ns <= state.since_ns):
        return "begun, and not in a report yet: there is one each second"
    if found is None:
        return "not attached"
    if found.failure is not None:
        return f"failed: {found.failure}"
    return "rests, since the host is overloaded" if found.shed else "running"


def _whose(state: SetState) -> str:
    whose = "of the configuration" if state.from_config else f"added by user {_user(state.by_uid)}"
    return f"{whose}, since {_clock(state.since_ns)}"


def _user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return str(uid)


def _reached(found: SetStatistics, query: str, at_ns: int) -> str:
    """Say how far a query has answered, by packet time."""
    newest = found.newest_ns.get(query)
    if newest is None or not 0 < newest < 1 << 62:
        return ""
    behind_s = (at_ns - newest) / _SECOND_NS
    behind = f" ({_behind(behind_s)} behind)" if behind_s > 0 else ""
    return f", answered up to {_clock(newest)}{behind}"


def _behind(seconds: float) -> str:
    return seconds_text(seconds) if seconds < _MINUTE_S else _span(seconds)


def _output(output: OutputStatistics) -> str:
    files = f" in {counted(output.files, 'file')}" if output.files > 1 else ""
    lost = f", {output.lost:,} lost" if output.lost else ""
    failed = f"; failed: {output.failure}" if output.failure is not None else ""
    rows = counted(output.rows, "row")
    return f"{output.format}:{output.path}: {rows}, {in_bytes(output.bytes)}{files}{lost}{failed}"


def _table(table: TableState) -> str:
    """What a loader has put into it, and what it has not."""
    if table.state == "waiting":
        state = f"waits: {table.why}"
    else:
        lag = 0 if table.lag_ns is None else table.lag_ns
        state = f"filled, {_span(lag / _SECOND_NS)} behind its spool"
    counts = {
        "of the low level in damaged segments": table.lost_rows,
        "of the low level deleted before they were read": table.retired_rows,
        "without room in memory": table.refused_rows,
        "without a value": table.no_value_rows,
    }
    lost = "".join(f", {counted(count, 'row')} {what}" for what, count in counts.items() if count)
    return f"{table.table}: {counted(table.rows, 'row')}{lost}; {state}"


def _resources(report: CaptureReport) -> Iterator[str]:
    cpu = f"CPU {report.cpu_ns / _SECOND_NS:.3g} s"
    memory = f"{in_bytes(report.rss_anon_bytes)} of memory"
    held = report.memory
    budget = ""
    if held is not None:
        most = in_bytes(held.limit_bytes)
        budget = f" (tables, groups and rows: {in_bytes(held.held_bytes)} of {most})"
    yield f"{cpu}, {memory}{budget}, {counted(report.descriptors, 'descriptor')}"


def _losses(losses: tuple[Loss, ...]) -> Iterator[str]:
    if len(losses) > LOSSES_SHOWN:
        yield f"{len(losses) - LOSSES_SHOWN:,} losses before these (--json)"
    for loss in losses[-LOSSES_SHOWN:]:
        yield f"crash at {_clock(loss.at_ns)}: {loss_text(loss)} ({loss.reason})"


def _statistics(report: CaptureReport) -> Statistics:
    """Return the counters as a run has them."""
    from gigastream.engine.statistics import Statistics

    return Statistics(
        report.sources,
        tuple(lfta for each in report.sets for lfta in each.lftas),
        tuple(operator for each in report.sets for operator in each.operators),
        report.memory,
    )


def _set_text(state: SetState) -> Iterator[str]:
    spec = state.spec
    yield f"{spec.name}, {_whose(state)}, from {spec.file}"
    if spec.parameters:
        yield "  " + ", ".join(f"{name} = {value}" for name, value in spec.parameters.items())
    yield from (f"  functions in Python of {file}" for file in state.python)
    yield from (f"  → {output}" for output in spec.outputs)
    yield from (f"    {line}".rstrip() for line in spec.text.strip().splitlines())


def _clock(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / _SECOND_NS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(seconds: float) -> str:
    """Return a time in its two greatest units."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    if whole < _DAY_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"
    return f"{counted(whole // _DAY_S, 'day')} {whole % _DAY_S // _HOUR_S} h"
