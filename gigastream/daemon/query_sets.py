# SPDX-License-Identifier: Apache-2.0
"""The query sets of a daemon: they come, change and go; one that fails changes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from gigastream.daemon.compile_client import CompileClient
from gigastream.daemon.hangs import HANGS, Hangs
from gigastream.daemon.keeping import Keeper, Told
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    AttachOrder,
    DetachOrder,
    OrderDone,
    OutputSpec,
    QuerySetSpec,
    SetState,
)
from gigastream.daemon.places import SET_NAME, SET_NAME_HINT, WORD_MOST, OutputPlaces
from gigastream.daemon.python_files import has_changed
from gigastream.daemon.reloading import Change, changes
from gigastream.daemon.tables_of_sets import WantedTable, wanted_tables
from gigastream.daemon.targets_of_sets import check_places
from gigastream.daemon.trial import Trial
from gigastream.late_dataclass import dataclass

SETS_MAX = 1000
_DETACHED_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A set, and what it takes to attach it again."""

    state: SetState
    object_path: str
    outputs: tuple[OutputSpec, ...]

    @property
    def name(self) -> str:
        """The set's."""
        return self.state.spec.name


class QuerySets:
    """By name; changes are made one after the other, and compiled before they are."""

    def __init__(
        self, keeper: Keeper, compiler: CompileClient, places: OutputPlaces, told: Told
    ) -> None:
        self._keeper = keeper
        self._compiler = compiler
        self._places = places
        self._told = told
        self._held: dict[str, _Held] = {}
        self._change = asyncio.Lock()
        self._trial = Trial(keeper)
        self._hangs = Hangs()

    @property
    def states(self) -> dict[str, SetState]:
        """The sets that there are, oldest first. From any thread."""
        return {name: held.state for name, held in self._held.copy().items()}

    @property
    def tables(self) -> tuple[WantedTable, ...]:
        """That are to be filled now."""
        states = self.states.values()
        return tuple(
            each for one in states for each in wanted_tables(one.spec, one.since_ns, one.python)
        )

    async def add(self, spec: QuerySetSpec, uid: int, *, from_config: bool = False) -> str:
        """Compile a set and attach it; what there is to say about it. DaemonError."""
        self._check_new(spec)
        held, warnings = await self._compiled(spec, uid, from_config)
        async with self._change:
            self._check_new(spec)
            self._check_places(spec, from_config)
            await self._attach(held)
            self._held[spec.name] = held
        return warnings

    async def prepare(self, specs: Sequence[QuerySetSpec], uid: int, *, strict: bool) -> None:
        """Compile the sets of the configuration, before anything is read. DaemonError if strict."""
        made = [self._compiled(spec, uid, True) for spec in specs]
        found = await asyncio.gather(*made, return_exceptions=True)
        for spec, compiled in zip(specs, found, strict=True):
            try:
                if isinstance(compiled, BaseException):
                    raise compiled
                self._check_new(spec)
                self._check_places(spec, True)  # now that those before it are held
            except DaemonError as error:
                if strict:
                    raise
                hint = f"\nhint: {error.hint}" if error.hint else ""
                self._told(f"the set {spec.name} is left out: {error}{hint}")
            else:
                self._held[spec.name] = compiled[0]

    def orders(self) -> tuple[AttachOrder, ...]:
        """What a capture process begins with: nothing, where one of the sets is sought out."""
        if (name := self._hangs.ended(self._keeper.hung_in)) is not None:
            self._told(f"the capture process hung in the turn of the set {name}")
        if (guilty := self._trial.suspect) is not None:
            self._leave_out(guilty, "the capture process has crashed with it, again and again")
        if (guilty := self._hangs.guilty) is not None:
            self._leave_out(guilty, f"the capture process hung in its turn {HANGS} times in a row")
            self._keeper.ended_at_once = 0  # whose fault it was is known
        if self._trial.begins():
            self._told("crashes at once: the sets are attached one after another, to find whose")
            return ()
        return tuple(self._order(held) for held in self._held.values())

    async def attached(self, done: dict[str, OrderDone]) -> None:
        """What became of the sets that a capture process began with."""
        for name, end in done.items():
            if end.error is not None:
                self._leave_out(name, end.error)
        if self._trial.is_on:
            await self._try_each()

    async def _try_each(self) -> None:
        """Between two of them others may be dropped, or added, which is a trial, too."""
        for name, held in list(self._held.items()):
            async with self._change:
                if self._held.get(name) is not held:
                    continue
                done = await self._trial.attach(name, self._order(held))
            if done is None:
                return
            if done.error is not None:
                self._leave_out(name, done.error)
        self._trial.is_on = False

    def _leave_out(self, name: str, why: str) -> None:
        if self._held.pop(name, None) is not None:
            self._told(f"the set {name} is left out: {why}")

    async def drop(self, name: str) -> str:
        """Detach a set; what there is to say about it. DaemonError."""
        async with self._change:
            self._named(name)
            said = await self._detach(name)
            del self._held[name]
        return said

    async def _detach(self, name: str) -> str:
        """From the capture process, if it is there and answers; the next one begins without it."""
        order = DetachOrder(number=self._keeper.next_number(), name=name)
        try:
            async with asyncio.timeout(_DETACHED_WITHIN_S):
                done = await self._keeper.order(order)
        except TimeoutError:
            return "the capture process does not answer: it goes with its end, or when it does"
        if done.error is not None and self._keeper.is_heard and not self._trial.is_on:
            raise DaemonError(done.error, done.hint)
        return ""

    async def set_parameter(self, name: str, parameter: str, value: str, uid: int) -> str:
        """Run a set with another value, from a window's edge on. DaemonError."""
        spec = self._named(name).state.spec
        parameters = {**spec.parameters, parameter: value}
        return await self.replace(msgspec.structs.replace(spec, parameters=parameters), uid)

    async def replace(
        self, spec: QuerySetSpec, uid: int, *, from_config: bool | None = None
    ) -> str:
        """Put a set in the place of the one of its name. DaemonError."""
        before = self._named(spec.name)
        is_configured = before.state.from_config if from_config is None else from_config
        held, warnings = await self._compiled(spec, uid, is_configured)
        async with self._change:
            self._check_same(spec.name, before)
            self._check_places(spec, is_configured)
            await self._attach(held, replaces=True)
            self._held[spec.name] = held
        return warnings

    async def reload(
        self, specs: Sequence[QuerySetSpec], uid: int
    ) -> tuple[list[str], list[DaemonError]]:
        """Make the configured sets be these; what was done, and what could not be.

        One that goes makes place first; sets whose outputs go from one to another change together.
        Of a set that is the same, or is not of the configuration, the functions in Python may be
        others.
        """
        done, failed = list[str](), list[DaemonError]()
        states = self.states
        before = {name: state for name, state in states.items() if state.from_config}
        anew = {name for name, state in before.items() if has_changed(state.python)}
        for change in changes(before, specs, anew):
            try:
                await self._make(change, uid)
                done.append(change.told(before))
            except DaemonError as error:
                failed.append(_of_sets(change.names, error))
        for name in (name for name in states if name not in before):
            state = self.states.get(name)  # a client may have changed it, or dropped it, by now
            if state is not None and has_changed(state.python):
                try:
                    await self.replace(state.spec, state.by_uid)
                    done.append(f"changed {name}")
                except DaemonError as error:
                    failed.append(_of_sets((name,), error))
        return done, failed

    async def _make(self, change: Change, uid: int) -> None:
        if change.moved:
            await self._exchange(change, uid)
        elif not change.specs:
            await self.drop(change.gone[0])
        elif change.specs[0].name in self._held:
            await self.replace(change.specs[0], uid, from_config=True)
        else:
            await self.add(change.specs[0], uid, from_config=True)

    async def _exchange(self, change: Change, uid: int) -> None:
        """Put sets in the place of others, whose outputs they have; if one fails, all are back."""
        names = change.names
        before = {name: self._held.get(name) for name in names}
        coming = [await self._compiled_beside(spec, change, uid) for spec in change.specs]
        async with self._change:
            for name in names:
                self._check_same(name, before[name])
            for spec in change.specs:
                self._check_places(spec, True, change.names)
            await self._swap([held for held in before.values() if held], coming, change)
            for name in change.gone:
                del self._held[name]
            self._held |= {held.name: held for held in coming}

    async def _compiled_beside(self, spec: QuerySetSpec, change: Change, uid: int) -> _Held:
        """Beside what all of a change become. DaemonError."""
        if spec.name not in self._held:
            _check_name(spec)
        beside = [other for other in change.specs if other is not spec]
        try:
            return (await self._compiled(spec, uid, True, change.names, beside))[0]
        except DaemonError as error:
            raise _of_sets((spec.name,), error) from None

    async def _swap(self, before: Sequence[_Held], coming: Sequence[_Held], change: Change) -> None:
        """What moves ends first; the others go on to a window's edge, where they are replaced."""
        stay = {held.name for held in before if held.name not in change.moved}
        gone, come, name = set[str](), set[str](), ""
        try:
            for name in sorted(change.moved):
                await self._detach(name)
                gone.add(name)
            for held in coming:
                name = held.name
                await self._attach(held, replaces=name in stay)
                come.add(name)
        except DaemonError as error:
            for new in come:
                with suppress(DaemonError):
                    await self._detach(new)
            for each in before:
                if each.name in gone | come:
                    await self._put_back(each)
            raise _of_sets((name,), error) from None

    async def _put_back(self, held: _Held) -> None:
        try:
            await self._attach(held)
        except DaemonError as error:
            if self._keeper.is_heard:  # else the next capture process begins with it
                self._leave_out(held.name, str(error))

    async def _compiled(
        self,
        spec: QuerySetSpec,
        uid: int,
        from_config: bool,
        without: Sequence[str] = (),
        beside: Sequence[QuerySetSpec] = (),
    ) -> tuple[_Held, str]:
        """Compile a set beside the others, but those that make place for it. DaemonError."""
        outputs = self._check_places(spec, from_config, without, beside)
        result = await self._compiler.compile(spec)
        if not result.check.ok:
            raise DaemonError(result.check.message, result.hint)
        state = SetState(
            spec=spec,
            since_ns=time.time_ns(),
            by_uid=uid,
            from_config=from_config,
            python=result.python,
        )
        return _Held(state, result.object_path, outputs), result.check.message

    async def _attach(self, held: _Held, *, replaces: bool = False) -> None:
        _check(await self._keeper.order(self._order(held, replaces=replaces)))

    def _order(self, held: _Held, *, replaces: bool = False) -> AttachOrder:
        spec = held.state.spec
        order = AttachOrder(
            number=self._keeper.next_number(),
            name=spec.name,
            object_path=held.object_path,
            outputs=held.outputs,
            first_window=spec.first_window,
            priority=spec.priority,
            low_level_only=spec.low_level_only,
            replaces=replaces,
        )
        self._hangs.ordered(order)
        return order

    def _check_new(self, spec: QuerySetSpec) -> None:
        _check_name(spec)
        if spec.name in self._held:
            raise DaemonError(
                f"there is a set called {spec.name}", "drop it first, or give another name"
            )
        if len(self._held) >= SETS_MAX:
            raise DaemonError(f"there are {SETS_MAX:,} sets, which is the most", "drop one")

    def _check_places(
        self,
        spec: QuerySetSpec,
        is_configured: bool,
        without: Sequence[str] = (),
        beside: Sequence[QuerySetSpec] = (),
    ) -> tuple[OutputSpec, ...]:
        others = [*self._others(spec.name, *without), *beside]
        return check_places(spec, self._places, others, is_configured=is_configured)

    def _check_same(self, name: str, before: _Held | None) -> None:
        if self._held.get(name) is not before:
            raise DaemonError(f"the set {name} was changed at the same time", "once more")

    def _named(self, name: str) -> _Held:
        if name not in self._held:
            names = ", ".join(self._held) or "none"
            raise DaemonError(f"there is no set called {name[:100]}", f"there are: {names}")
        return self._held[name]

    def _others(self, *names: str) -> list[QuerySetSpec]:
        return [held.state.spec for other, held in self._held.items() if other not in names]


def _of_sets(names: Sequence[str], error: DaemonError) -> DaemonError:
    """An error that says whose it is."""
    if str(error).startswith(tuple(f"{name}: " for name in names)):
        return error
    return DaemonError(f"{', '.join(names)}: {error}", error.hint)


def _check_name(spec: QuerySetSpec) -> None:
    if SET_NAME.fullmatch(spec.name) is None:
        raise DaemonError(f"{spec.name[:WORD_MOST]!r} is no name of a set", SET_NAME_HINT)


def _check(done: OrderDone) -> None:
    if done.error is not None:
        raise DaemonError(done.error, done.hint)
