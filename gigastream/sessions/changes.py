# SPDX-License-Identifier: Apache-2.0
"""A running set gives way to another, as its parameters have other values: query by query.

One change is one moment, between two packets. A query with windows goes on with the first window
that has none of the packets before; one that passes rows at once, with the next packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.gsql.types import Schema
from gigastream.plan import Plan
from gigastream.plan.nodes import Node, topological
from gigastream.sessions.edges import Edge, time_column

Firsts = Mapping[str, int | None]
"""By query, the first window (the value of its time column) that is answered anew; None: it passes
rows at once, and has changed with the next packet."""


class ChangeError(Exception):
    """A set that cannot give way to this one; nothing has changed."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass
class _Stage:
    """A set, and for which windows of each query it answers."""

    queries: AttachedSet
    schemas: Mapping[str, Schema]
    begins: Mapping[str, Edge] = field(default_factory=dict)
    ends: Mapping[str, Edge | None] | None = None
    """None: it is the last one; of a query None: it has had its last row."""
    reached: set[str] = field(default_factory=set)

    @property
    def is_done(self) -> bool:
        edges = self.ends or {}
        return self.ends is not None and all(
            edge is None or name in self.reached for name, edge in edges.items()
        )

    def own(self, event: Event) -> Event | None:
        """What of an event is of its windows."""
        batch, edge = event.batch, None
        if self.ends is not None:
            edge = self.ends.get(event.query)
            if edge is None:
                return None
            if edge.is_reached(batch.bounds):
                self.reached.add(event.query)
        begin = self.begins.get(event.query)
        if batch.row_count == 0:
            return event if self.ends is None else None
        rest = batch if begin is None else begin.behind(batch, self.schemas[event.query])
        rest = rest if rest is None or edge is None else edge.before(rest)
        return None if rest is None else replace(event, batch=rest)


class Succession:
    """The sets of a session: one, and after a change those before it that still have windows."""

    def __init__(self, engine: Engine, queries: AttachedSet, plan: Plan) -> None:
        """Begin with a set, which is attached, or will be."""
        self._engine = engine
        self._stages = [_Stage(queries, _schemas(plan))]
        self._waiting: list[Event] = []

    @property
    def current(self) -> AttachedSet:
        """The one that answers from now on."""
        return self._stages[-1].queries

    def taken(self) -> Iterator[Event]:
        """The batches that wait, those of the older sets first."""
        waiting, self._waiting = self._waiting, []
        yield from waiting
        for stage in tuple(self._stages):
            for event in stage.queries.taken():
                own = stage.own(event)
                if own is not None:
                    yield own
            if stage.is_done:
                self._let_go(stage)

    def change(self, new: AttachedSet, plan: Plan) -> Firsts:
        """Let a set answer from here on, made to leave cut windows out. ChangeError, EngineError.

        Where that fails it is closed, and nothing has changed.
        """
        old = self._stages[-1]
        try:
            _check_same(old.schemas, _schemas(plan))
            old.queries.settle()
            self._waiting = [*self.taken()]
            self._engine.attach(new)
            firsts = {node.name: new.whole_from(node.name) for node in plan.outputs}
            has_read = any(source.read for source in self._engine.statistics())
            if has_read:
                _check_edges(plan, firsts)
        except BaseException:
            new.close()
            raise
        edges = {name: _edge(first, old.schemas[name]) for name, first in firsts.items()}
        old.queries.pass_punctuation()
        old.ends = edges
        begins = {name: edge for name, edge in edges.items() if edge is not None}
        self._stages.append(_Stage(new, _schemas(plan), begins))
        if old.is_done:
            self._let_go(old)
        return firsts

    def close(self) -> None:
        """Give all sets back."""
        for stage in self._stages:
            stage.queries.close()

    def _let_go(self, stage: _Stage) -> None:
        self._engine.detach(stage.queries)
        stage.queries.close()
        self._stages.remove(stage)


def _schemas(plan: Plan) -> dict[str, Schema]:
    return {node.name: node.schema for node in plan.outputs}


def _check_same(old: Mapping[str, Schema], new: Mapping[str, Schema]) -> None:
    for name, schema in old.items():
        if new.get(name) != schema:
            message = f"{name} would have other columns, or columns of another kind"
            raise ChangeError(message, "end the run, and begin another")


def _check_edges(plan: Plan, firsts: Firsts) -> None:
    """Demand of each query a place at which the one set can end and the other begin."""
    for node in plan.outputs:
        if firsts[node.name] is None and holds_rows(node):
            message = f"{node.name} holds rows, and shows no column that tells its windows apart"
            hint = "select the column of its windows, or end the run and begin another"
            raise ChangeError(message, hint)


def holds_rows(output: Node) -> bool:
    """Whether rows of a query may wait, so that they do not tell when they came."""
    return any(below.holds_rows for below in topological((output,)))


def _edge(first: int | None, schema: Schema) -> Edge | None:
    place = time_column(schema)
    return None if first is None or place is None else Edge(place, first, schema)
