# SPDX-License-Identifier: Apache-2.0
"""The supervisor: what the daemon is asked, how its processes are, and when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gigastream.daemon.answering import Answering
from gigastream.daemon.audit import AuditLog
from gigastream.daemon.compile_client import CompileClient
from gigastream.daemon.control import Allowed, ControlServer
from gigastream.daemon.daemon_config import DaemonConfig
from gigastream.daemon.following import Followers
from gigastream.daemon.input_messages import LinkSpec, StreamSpec
from gigastream.daemon.keeping import Keeper
from gigastream.daemon.launching import LAUNCHER_LOST, DaemonError, Launching
from gigastream.daemon.loader_progress import PROGRESS
from gigastream.daemon.loaders import Loaders, LoaderSurroundings
from gigastream.daemon.logs import DaemonLog
from gigastream.daemon.losses import loss_text
from gigastream.daemon.messages import (
    CaptureNote,
    CaptureOver,
    CaptureReport,
    CaptureStart,
    Report,
    StatusAnswer,
    TailRows,
)
from gigastream.daemon.notify import Notifier
from gigastream.daemon.opener import Opener
from gigastream.daemon.opening import LinkOpening
from gigastream.daemon.peers import PeerTaking
from gigastream.daemon.places import OutputPlaces
from gigastream.daemon.query_sets import QuerySets
from gigastream.daemon.reloading import changed_links, within
from gigastream.daemon.reopening import Reopening
from gigastream.daemon.totals import Totals
from gigastream.engine.privileges import confine
from gigastream.late_dataclass import dataclass, fields
from gigastream.version import __version__

_END_PATIENCE_S = 60.0
_KILLED_WITHIN_S = 10.0
_READ_WITHIN_S = 30.0
"""A file system that answers no more must not hold up what comes after a reload."""
_RELOADED = ("query_sets", "is_strict")
"""Of the configuration: what a reload changes. The rest needs a restart."""
_SHOWN = {
    "socket_group": "group",
    "watchdog_s": "watchdog",
    "log_format": "log",
    "reopens_links": "reopen-links",
}
"""As the file calls them."""


@dataclass(frozen=True)
class Inherited:
    """What was opened before privileges were given up."""

    config: DaemonConfig
    links: tuple[LinkSpec, ...]
    streams: tuple[StreamSpec, ...]
    ports: Mapping[int, socket.socket]
    """Of the STREAMs, by their places among these."""
    folders: tuple[Path, ...]
    """Below which the kernel lets the capture process change files."""
    places: OutputPlaces
    listening: socket.socket
    launcher: socket.socket
    loaders: socket.socket | None
    """To the launcher of loaders; None: no table is filled here."""
    opener: Opener | None
    """None: no link is opened anew."""
    objects: Path
    """The folder of compiled sets."""
    audit: AuditLog
    notifier: Notifier
    allowed: Allowed
    started_by: int
    log: DaemonLog
    read_again: Callable[[], DaemonConfig] | None
    """Reads the configuration file again; None: there is none."""
    metrics: Callable[[Callable[[], StatusAnswer]], Callable[[], None]] | None = None
    """Serves them from a thread until what it returns is called."""


class Supervisor:
    """Runs until the end is asked for, or the input is over."""

    def __init__(self, inherited: Inherited) -> None:
        """Within a running loop."""
        self._has = inherited
        self._config = inherited.config
        self._told = inherited.log
        self._started_ns = time.time_ns()
        self._report: CaptureReport | None = None
        self._totals = Totals()
        self._stopping = asyncio.Event()
        self._failure: str | None = None
        self._has_begun = asyncio.Event()
        self._reloads = asyncio.Lock()
        self._is_to_reload = False
        """A signal has asked for it, and it has not begun."""
        self._tasks: set[asyncio.Task[Any]] = set()
        launching = Launching(inherited.launcher, self._launcher_lost)
        self._launching = launching
        self._loading = None
        if inherited.loaders is not None:
            self._loading = Launching(inherited.loaders, self._loading_lost)
        layouts = [stream.layout for stream in inherited.streams]
        self.compiler = CompileClient(launching, self._config, layouts, str(inherited.objects))
        self.keeper = Keeper(
            launching,
            self._start,
            self._attached,
            self._heard,
            self._told,
            self._config.watchdog_s,
        )
        self.sets = QuerySets(self.keeper, self.compiler, inherited.places, self._told)
        self.loaders = Loaders(self._around_loaders(), lambda: self.sets.tables)
        self.tails = Followers(self.keeper)
        opener = inherited.opener
        opening = None if opener is None else LinkOpening(opener, self._told)
        self._reopening = Reopening(inherited.links, opening, self.keeper, launching, self._told)
        with_peers = (at for at, stream in enumerate(inherited.streams) if stream.has_peers)
        self._peers = PeerTaking({at: inherited.ports[at] for at in with_peers}, self.keeper)
        answering = Answering(self, inherited.audit)
        self._server = ControlServer(inherited.listening, inherited.allowed, answering)

    async def run(self) -> int:
        """The exit code."""
        self._mind_signals()
        asyncio.get_running_loop().set_exception_handler(self._tell_fault)
        await self._server.start()
        end_metrics: Callable[[], None] | None = None
        try:
            if self._has.metrics is not None:
                end_metrics = self._has.metrics(self.status)
            confine([self._config.socket.parent], "supervisor")  # all that listens is there
            return await self._capture()
        finally:
            if end_metrics is not None:
                end_metrics()
            self._has.notifier.stopping()
            await self._server.close()
            await self.loaders.end()
            for task in self._tasks:
                task.cancel()
            self._peers.close()
            self._reopening.close()
            for launching in filter(None, (self._launching, self._loading)):
                launching.close()
            self._has.audit.close()
            with suppress(OSError):
                self._config.socket.unlink()

    def status(self) -> StatusAnswer:
        """Everything there is to know. From any thread."""
        keeper = self.keeper
        return StatusAnswer(
            version=__version__,
            started_ns=self._started_ns,
            incarnation=keeper.incarnation,
            restarts=keeper.restarts,
            capture_pid=keeper.pid,
            sets=self.sets.states,
            report=self._report,
            sources=self._totals.sources,
            set_totals=self._totals.sets,
            losses=keeper.losses.all,
            lost_packets=keeper.losses.packets,
            overload=self._config.overload,
            tables=self.loaders.states(self._report.promises if self._report else {}),
            notices=self._told.last,
        )

    def stop(self) -> None:
        """Begin the end."""
        self._stopping.set()

    async def reload(self, uid: int) -> str:
        """Read the configuration again, and change what is different. DaemonError."""
        if self._has.read_again is None:
            raise DaemonError(
                "there is nothing to read again: the daemon was begun by words, without a file",
                "gigastream capture -c FILE begins one that can be; add and drop change this one",
            )
        await self._has_begun.wait()  # else its sets would be added to a capture that is none yet
        async with self._reloads:
            return await self._reload(self._has.read_again, uid)

    async def _reload(self, read_again: Callable[[], DaemonConfig], uid: int) -> str:
        self._has.notifier.reloading()
        try:
            config = await within(_READ_WITHIN_S, read_again, "the configuration's reading")
            done, failed = await self.sets.reload(config.query_sets, uid)
        except Exception as error:
            message = str(error) or type(error).__name__
            raise DaemonError(message, getattr(error, "hint", None)) from None
        finally:
            self._has.notifier.ready(self._running)
        if changed := _changed(self._config, config):
            have = "has" if len(changed) == 1 and not changed[0].endswith("s") else "have"
            names = " and ".join(filter(None, (", ".join(changed[:-1]), changed[-1])))
            done.append(f"{names} {have} changed, which a restart puts into force")
        if links := changed_links(self._config.links, config.links):
            done.append(links)
        if failed:
            hint = "; ".join(dict.fromkeys(error.hint for error in failed if error.hint))
            rest = "the sets that are not named are as they were"
            raise DaemonError("\n".join([*map(str, failed), *done]), hint or rest)
        return "; ".join(done) or "nothing has changed"

    async def _capture(self) -> int:
        stopping = asyncio.create_task(self._stopping.wait())
        prepare = asyncio.create_task(self._prepare())
        await asyncio.wait((prepare, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not prepare.done():
            prepare.cancel()
            await asyncio.gather(prepare, return_exceptions=True)
            return 0 if self._failure is None else 1
        await prepare
        capture = asyncio.create_task(self.keeper.run())
        self._spawn(self._ready())
        self._spawn(self._keep_alive())
        await asyncio.wait((capture, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if self._failure is not None:
            capture.cancel()
            raise DaemonError(self._failure, "start it again; the service manager does")
        if not capture.done():
            self._has.notifier.stopping()
            await self.keeper.end(_END_PATIENCE_S)
            await asyncio.wait((capture,), timeout=_KILLED_WITHIN_S)
        if not capture.done():
            capture.cancel()
            raise DaemonError("the capture process cannot be ended", "kill -9, by its number")
        if await capture == 0 and self._has.links and not self._stopping.is_set():
            raise DaemonError("no link is left to be read", "begin it again when they are back")
        return await capture

    async def _prepare(self) -> None:
        """Compile what the configuration has, before the first packet is read."""
        config = self._config
        await self.sets.prepare(config.query_sets, self._has.started_by, strict=config.is_strict)

    async def _ready(self) -> None:
        await self.keeper.is_ready.wait()
        self._told.tell(f"{self._running}; control socket {self._config.socket}")
        self._has.notifier.ready(self._running)
        self._has_begun.set()
        await self.loaders.run()

    @property
    def _running(self) -> str:
        """What a service manager shows."""
        names = ", ".join(link.device for link in self._has.links)
        return f"running: {names or ('files' if self._config.files else 'STREAMs')}"

    def _around_loaders(self) -> LoaderSurroundings | None:
        if self._loading is None:
            return None
        config, progress = self._config, self._has.objects.parent / PROGRESS
        return LoaderSurroundings(
            self._loading, progress, config.definitions, config.settings, self._told
        )

    async def _attached(self, done: Any) -> None:
        await self.sets.attached(done)
        await self.tails.begin_again()

    async def _keep_alive(self) -> None:
        """Answer the service manager's watchdog while there is something to answer for."""
        period = self._has.notifier.watchdog_s
        if period is None:
            return
        while True:
            self._has.notifier.alive()
            await asyncio.sleep(period / 2)

    def _start(self, incarnation: int, promises: dict[str, int]) -> CaptureStart:
        config = self._config
        return CaptureStart(
            incarnation=incarnation,
            links=self._has.links,
            files=tuple((file.interface, file.path) for file in config.files),
            streams=self._has.streams,
            settings=config.settings,
            folders=tuple(map(str, self._has.folders)),
            cache=str(self._has.objects),
            user=config.user,
            overload=config.overload,
            promises=promises,
            sets=self.sets.orders(),
        )

    def _heard(self, report: Report) -> None:
        if isinstance(report, TailRows):
            self.tails.take(report)
        elif isinstance(report, CaptureReport):
            self._report = report
            self._totals.take(report, self.sets.states)
            self._reopening.take(report)
            if loss := self.keeper.losses.goes_on(report):
                self._told(f"after the crash: {loss_text(loss)}")
        elif isinstance(report, CaptureOver):
            self._reopening.take(report.report)
        elif isinstance(report, CaptureNote):
            self._told(report.text)

    def _launcher_lost(self) -> None:
        self._failure = LAUNCHER_LOST
        self._stopping.set()

    def _loading_lost(self) -> None:
        self._told("the launcher of loaders has ended: no table is filled until a restart")

    def _tell_fault(self, _: asyncio.AbstractEventLoop, fault: dict[str, Any]) -> None:
        """What nobody else has heard of, in a line."""
        error = fault.get("exception")
        what = f": {type(error).__name__}: {error}" if error is not None else ""
        self._told(f"{fault.get('message', 'a fault')}{what}".replace("\n", " "))

    def _mind_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up)

    def _hang_up(self) -> None:
        """One that waits for its turn does what was asked meanwhile, too."""
        if not self._is_to_reload:
            self._is_to_reload = True
            self._spawn(self._reload_by_signal())

    async def _reload_by_signal(self) -> None:
        async with self._reloads:
            self._is_to_reload = False  # what is written from here on may not be read
        try:
            done, is_done = await self.reload(os.geteuid()), True
        except DaemonError as error:
            done, is_done = str(error), False
            self._has.notifier.status(f"{self._running}; the last reload failed: {done}")
        self._has.audit.note(os.geteuid(), "reload", "SIGHUP", is_done, done)
        self._told(f"reload: {done}")

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _changed(before: DaemonConfig, now: DaemonConfig) -> list[str]:
    """The parts of a configuration that a reload leaves as they were."""
    return [
        _SHOWN.get(field.name, field.name)
        for field in fields(DaemonConfig)
        if field.name not in _RELOADED and getattr(before, field.name) != getattr(now, field.name)
    ]
