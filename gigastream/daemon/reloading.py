# SPDX-License-Identifier: Apache-2.0
"""What a reload changes, in the order in which it can be done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from gigastream.daemon.daemon_config import LinkConfig
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec, SetState
from gigastream.sources.live import LIVE_OPTIONS

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Change:
    """Of one set."""

    name: str
    spec: QuerySetSpec | None
    """What it becomes; None: it goes."""
    told: str
    """When it is done."""
    heirs_of: tuple[str, ...] = ()
    """Sets that go, and whose outputs this one has: they go when it can come."""


def changes(before: Mapping[str, SetState], wanted: Sequence[QuerySetSpec]) -> Iterator[Change]:
    """From the configured sets that there are to those that are to be."""
    names = {spec.name for spec in wanted}
    gone = {name: state.spec for name, state in before.items() if name not in names}
    different = [s for s in wanted if s.name not in before or before[s.name].spec != s]
    left = dict(gone)
    coming = []
    for spec in different:
        heirs_of = tuple(n for n, old in left.items() if _places(old) & _places(spec))
        for name in heirs_of:
            del left[name]
        coming.append((spec, heirs_of))
    for name in left:
        yield Change(name, None, f"dropped {name}")
    for spec, heirs_of in coming:
        what = "changed" if spec.name in before else "added"
        dropped = "".join(f", dropped {name}" for name in heirs_of)
        yield Change(spec.name, spec, f"{what} {spec.name}{dropped}", heirs_of)


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
    """Paths of its outputs."""
    return {output.partition(":")[2] for output in spec.outputs}
