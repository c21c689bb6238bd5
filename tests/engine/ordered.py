# SPDX-License-Identifier: Apache-2.0
"""Sort and Merge followed batch by batch: their rows in order, and exactly what they promise."""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.high_level import Follower, batch_of, promise_of
from tests.engine.stepping import Call, Out
from tests.models.ordered import Ordered


class Waits(Follower):
    """`columns` are the temporal ones; with `is_drained` all that is due has left after a call."""

    def __init__(self, model: Ordered, columns: Sequence[int], *, is_drained: bool = True) -> None:
        self.model, self._columns, self._is_drained = model, columns, is_drained
        self._given = (model.punctuation, model.joint)
        self._heartbeats = 0
        self._has_ended = False

    def takes(self, port: int, out: Out) -> None:
        self._heartbeats += out.is_heartbeat
        self.model.take(port, batch_of(out, self._columns))

    def gives(self, out: Out) -> None:
        assert not self._has_ended
        for row in out.rows:
            assert self.model.due()[0] == row
            self.model.leave()
        self._given = promise_of(out, self._columns)
        assert self._given == self.model.promise()
        assert out.missing == self.model.missing.send(self.model.punctuation)
        assert out.still_missing == self.model.missing.now
        self._heartbeats -= out.is_heartbeat
        self._has_ended = out.is_end

    def after(self, call: Call) -> None:
        """What is due has left, and what is promised has been given: neither waits for input."""
        assert self._heartbeats == 0, "every heartbeat is passed on, once and at once"
        if self._is_drained:
            assert not self.model.due()
            assert self._given == self.model.promise()

    def finish(self) -> None:
        assert self._has_ended
        assert not self.model.held
