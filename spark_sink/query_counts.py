# SPDX-License-Identifier: Apache-2.0
"""What Spark tells of a streaming query's micro-batches, added up; each of them once.

Spark counts our heartbeats as rows. A micro-batch has one where its offsets say so, which is a
function of the two alone, as everything of it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gigastream.spool import NOTHING
from spark_sink.offsets import END_MS, from_json, heartbeat_of
from spark_sink.progress import QueryProgress, TrackLag, lags

_NS_PER_MS = 1_000_000
_DROPPED = "numRowsDroppedByWatermark"


class QueryCounts:
    """One query's, since this process began."""

    def __init__(self, name: str, streams: Sequence[str] = ()) -> None:
        """`streams`, if they are known, in the order of the sources."""
        self.name = name
        self._streams = streams
        self.last_batch = -1
        self.late = 0
        self._rows_in = 0
        self._rows_out: int | None = 0
        self._last: Mapping[str, Any] = {}

    def take(self, said: Mapping[str, Any]) -> None:
        """Add a `StreamingQueryProgress`, as JSON; one that is known is left out."""
        if said["batchId"] <= self.last_batch:
            return
        self.last_batch, self._last = said["batchId"], said
        self._rows_in += sum(map(_rows_of, _ours(said)))
        self.late += sum(state.get(_DROPPED, 0) for state in _states(said))
        given = said.get("sink", {}).get("numOutputRows", -1)
        self._rows_out = None if given < 0 or self._rows_out is None else self._rows_out + given

    def progress(self, rows_out: int | None = None) -> QueryProgress:
        """The counters; `rows_out` where a sink of ours has counted them."""
        states = _states(self._last)
        return QueryProgress(
            self.name,
            self.last_batch + 1,
            self._rows_in,
            self._rows_out if rows_out is None else rows_out,
            sum(state.get("numRowsTotal", 0) for state in states),
            sum(state.get("memoryUsedBytes", 0) for state in states),
            self.late,
            _watermark_ns(self._last.get("eventTime", {}).get("watermark")),
            _lags(_ours(self._last), self._streams),
        )


def _ours(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The sources that read spools; a query of somebody's own may have others beside."""
    return [source for source in said.get("sources", ()) if _is_ours(source)]


def _is_ours(source: Mapping[str, Any]) -> bool:
    end = source.get("endOffset")
    positions = [each for key, each in end.items() if key] if isinstance(end, dict) else []
    return bool(positions) and all(isinstance(p, dict) and "hb" in p for p in positions)


def is_of_spools(said: Mapping[str, Any]) -> bool:
    """Whether a query reads a spool at all."""
    return bool(_ours(said))


def _states(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(said.get("stateOperators", ()))


def _rows_of(source: Mapping[str, Any]) -> int:
    is_beat = heartbeat_of(source.get("startOffset") or {}, source["endOffset"]) is not None
    return max(0, int(source["numInputRows"]) - is_beat)


def _lags(sources: list[Mapping[str, Any]], streams: Sequence[str]) -> tuple[TrackLag, ...]:
    found: tuple[TrackLag, ...] = ()
    for number, source in enumerate(sources, 1):
        end = from_json(source["endOffset"])
        known = from_json(source.get("latestOffset") or source["endOffset"])
        name = f"{streams[number - 1]} on " if number <= len(streams) else f"input {number}: "
        found += lags(end, known, name if len(sources) > 1 else "")
    return found


def _watermark_ns(text: str | None) -> int:
    """Before the first heartbeat Spark says 1970."""
    if text is None:
        return NOTHING
    milliseconds = round(datetime.fromisoformat(text).timestamp() * 1000)
    return NOTHING if milliseconds in (0, END_MS) else milliseconds * _NS_PER_MS
