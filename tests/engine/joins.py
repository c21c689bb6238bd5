# SPDX-License-Identifier: Apache-2.0
"""Joins of two streams that are pushed: their plans, their models, and what a run of both says.

Expressions are GSQL over the columns of both streams, `a_t` of the left one and `b_t` of the right
one, so that each is checked as a query's would be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow

from gigastream.gsql.expressions import ColumnRef, Expression, rewrite
from gigastream.gsql.queries import TimeRelation
from gigastream.gsql.types import Column, Schema, Temporal
from gigastream.plan import Plan
from gigastream.plan.nodes import Node
from gigastream.plan.operators.join import Join, JoinedColumn
from gigastream.plan.operators.output import Output
from gigastream.sessions.high_session import HighSession
from gigastream.settings import Settings
from tests.engine.stepping import INFINITE, NOTHING, Out, Row, bound, out_of, plan_of
from tests.models import join as model
from tests.models.bounds import Joint, Vector

SIDES = ("a", "b")
COLUMNS = ("t", "u", "d", "port", "word", "ip")
TEMPORAL = 3
"""Of them the first: two clocks that rise, and one that falls."""
NULLABLE = ("port", "ip")
_FIELDS = (
    "time AS {0}_t, time_ms AS {0}_u, -CAST(time AS llong) AS {0}_d, srcPort AS {0}_port, "
    "interface AS {0}_word, srcIP AS {0}_ip"
)
_STREAM = "DEFINE {{ query_name {0}; }} SELECT " + _FIELDS + " FROM TCP"
BOTH = (
    "DEFINE { query_name both; visibility internal; } SELECT "
    + ", ".join(_FIELDS.format(side) for side in SIDES)
    + " FROM TCP"
)
ARROW = {
    "t": pyarrow.uint32(),
    "u": pyarrow.int64(),
    "d": pyarrow.int64(),
    "port": pyarrow.uint16(),
    "word": pyarrow.binary(),
    "ip": pyarrow.binary(16),
}


def negative(row: Row) -> Row:
    """A row as the model has it, or back: what falls is held as its negative."""
    t, u, d, *rest = row
    return (t, u, None if d is None else -d, *rest)


@dataclass(frozen=True)
class TimeText:
    """A side of a pair: GSQL of `{0}`, and what the model makes of that column."""

    text: str
    time: model.Time


@dataclass(frozen=True)
class PairText:
    """Two of them."""

    sides: tuple[TimeText, TimeText]
    reach: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class KeyText:
    """An equality: GSQL for either side, and the same of a row."""

    texts: tuple[str, str]
    functions: tuple[Callable[[Row], Any], Callable[[Row], Any]]


def plain_time(column: str, reach: tuple[int, int] = (0, 0)) -> PairText:
    """The same column of both sides."""
    first, second = (TimeText(f"{side}_{column}", time_of(column)) for side in SIDES)
    return PairText((first, second), reach)


def time_of(column: str, function: Callable[[int], int] = lambda value: value) -> model.Time:
    return model.Time(COLUMNS.index(column), function)


def plain_key(column: str) -> KeyText:
    """The same column of both sides."""
    at = COLUMNS.index(column)
    return KeyText((f"a_{column}", f"b_{column}"), ((lambda row: row[at]),) * 2)


@dataclass(frozen=True)
class Case:
    """A join."""

    pairs: tuple[PairText, ...]
    keys: tuple[KeyText, ...] = ()
    residual: str = ""
    residual_of: Callable[[Row, Row], bool | None] = lambda first, second: True
    keeps: tuple[bool, bool] = (False, False)
    shared: str = ""
    """A column that the predicate equates, put out once, by its name alone."""
    gives_joint: bool = False
    max_rows: int | None = None
    nullable: tuple[str, ...] = NULLABLE
    is_of_itself: bool = False
    left_out: tuple[str, ...] = field(default=())
    """Columns of the output that are not put out."""

    @cached_property
    def places(self) -> tuple[JoinedColumn, ...]:
        """The columns of the output."""
        own = [
            JoinedColumn(f"{side}_{name}", (at, None) if port == 0 else (None, at))
            for port, side in enumerate(SIDES)
            for at, name in enumerate(COLUMNS)
            if name != self.shared and f"{side}_{name}" not in self.left_out
        ]
        if not self.shared:
            return tuple(own)
        at = COLUMNS.index(self.shared)
        return (JoinedColumn(self.shared, (at, at)), *own)

    @property
    def bounded(self) -> list[int]:
        """The columns of the output that are temporal."""
        return [
            at
            for at, column in enumerate(self.places)
            if all(place is None or place < TEMPORAL for place in column.places)
            and self._is_there(column)
        ]

    def _is_there(self, column: JoinedColumn) -> bool:
        if all(self.keeps):
            return None not in column.places
        return any(
            place is not None and not self.keeps[1 - port]
            for port, place in enumerate(column.places)
        )

    def model(self) -> model.Join:
        """It in plain Python."""
        pairs = tuple(
            model.Pair((pair.sides[0].time, pair.sides[1].time), pair.reach) for pair in self.pairs
        )
        keys = tuple(key.functions for key in self.keys)
        return model.Join(
            model.Predicate(pairs, keys, self.residual_of),
            self.keeps,
            [column.places for column in self.places],
            temporal=TEMPORAL,
            bounded=self.bounded,
            joint=self.gives_joint,
            max_rows=self.max_rows,
        )

    # The plan

    def plan(self) -> Plan:
        """It as a plan, whose inputs are streams `a` and `b`, or `a` twice."""
        left, right = self._inputs()
        expression = self._binder((left, right))
        join = Join(
            name="joined",
            schema=self._schema(left, right),
            order=(None,) * len(self.places),
            left=left,
            right=right,
            keeps=self.keeps,
            pairs=tuple(
                TimeRelation((expression(p.sides[0].text), expression(p.sides[1].text)), p.reach)
                for p in self.pairs
            ),
            keys=tuple((expression(k.texts[0]), expression(k.texts[1])) for k in self.keys),
            residual=(expression(self.residual),) if self.residual else (),
            columns=self.places,
            gives_joint=self.gives_joint,
            max_rows=self.max_rows,
        )
        nodes = {node.name: node for node in (left, right)}.values()
        out = Output(name="joined", schema=join.schema, order=join.order, input=join)
        return Plan((*nodes, join, out))

    def _inputs(self) -> tuple[Node, Node]:
        streams = plan_of(";".join(_STREAM.format(side) for side in SIDES)).low
        left, right = (self._stream(node) for node in streams)
        return (left, left) if self.is_of_itself else (left, right)

    def _stream(self, node: Node) -> Node:
        names = [column.name[2:] for column in node.schema.columns]
        columns = (
            replace(column, name=name, nullable=name in self.nullable)
            for name, column in zip(names, node.schema.columns, strict=True)
        )
        return replace(node, schema=Schema(tuple(columns)))

    def _binder(self, inputs: tuple[Node, Node]) -> Callable[[str], Expression]:
        def column(part: Expression) -> Expression:
            if not isinstance(part, ColumnRef):
                return replace(part, nullable=any(child.nullable for child in part.children))
            port, name = SIDES.index(part.name[0]), part.name[2:]
            at = COLUMNS.index(name)
            found = inputs[port].schema.columns[at]
            return replace(part, index=at, port=port, name=name, nullable=found.nullable)

        def expression(text: str) -> Expression:
            (found,) = _bound_expressions(text)
            return rewrite(found, column)

        return expression

    def _schema(self, left: Node, right: Node) -> Schema:
        return Schema(
            tuple(self._column(at, column, (left, right)) for at, column in enumerate(self.places))
        )

    def _column(self, at: int, column: JoinedColumn, inputs: tuple[Node, Node]) -> Column:
        port = 0 if column.places[0] is not None else 1
        place = column.places[port]
        assert place is not None
        found = inputs[port].schema.columns[place]
        is_padded = self.keeps[1 - port] and None in column.places
        return replace(
            found,
            name=column.name,
            nullable=found.nullable or is_padded,
            temporal=found.temporal if at in self.bounded else Temporal.VARYING,
        )


def _bound_expressions(text: str) -> tuple[Expression, ...]:
    plan = plan_of(f"{BOTH}; DEFINE {{ query_name one; }} SELECT {text} AS x FROM both")
    (node,) = (node for node in plan.nodes if node.name == "one" and not node.is_output)
    return node.column_expressions


@dataclass(frozen=True)
class Pushed:
    """A batch of an input: rows as the model has them, and what it promises."""

    port: int
    rows: tuple[Row, ...]
    bounds: tuple[int, ...]
    is_end: bool = False
    missing: int = 0
    is_heartbeat: bool = False


def arrow(rows: Sequence[Row], nullable: Sequence[str]) -> pyarrow.RecordBatch | None:
    """Rows as they are pushed."""
    if not rows:
        return None
    fields = [pyarrow.field(name, ARROW[name], nullable=name in nullable) for name in COLUMNS]
    told = list(map(negative, rows))
    arrays = [
        pyarrow.array([row[at] for row in told], column.type) for at, column in enumerate(fields)
    ]
    return pyarrow.record_batch(arrays, schema=pyarrow.schema(fields))


def push(session: HighSession, case: Case, *batches: Pushed) -> list[Out]:
    """What comes of some batches, once all that is due is out."""
    for batch in batches:
        _give(session, case, batch)
    return [out_of(event.query, event.batch) for event in session.batches()]


def _give(session: HighSession, case: Case, batch: Pushed) -> None:
    stream = "a" if case.is_of_itself else SIDES[batch.port]
    bounds = [INFINITE if batch.is_end else value for value in batch.bounds]
    bounds += [NOTHING] * (len(COLUMNS) - TEMPORAL)
    rows = arrow(batch.rows, case.nullable)
    flags = {
        "is_heartbeat": batch.is_heartbeat,
        "is_end": batch.is_end,
        "is_missing": bool(batch.missing),
    }
    session.push(stream, "default", rows, bounds, **flags)


def told_all(batch_rows: int | None = None) -> Settings:
    """Every punctuation is seen."""
    return Settings(output_punctuation=True, batch_rows=batch_rows, deliver_every_burst=True)


class Checker:
    """Holds what comes out to the model."""

    def __init__(self, case: Case) -> None:
        self._case, self._model = case, case.model()
        self._signs = [
            -1 if any(p == COLUMNS.index("d") for p in column.places) else 1
            for column in case.places
        ]
        self._bounds: Vector = tuple(map(bound, (NOTHING,) * len(case.places)))
        self._joint: Joint | None = None
        self._has_ended = False

    @property
    def model(self) -> model.Join:
        return self._model

    def check(self, batch: Pushed, outs: Sequence[Out]) -> None:
        """What has come of a batch, once all that is due is out."""
        promised = tuple(map(bound, batch.bounds))
        ports = (0, 1) if self._case.is_of_itself else (batch.port,)
        rows: list[Row] = []
        told = self._model.missing.now
        for port in ports:
            self._model.miss(port, batch.missing, promised, is_end=batch.is_end)
            told |= self._model.missing.now
            given = self._model.on_batch(port, batch.rows, promised, is_end=batch.is_end)
            rows += given.rows
        for out in outs:
            self._take(out)
        self._check_missing(told, outs)
        found = [row for out in outs for row in map(self._as_model, out.rows)]
        assert Counter(found) == Counter(rows)
        assert self._bounds == given.bounds
        assert self._joint == given.joint
        assert self._has_ended == given.is_end

    def _check_missing(self, told: int, outs: Sequence[Out]) -> None:
        """It is said from when it was told until all that the rows would have met has left."""
        missing = self._model.missing
        missing.send(self._model.reached())
        for out in outs:
            assert missing.now & ~out.missing == out.missing & ~told == 0, (told, missing.now, outs)
        assert not outs or outs[-1].still_missing == missing.now

    def _as_model(self, row: Row) -> Row:
        pairs = zip(row, self._signs, strict=True)
        return tuple(value if value is None or sign > 0 else -value for value, sign in pairs)

    def _take(self, out: Out) -> None:
        """No row is below what was given before it, and nothing given goes back."""
        assert not self._has_ended
        for row in map(self._as_model, out.rows):
            bounded = [at for at in self._case.bounded if row[at] is not None]
            assert all(row[at] >= self._bounds[at] for at in bounded)
            assert self._joint is None or not self._joint.covers(row)
        bounds = tuple(map(bound, out.bounds))
        assert all(new >= old for new, old in zip(bounds, self._bounds, strict=True))
        self._bounds, self._has_ended = bounds, out.is_end
        if out.joint is not None:
            self._joint = out.joint_of(range(len(self._case.places)))
