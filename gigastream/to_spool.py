# SPDX-License-Identifier: Apache-2.0
"""The low level alone, into a spool: what every LFTA puts out, interface by interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.arrow_schema import arrow_schema
from gigastream.codegen.low import is_read
from gigastream.engine.session import Event, Statistics
from gigastream.engine.threaded import open_session
from gigastream.plan.base_time import base_bound
from gigastream.plan.to_json import to_json
from gigastream.spool import NOTHING, SpoolError, SpoolSettings, SpoolWriter, TrackWriter
from gigastream.spooled import queries_to_json

if TYPE_CHECKING:
    from gigastream.gsql.types import Column
    from gigastream.live import Source
    from gigastream.plan.nodes import LowNode, Plan
    from gigastream.query_texts import QueryTexts
    from gigastream.settings import Settings

Port = tuple[str, str]
"""(stream, interface)."""


@dataclass(frozen=True, slots=True)
class _Stream:
    node: LowNode
    track: TrackWriter


class LowSession:
    """Like a Session, but its rows go into the spool at `root`.

    A spool whose last run has not ended is gone on with: its packets' time is where that run
    stopped, and what is older is late. Raises SpoolError, SourceError, EngineError.
    """

    def __init__(
        self,
        plan: Plan,
        texts: QueryTexts,
        sources: Sequence[Source],
        settings: Settings,
        root: str | Path,
        spool_settings: SpoolSettings | None = None,
        links_are_open: Callable[[], None] | None = None,
    ) -> None:
        """Open all; `texts` are those that `plan` was made of, with its interfaces.

        `links_are_open` is called when the spool and all links are open, and nothing is read.
        """
        self._writer = SpoolWriter(root, spool_settings)
        try:
            self._streams = self._open_streams(plan, texts)
            self._session = open_session(
                plan,
                sources,
                replace(settings, low_level_only=True),
                low_taps=True,
                promises=self._promises(),
                include=texts.include,
                links_are_open=links_are_open,
            )
        except BaseException:
            with suppress(SpoolError):
                self._writer.close()
            raise

    def turns(self) -> Iterator[int]:
        """Write what comes until the input ends or stop(); yield the rows of each turn."""
        for turn in self._session.turns():
            for event in turn:
                self._write(event)
            self._writer.tick()
            yield sum(event.batch.row_count for event in turn)

    def stop(self) -> None:
        """End the input here. May be called by a signal handler."""
        self._session.stop()

    def statistics(self) -> Statistics:
        """The counters so far."""
        return self._session.statistics()

    def close(self) -> None:
        """Make durable what is written, and give everything back. Raises SpoolError."""
        self._session.close()
        self._writer.close()

    def __enter__(self) -> LowSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(SpoolError):  # the error that is on its way says it already
            self.close()

    # ---- tracks ----

    def _open_streams(self, plan: Plan, texts: QueryTexts) -> dict[Port, _Stream]:
        described = to_json(plan), queries_to_json(texts)
        return {
            (node.name, interface): _Stream(node, self._open_track(node, interface, *described))
            for node in plan.low
            for interface in texts.interfaces
            if is_read(node, interface)
        }

    def _open_track(
        self, node: LowNode, interface: str, plan: dict[str, Any], queries: dict[str, Any]
    ) -> TrackWriter:
        columns = [described(column) for column in node.schema.columns]
        schema = arrow_schema(node.schema)
        return self._writer.open_track(node.name, interface, schema, columns, plan, queries)

    def _promises(self) -> dict[str, int]:
        """By interface, the packet time that a stream of it had reached in the last run."""
        promises: dict[str, int] = {}
        for (_, interface), stream in self._streams.items():
            reached = stream.track.resume.base_ns
            promises[interface] = max(promises.get(interface, NOTHING), reached)
        return promises

    def _write(self, event: Event) -> None:
        assert event.interface is not None
        stream, batch = self._streams[event.query, event.interface], event.batch
        bounds = batch.bounds
        stream.track.write(
            batch.to_arrow() if batch.row_count else None,
            bounds,
            base_bound(stream.node, bounds),
            batch.sequence,
            is_end=batch.is_end,
        )


def described(column: Column) -> dict[str, Any]:
    """Return what a spool says of a column."""
    return {
        "name": column.name,
        "type": str(column.type),
        "temporal": column.temporal.value,
        "nullable": column.nullable,
        "subtype": column.subtype,
        "clock": column.clock,
    }
