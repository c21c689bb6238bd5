# SPDX-License-Identifier: Apache-2.0
"""A query set at work: attached to an engine, or alone, with batches that are pushed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gigastream.engine import counters
from gigastream.engine._native import ffi, lib
from gigastream.engine.batch import EngineError, NativeBatch, check
from gigastream.engine.events import Event, Origin, interfaces, origins, ports, take
from gigastream.engine.exchange import GroupShare
from gigastream.engine.host_map import HostMap
from gigastream.engine.node_places import ALL_HERE, NodePlaces
from gigastream.engine.opening import check_tables, compiled, default_slots, set_settings
from gigastream.engine.statistics import LftaStatistics, ListStatistics, OperatorStatistics
from gigastream.engine.turns import Turn
from gigastream.engine.watchlists import Watchlists
from gigastream.late_dataclass import replace
from gigastream.plan import Plan
from gigastream.plan.base_time import base_times
from gigastream.plan.rules.share_groups import unshared
from gigastream.settings import Settings

NOTHING = -(1 << 63)


class AttachedSet:
    """A plan, compiled and loaded; Engine.attach() or stand_alone() opens it. EngineError.

    Its code is unloaded when it is closed and the last batch that was taken of it is gone.
    """

    def __init__(
        self,
        plan: Plan,
        settings: Settings | None = None,
        include: Sequence[Path] = (),
        *,
        interfaces: int = 1,
        parts: int = 1,
        part: GroupShare | None = None,
        taps: Sequence[str] = (),
        low_taps: bool = False,
        high_level_only: bool = False,
        is_low_elsewhere: bool = False,
        only_whole: bool = False,
        is_brief: bool = False,
        places: NodePlaces = ALL_HERE,
        turn: Turn | None = None,
        code: Path | None = None,
    ) -> None:
        """Load a plan.

        `interfaces` is how many its engine has, `parts` how many sets like it have part of the
        packets each, and `part` which groups are this one's, if they are parted; `include` are
        folders of C headers that user protocols name. `taps` names nodes whose streams come out as
        well; with `low_taps` every LFTA's batches do. `is_low_elsewhere`: nothing of the low level
        is compiled, which another process runs. `only_whole`: rows of windows that were running
        when it came, or went, are left out, and counted (cut_rows). `is_brief`: its sources are
        small. `places`: what is not run by it. `turn` has its number whenever it has its turn.
        `code`: that of another set of this plan, with the same settings, is its own, too.
        """
        settings = settings or Settings()
        plan = plan if settings.share_groups else unshared(plan)
        self.memory_bytes = settings.memory_bytes
        """The setting."""
        self._nodes = [node.name for node in plan.nodes]
        self._times = base_times(plan)
        self._error = ffi.new("struct gs_error *")
        self._known_outputs: dict[str, list[int]] = {}
        self.code = code or compiled(
            plan,
            include,
            is_low_elsewhere=is_low_elsewhere,
            is_brief=is_brief,
            fast_path=settings.fast_path,
        )
        """The compiled object."""
        native = set_settings(settings)
        native.default_slot_count = default_slots(plan, interfaces * parts)
        native.set_count = parts
        native.low_taps, native.high_level_only = low_taps, high_level_only
        all_nodes = range(len(plan.nodes))
        elsewhere = all_nodes if settings.low_level_only else places.of_others
        self._host_map = HostMap(plan, elsewhere)
        native.host_map, native.host_context = lib.gs_host_map, self._host_map.handle
        native.only_whole = only_whole
        if part is not None:
            native.exchange, native.part = part.exchange.native, part.number
        self._turn, self._part = turn, part  # they outlive it
        if turn is not None:
            native.number, native.turn = turn.number, turn.word.native
        loaded = ffi.new("struct gs_attached_set **")
        status = lib.gs_attached_load(os.fsencode(self.code), native, loaded, self._error)
        self._native: Any = loaded[0]
        has_packets = not (high_level_only or is_low_elsewhere)
        self._lists = Watchlists(plan.watchlists if has_packets else (), loaded[0])
        try:
            check(status, self._error)
            self._place(places)
            self.tap(taps)
        except BaseException:
            self.close()
            raise

    @property
    def native(self) -> Any:
        """The `struct gs_attached_set *`. EngineError once it is closed."""
        if self._native == ffi.NULL:
            raise EngineError("the query set is closed")
        return self._native

    def _place(self, places: NodePlaces) -> None:
        """Let others run what they are to run: before it is opened."""
        given = ((lib.GS_PLACE_ELSEWHERE, places.elsewhere), (lib.GS_PLACE_PUSHED, places.pushed))
        for place, nodes in given:
            for node in nodes:
                check(lib.gs_attached_place(self.native, node, place, self._error), self._error)

    def tap(self, nodes: Sequence[str]) -> None:
        """Let the streams of these nodes come out as well: before it is opened."""
        for name in nodes:
            node = self._nodes.index(name)
            check(lib.gs_attached_tap(self.native, node, self._error), self._error)

    def open_files(self) -> None:
        """Read its watchlists, run its files in Python. ListError, EngineError.

        What opening links takes has been given up by then.
        """
        self._lists.open()
        self._host_map.load()

    def raise_problem(self) -> None:
        """Raise what a function in Python has ended it with, if one has."""
        self._host_map.raise_problem()

    def stand_alone(self, interfaces: Sequence[str]) -> None:
        """Open a high level whose batches are pushed, of these interfaces. BudgetError."""
        self._host_map.load()
        for name in interfaces:
            status = lib.gs_attached_add_interface(self.native, name.encode(), self._error)
            check(status, self._error)
        status = lib.gs_attached_stand_alone(self.native, self._error)
        check_tables(status, self._error, self.memory_bytes)

    def push(self, push: Any) -> None:
        """Give it a `struct gs_push *`, if it stands alone."""
        status = lib.gs_attached_push(self.native, push, self._error)
        self.raise_problem()
        check(status, self._error)

    def hand_over(self, port: int, batch: NativeBatch) -> None:
        """Give it a batch as it is that another set of the same plan has put out, likewise."""
        status = lib.gs_attached_hand_over(self.native, port, batch.pointer, self._error)
        self.raise_problem()
        check(status, self._error)

    def taken(self) -> Iterator[Event]:
        """The batches that wait, oldest first; watchlists that have changed are given before."""
        self._lists.look()
        while (event := take(self.native, self._origins, self._interfaces)) is not None:
            yield event

    def drained(self) -> Iterator[Event]:
        """All that is due, of a set that stands alone or is detached."""
        status = lib.GS_OK
        while status != lib.GS_END:
            status = lib.gs_attached_drain(self.native, self._error)
            self.raise_problem()
            check(status, self._error)
            yield from self.taken()

    def wanted(self) -> dict[int, int]:
        """The packet time (ns) that is waited for, by port, of a set that stands alone."""
        lib.gs_attached_ask_for_time(self.native)
        found = {}
        for port in range(len(self.ports)):
            value = int(lib.gs_attached_port_wanted(self.native, port).value)
            if value != NOTHING:
                found[port] = value
        return found

    def pass_punctuation(self) -> None:
        """Put out batches without rows, too, from now on: their bounds say which rows are out."""
        lib.gs_attached_pass_punctuation(self.native)

    def settle(self) -> None:
        """Let all that is due go out at once, rows that wait for a fuller batch, too."""
        lib.gs_attached_settle(self.native)
        self.raise_problem()

    def check(self) -> None:
        """Raise EngineError where there was no memory to go on: it gets no more packets then."""
        self.raise_problem()
        check(lib.gs_attached_check(self.native, self._error), self._error)

    @property
    def is_answered(self) -> bool:
        """Whether every query has had its last row: what else comes in changes none."""
        return bool(lib.gs_attached_is_answered(self.native))

    @cached_property
    def ports(self) -> tuple[tuple[str, str], ...]:
        """The (low node, interface) of each port, once it is opened."""
        return tuple(ports(self.native))

    @property
    def _outputs(self) -> dict[str, list[int]]:
        """They are known once it is opened, and do not change then."""
        if not self._known_outputs:
            self._known_outputs = counters.outputs(self.native)
        return self._known_outputs

    @cached_property
    def _interfaces(self) -> list[str]:
        return interfaces(self.native)

    @cached_property
    def _origins(self) -> list[Origin]:
        return origins(self.native)

    def lftas(self) -> tuple[LftaStatistics, ...]:
        """The counters of its low level so far."""
        return counters.lftas(self.native)

    def lists(self) -> tuple[ListStatistics, ...]:
        """The counters of its watchlists so far."""
        return self._lists.statistics()

    def operators(self) -> tuple[OperatorStatistics, ...]:
        """The counters of its high level so far."""
        found, raised = counters.operators(self.native, self._times), self._host_map.raised()
        if not raised:
            return found
        return tuple(replace(each, raised=raised.get(each.name, ())) for each in found)

    @property
    def cut_rows(self) -> dict[str, int]:
        """By query, the rows that `only_whole` has left out so far."""
        return counters.cut_rows(self.native, self._outputs)

    def whole_from(self, query: str) -> int | None:
        """The first value of a query's first temporal column of which it sees every row.

        None: all of them are whole, none was left out at the beginning; or none of its columns
        tells windows apart.
        """
        value = ffi.new("int64_t *")
        for node in self._outputs.get(query, ()):
            if lib.gs_attached_whole_from(self.native, node, value):
                return int(value[0])
        return None

    def close(self) -> None:
        """Give everything back; batches that were taken stay good."""
        self._lists.close()
        lib.gs_attached_free(self._native)
        self._native = ffi.NULL

    def __enter__(self) -> AttachedSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
