# SPDX-License-Identifier: Apache-2.0
"""A daemon at work in a namespace of a test's own: started as a user does, asked by its socket."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gigastream.daemon.client import ControlClient, ControlError
from gigastream.daemon.messages import (
    AddSet,
    Answered,
    CaptureReport,
    QuerySetSpec,
    Request,
    StatusAnswer,
)
from tests.cli.command import COMMAND
from tests.live.namespace import Namespace, need, wait_for_delivery
from tests.sanitizers import without_sanitizers
from tests.waiting import PATIENCE_S, wait_until

COUNTS = (
    "DEFINE { query_name counts; } PARAM { least uint 0; } "
    "SELECT tb, count(*) AS n FROM PKT WHERE len >= $least GROUP BY time AS tb"
)

GREAT_RING = ("--ring", "256MiB", "--ring-block", "1MiB")
"""Of 256 blocks, which take a tenth of a second each, or more: no packet is dropped where the
capture process stands still for twenty seconds."""


@dataclass
class Daemon:
    """`folder` has its socket, its outputs (`out`), its audit log and what it tells."""

    space: Namespace
    folder: Path
    process: subprocess.Popen[str]

    def ask(self, request: Request) -> Answered:
        """Ask for a change; RefusedError where it is not made."""
        with ControlClient(self.folder / "socket") as client:
            return client.ask(request)

    def add(self, name: str, text: str = COUNTS, output: str = "csv", **more: object) -> Answered:
        """Add a set whose rows go to `out/NAME.FORMAT`."""
        outputs = (f"{output}:{self.folder}/out/{name}.{output}",)
        spec = QuerySetSpec(name=name, text=text, outputs=outputs, **more)  # type: ignore[arg-type]
        return self.ask(AddSet(query_set=spec))

    def status(self) -> StatusAnswer:
        """As `gigastream ctl status` has it."""
        with ControlClient(self.folder / "socket") as client:
            return client.status()

    def report(self) -> CaptureReport:
        """The last one; there is one a second after the capture process has begun."""
        wait_until(lambda: self.status().report is not None, "a report")
        found = self.status().report
        assert found is not None
        return found

    def read(self) -> int:
        """Packets, by the last report."""
        found = self.status().report
        return 0 if found is None else sum(source.read for source in found.sources)

    def send(self, count: int = 100) -> None:
        """Send packets of 60 bytes over the cable."""
        need("tcpreplay")
        self.space.run("tcpreplay", "-q", "-i", self.space.far, "-L", count, "--pps", 2000, CAPTURE)
        wait_for_delivery()

    def rows(self, name: str) -> list[str]:
        """Of a set's CSV, but the line of names; none before the first rows, which make it."""
        path = self.folder / "out" / f"{name}.csv"
        return path.read_text().splitlines()[1:] if path.exists() else []

    def told(self) -> str:
        """Its log."""
        return (self.folder / "log").read_text()

    def signal(self, number: signal.Signals) -> None:
        """As the service manager does."""
        self.process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


CAPTURE = Path(__file__).resolve().parents[2] / "demo" / "demo.pcap"


def started(
    space: Namespace, folder: Path, *words: object, before: Sequence[str] = (), waits: bool = True
) -> Daemon:
    """A daemon on the near end of the cable, when it runs or has ended."""
    link = () if "-c" in words else ("-i", space.near)
    with (folder / "log").open("w") as log:
        process = space.start(
            *before,
            *COMMAND,
            *("capture", *link, "--socket", folder / "socket"),
            *("--cache", folder / "cache", "--state", folder / "state"),
            *("--folder", folder / "out", "--ring", "16MiB", "--ring-block", "64kiB"),
            *words,
            stderr=log,
            stdout=log,
            env=without_sanitizers(),
        )
    daemon = Daemon(space, folder, process)
    if not waits:
        return daemon
    wait_until(lambda: process.poll() is not None or "running:" in daemon.told(), "that it runs")
    return daemon


def end(daemon: Daemon) -> None:
    """The end, in any case."""
    with suppress(ControlError, subprocess.TimeoutExpired):
        if daemon.process.poll() is None:
            daemon.stop()
    daemon.process.kill()
    daemon.process.wait(PATIENCE_S)
