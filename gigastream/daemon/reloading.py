# SPDX-License-Identifier: Apache-2.0
"""What a reload changes, in the order in which it can be done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, cast

from gigastream.daemon.daemon_config import LinkConfig
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec, SetState
from gigastream.daemon.places import normal
from gigastream.late_dataclass import dataclass
from gigastream.sinks import is_sink
from gigastream.sources.live import LIVE_OPTIONS

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Change:
    """Of one set, or of several whose outputs go from one to another: all of it, or nothing."""

    specs: tuple[QuerySetSpec, ...]
    """What comes, each in the place of the set of its name where there is one."""
    gone: tuple[str, ...] = ()
    """Sets that go."""
    moved: frozenset[str] = frozenset()
    """Sets that there are, of which another has an output afterwards: they end before it comes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that it is about."""
        return (*(spec.name for spec in self.specs), *self.gone)

    def told(self, before: Container[str]) -> str:
        """When it is done, to sets that were there before."""
        come = (f"{'changed' if s.name in before else 'added'} {s.name}" for s in self.specs)
        return ", ".join((*come, *(f"dropped {name}" for name in self.gone)))


def changes(
    before: Mapping[str, SetState], wanted: Sequence[QuerySetSpec], anew: Container[str] = ()
) -> Iterator[Change]:
    """From the configured sets that there are to those that are to be.

    Those called `anew` change, though they say the same.
    """
    names = {spec.name for spec in wanted}
    comes = {
        spec.name: spec
        for spec in wanted
        if spec.name in anew or spec.name not in before or before[spec.name].spec != spec
    }
    leaves = {n: state.spec for n, state in before.items() if n in comes or n not in names}
    moves = [
        (name, heir.name)
        for name, old in leaves.items()
        for heir in comes.values()
        if name != heir.name and _places(old) & _places(heir)
    ]
    places = {name: place for place, name in enumerate(comes)}
    groups = _together((*(name for name in leaves if name not in names), *comes), moves)
    for group in sorted(groups, key=lambda g: min((places[n] for n in g & {*comes}), default=-1)):
        yield Change(
            tuple(spec for name, spec in comes.items() if name in group),
            tuple(name for name in leaves if name in group and name not in names),
            frozenset(name for name, _ in moves if name in group),
        )


def _together(names: Iterable[str], pairs: Sequence[tuple[str, str]]) -> list[set[str]]:
    """Groups of names, of which no pair belongs to two."""
    groups = [{name} for name in names]
    for pair in pairs:
        met = [group for group in groups if not group.isdisjoint(pair)]
        met[0].update(*met[1:])
        groups = [group for group in groups if not any(group is other for other in met[1:])]
    return groups


def changed_links(before: Sequence[LinkConfig], now: Sequence[LinkConfig]) -> str | None:
    """What a reload cannot change of the links, for a person; None: they are the same."""
    old, new = ({link.device: link for link in links} for links in (before, now))
    told = [f"{device} is new" for device in new if device not in old]
    told += [f"{device} is gone" for device in old if device not in new]
    both = [(old[device], link) for device, link in new.items() if device in old]
    told += [f"{a.device} has another {_difference(a, b)}" for a, b in both if a != b]
    if not told:
        return None
    return f"{', '.join(told)}: a restart opens links and their rings, a reload does not"


def _difference(before: LinkConfig, now: LinkConfig) -> str:
    """The first key that says something else."""
    for option in LIVE_OPTIONS:
        if getattr(before.settings, option.field) != getattr(now.settings, option.field):
            return option.name
    return "name" if before.interface != now.interface else "properties"


async def within(seconds: float, work: Callable[[], _Result], name: str) -> _Result:
    """What a thread gives that nothing waits for any longer than that. DaemonError."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def settle(result: _Result | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast("_Result", result))

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await done
    except TimeoutError:
        raise DaemonError(f"{name} took more than {seconds:g} s", "nothing has changed") from None


def _places(spec: QuerySetSpec) -> set[str]:
    """Paths of its outputs, of which only one set may have each: tables are for several."""
    outputs = (output for output in spec.outputs if not is_sink(output))
    return {normal(output.partition(":")[2]) for output in outputs}
