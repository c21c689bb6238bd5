# SPDX-License-Identifier: Apache-2.0
"""Operators of the high level followed batch by batch: what went in is known by a tap.

A follower is told of every batch that goes into its operator and of every batch that comes out, in
the order in which they did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.engine.stepping import Call, Out
from tests.models.bounds import NEVER, Joint, Vector, greatest, known
from tests.models.hfta import Aggregate, Batch, Closed, OrderLimit, Row, Select, Union

Normal = Callable[[Row], Row]
Promise = tuple[Vector, Joint | None]


class Follower(ABC):
    """Checks one operator."""

    @abstractmethod
    def takes(self, port: int, out: Out) -> None:
        """A batch has gone in."""

    @abstractmethod
    def gives(self, out: Out) -> None:
        """A batch has come out."""

    @abstractmethod
    def after(self, call: Call) -> None:
        """A call of the engine is over."""

    @abstractmethod
    def finish(self) -> None:
        """The run is over."""


def promise_of(out: Out, columns: Sequence[int]) -> Promise:
    """What a batch says of these columns."""
    return out.punctuation(columns), out.joint_of(columns)


def batch_of(out: Out, columns: Sequence[int]) -> Batch:
    """The same as the models take it."""
    promise = promise_of(out, columns)
    return Batch(out.rows, *promise, out.missing, out.still_missing)


class Direct(Follower):
    """Select and union: what a batch brings leaves in the same call, rows before punctuation."""

    def __init__(
        self,
        model: Select | Union,
        in_columns: Sequence[int],
        out_columns: Sequence[int],
        row: Normal = lambda row: row,
    ) -> None:
        self._model = model
        self._in_columns, self._out_columns, self._row = in_columns, out_columns, row
        self._expected: deque[Row | Promise] = deque()
        self._told: Promise = model.punctuation, None
        self._given: Promise = model.punctuation, None
        self._has_ended = False

    def takes(self, port: int, out: Out) -> None:
        batch = batch_of(out, self._in_columns)
        model = self._model
        result = model.on_batch(port, batch) if isinstance(model, Union) else model.on_batch(batch)
        self._expected.extend(map(self._row, result.rows))
        promise = result.punctuation, result.joint
        if promise != self._told or out.is_heartbeat:
            self._expected.append(promise)
        self._told = promise

    def gives(self, out: Out) -> None:
        assert not self._has_ended
        for row in out.rows:
            assert self._expected.popleft() == row
        promise = promise_of(out, self._out_columns)
        if promise != self._given or out.is_heartbeat:
            assert self._expected.popleft() == promise
        self._given, self._has_ended = promise, out.is_end

    def after(self, call: Call) -> None:
        """Behind the input's end rows may wait for a fuller batch; before, for nothing."""
        assert not self._expected or not call.records

    def finish(self) -> None:
        assert self._has_ended


class Paced(Follower):
    """Aggregate and order: windows that are due leave oldest first, a batch at a time."""

    hides_groups = False
    """HAVING lets a batch's worth of groups leave without a row."""

    def __init__(self, columns: Sequence[int], out_columns: Sequence[int], normal: Normal) -> None:
        self._columns, self._out_columns, self._normal = columns, out_columns, normal
        self._due: deque[tuple[Vector, list[Row], bool]] = deque()
        self._given: Promise = (NEVER,) * len(out_columns), None
        self._heartbeats = 0
        self._has_ended = False
        self._waiting = False
        self._moved = False

    @abstractmethod
    def close(self, batch: Batch) -> list[Closed]:
        """The windows that this batch makes due."""

    @abstractmethod
    def bound(self, held: Sequence[Vector]) -> Vector:
        """The bound to give while these are not yet out."""

    @abstractmethod
    def joint(self, held: Sequence[Vector]) -> Joint | None:
        """The joint bound to give while these are not yet out; None: the one before."""

    @abstractmethod
    def take_row(self, rows: list[Row], row: Row) -> None:
        """Take the row that came out from those of its window."""

    def takes(self, port: int, out: Out) -> None:
        self._heartbeats += out.is_heartbeat
        for closed in self.close(batch_of(out, self._columns)):
            self._due.append((closed.window, list(closed.rows), closed.is_partial))
        self._due = deque(sorted(self._due, key=lambda due: due[0]))

    def gives(self, out: Out) -> None:
        assert not self._has_ended
        is_partial = False
        promise = promise_of(out, self._out_columns)
        self._moved |= bool(out.rows) or promise != self._given
        for row in map(self._normal, out.rows):
            while not self._due[0][1]:
                self._due.popleft()
            self.take_row(self._due[0][1], row)
            is_partial |= self._due[0][2]
        assert out.is_partial == is_partial or not out.rows
        self._check_bounds(promise)
        self._heartbeats -= out.is_heartbeat
        self._has_ended = out.is_end

    def _check_bounds(self, promise: Promise) -> None:
        """Windows without a row left may have gone, as long as all before them have."""
        empty = next((i for i, due in enumerate(self._due) if due[1]), len(self._due))
        held = [window for window, *_ in self._due]
        for gone in range(empty, -1, -1):
            if self._promise(held[gone:]) == promise:
                for _ in range(gone):
                    self._due.popleft()
                self._given = promise
                return
        raise AssertionError(f"{promise} given, {self._promise(held[empty:])} expected, {held} due")

    def _promise(self, held: Sequence[Vector]) -> Promise:
        bounds, joint = self._given
        return greatest(bounds, self.bound(held)), known(joint, self.joint(held))

    def after(self, call: Call) -> None:
        """What is due does not wait for input: some of it goes with every packet."""
        assert self._heartbeats == 0, "every heartbeat is passed on, once and at once"
        assert self._moved or self.hides_groups or not (self._waiting and call.records)
        self._waiting, self._moved = any(rows for _, rows, _ in self._due), False

    def finish(self) -> None:
        assert self._has_ended
        assert not any(rows for _, rows, _ in self._due)


class Aggregated(Paced):
    """An aggregation; `state` makes (window, group, state) of an input row."""

    def __init__(
        self,
        model: Aggregate,
        state: Normal,
        columns: Sequence[int],
        out_columns: Sequence[int],
        normal: Normal = lambda row: row,
        has_having: bool = False,
    ) -> None:
        super().__init__(columns, out_columns, normal)
        self._model, self._state = model, state
        self.hides_groups = has_having

    def close(self, batch: Batch) -> list[Closed]:
        rows = tuple(map(self._state, batch.rows))
        return self._model.on_batch(replace(batch, rows=rows))[0]

    def bound(self, held: Sequence[Vector]) -> Vector:
        return self._model.punctuation_while(held)

    def joint(self, held: Sequence[Vector]) -> Joint | None:
        return self._model.joint_while(held)

    def take_row(self, rows: list[Row], row: Row) -> None:
        rows.remove(row)


class Ordered(Paced):
    """ORDER BY … LIMIT; the window is the first `width` columns of a row."""

    def __init__(self, model: OrderLimit, width: int = 1) -> None:
        columns = tuple(range(width))
        super().__init__(columns, columns, lambda row: row)
        self._model, self._width = model, width

    def close(self, batch: Batch) -> list[Closed]:
        windows: dict[Vector, list[Row]] = {}
        for row in self._model.on_batch(batch).rows:
            windows.setdefault(row[: self._width], []).append(row)
        return [Closed(window, tuple(rows)) for window, rows in windows.items()]

    def bound(self, held: Sequence[Vector]) -> Vector:
        return tuple(map(min, zip(self._model.punctuation, *held, strict=True)))

    def joint(self, held: Sequence[Vector]) -> Joint | None:
        return self._model.joint_while(held)

    def take_row(self, rows: list[Row], row: Row) -> None:
        assert rows.pop(0) == row


def follow(calls: Sequence[Call], inputs: Sequence[str], output: str, follower: Follower) -> None:
    """Tell a follower all that went into an operator and all that came out."""
    sequences: dict[str, int] = {}
    for call in calls:
        for out in call.outs:
            assert out.sequence == sequences.get(out.node, 0), "batches of a stream are numbered"
            sequences[out.node] = out.sequence + 1
            if out.node in inputs:
                follower.takes(inputs.index(out.node), out)
            if out.node == output:
                follower.gives(out)
        follower.after(call)
    follower.finish()
