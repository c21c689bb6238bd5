# SPDX-License-Identifier: Apache-2.0
"""A running set gives way to another, as its parameters have other values: query by query.

One change is one moment, between two packets. A query with windows goes on with the first window
that has none of the packets before; one that passes rows at once, with the next packet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gigastream.codegen.interfaces import is_read
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.events import Event
from gigastream.gsql.types import Schema
from gigastream.late_dataclass import dataclass, field, replace
from gigastream.plan import Plan
from gigastream.plan.nodes import Node, topological
from gigastream.sessions.edges import Edge, Handover, ended_queries, handover

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
    plan: Plan
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
        rest = batch if begin is None else begin.behind(batch, _schemas(self.plan)[event.query])
        rest = rest if rest is None or edge is None else edge.before(rest)
        return None if rest is None else replace(event, batch=rest)


class Succession:
    """The sets of a session: one, and after a change those before it that still have windows."""

    def __init__(self, engine: Engine, queries: AttachedSet, plan: Plan) -> None:
        """Begin with a set, which is attached, or will be."""
        self._engine = engine
        self._stages = [_Stage(queries, plan)]
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
            _check_same(_schemas(old.plan), _schemas(plan))
            old.queries.settle()
            self._waiting = [*self.taken()]
            self._engine.attach(new)
            firsts = {node.name: new.whole_from(node.name) for node in plan.outputs}
            sources = self._engine.statistics()
            _check_edges(plan, firsts, {source.interface for source in sources if source.read})
        except BaseException:
            new.close()
            raise
        edges = {name: _handed_over(name, first, old.plan, plan) for name, first in firsts.items()}
        old.queries.pass_punctuation()
        old.reached |= ended_queries(old.queries, old.plan)
        old.ends = {name: None if edge is None else edge.ends for name, edge in edges.items()}
        begins = {name: edge.begins for name, edge in edges.items() if edge is not None}
        self._stages.append(_Stage(new, plan, begins))
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


def _check_edges(plan: Plan, firsts: Firsts, read: Collection[str]) -> None:
    """Demand of each query a place at which the one set can end and the other begin.

    Of one that reads interfaces of which nothing has been `read` all rows are the new set's.
    """
    for node in plan.outputs:
        if firsts[node.name] is None and holds_rows(node) and _has_read(plan, node, read):
            message = f"{node.name} holds rows, and shows no column that tells its windows apart"
            hint = "select the column of its windows, or end the run and begin another"
            raise ChangeError(message, hint)


def _has_read(plan: Plan, output: Node, read: Collection[str]) -> bool:
    below = {node.name for node in topological((output,))}
    lows = [low for low in plan.low if low.name in below]
    return any(is_read(low, interface) for low in lows for interface in read)


def holds_rows(output: Node) -> bool:
    """Whether rows of a query may wait, so that they do not tell when they came."""
    return any(below.holds_rows for below in topological((output,)))


def _handed_over(query: str, first: int | None, old: Plan, new: Plan) -> Handover | None:
    return None if first is None else handover(first, query, old, new)
