# SPDX-License-Identifier: Apache-2.0
"""So many kills in a random order, and what became of the rows."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chaos.programs import START_SECONDS, ChaosError, Driver, Writer
from tests.chaos.truth import Rows, expected_rows, plain_rows
from tests.serving.servers import Server, make_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER, WORKERS, WRITER, SERVER = "driver", "workers", "writer", "server"
KINDS = (DRIVER, WORKERS, WRITER, SERVER)
START_UP_SHARE = 0.25
"""Of the kills of a driver: before the new job has committed anything."""
PAUSE_SECONDS = 3.0
AWAY_SECONDS = 5.0
"""How long a server is gone at most."""
START_UP_SECONDS = 12.0


@dataclass
class Report:
    """What was killed, and what came of it."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    expected: int = 0
    found: int = 0
    duplicates: int = 0
    missing: int = 0
    packets: int = 0
    driver_runs: int = 0
    writer_runs: int = 0

    @property
    def is_exact(self) -> bool:
        return self.duplicates == self.missing == 0 < self.expected

    def compare(self, expected: Rows, found: Rows) -> None:
        """Count rows query by query, as multisets: a row that is wrong is missing and one more."""
        for query in expected.keys() | found.keys():
            wanted, there = expected.get(query, Counter()), found.get(query, Counter())
            self.expected += wanted.total()
            self.found += there.total()
            self.missing += (wanted - there).total()
            self.duplicates += (there - wanted).total()

    def __str__(self) -> str:
        kills = ", ".join(f"{kind} {self.kills[kind]}" for kind in KINDS)
        return (
            f"kills {self.kills.total()} ({kills}), rows expected {self.expected}, "
            f"found {self.found}, duplicates {self.duplicates}, missing {self.missing}"
        )


@dataclass
class Scene:
    """The three programs, and the dice."""

    writer: Writer
    server: Server
    driver: Driver
    chance: random.Random
    say: Callable[[str], None]

    def kill(self, kind: str) -> int:
        """Kill at a random moment; return how many processes that were."""
        ways = {
            DRIVER: self._driver,
            WORKERS: self._workers,
            WRITER: self._writer,
            SERVER: self._server,
        }
        return ways[kind]()

    def _driver(self) -> int:
        if self.chance.random() < START_UP_SHARE:
            time.sleep(self.chance.uniform(0, START_UP_SECONDS))
        else:
            self.driver.wait_for_commit()
            self._pause()
        self.driver.restart_if_ended()
        return self.driver.kill(self.chance)

    def _workers(self) -> int:
        """There may be none just now: Spark starts them when there is something to read."""
        self.driver.wait_for_commit()
        self._pause()
        deadline = time.monotonic() + START_SECONDS
        while not (killed := self.driver.kill_workers(self.chance)):
            if time.monotonic() > deadline:
                raise ChaosError("the job has no Python workers")
            self.driver.restart_if_ended()
            time.sleep(0.05)
        return killed

    def _writer(self) -> int:
        self._pause()
        self.driver.restart_if_ended()
        return self.writer.kill()

    def _server(self) -> int:
        """It is away for a while, and takes the same port when it comes back."""
        self._pause()
        if not self.server.is_running:
            raise ChaosError(f"the server ended by itself: see {self.server.log}")
        self.server.kill()
        time.sleep(self.chance.uniform(0, AWAY_SECONDS))
        self.server.begin()
        return 1

    def _pause(self) -> None:
        time.sleep(self.chance.uniform(0, PAUSE_SECONDS))


def run(kills: int, seed: int, folder: Path, say: Callable[[str], None]) -> tuple[Scene, Report]:
    """Kill so often, then end the traffic, let the job drain, and count.

    The rows that were found are not counted yet: `count` does that with a Spark session.
    """
    chance = random.Random(seed)
    writer = Writer(folder, seed)
    keys = folder / "keys"
    keys.mkdir()
    server = Server(make_keys(keys), (writer.spool,))
    state = chance.choice(("memory", "rocksdb", "spool"))
    driver = Driver(folder, _served(server), state, say)
    scene, report = Scene(writer, server, driver, chance, say), Report(seed)
    try:
        _kill_all(scene, kills, report)
        say("the traffic ends, and the job drains")
        writer.finish()
        driver.drain()
    finally:
        driver.stop()
        writer.stop()
        server.end()
    report.packets, report.driver_runs, report.writer_runs = (
        writer.packets,
        driver.runs,
        writer.runs,
    )
    return scene, report


def _served(server: Server) -> list[str]:
    keys = server.keys
    files = ["--token-file", str(keys.token), "--ca-file", str(keys.certificate)]
    return ["--spool", server.url(), *files]


def _kill_all(scene: Scene, kills: int, report: Report) -> None:
    scene.writer.start()
    scene.writer.wait_for_segments()
    scene.server.begin()
    scene.driver.start()
    kinds = _kinds(scene.chance)
    while report.kills.total() < kills:
        kind = next(kinds)
        while not (killed := scene.kill(kind)):
            scene.say(f"no kill: {kind} has ended by itself")
        report.kills[kind] += 1
        scene.say(f"kill {report.kills.total()}: {kind} ({killed} processes)")


def _kinds(chance: random.Random) -> Iterator[str]:
    """Each as often as the others, in no order."""
    while True:
        yield from chance.sample(KINDS, len(KINDS))


def count(scene: Scene, report: Report, session: SparkSession) -> Rows:
    """Compare what the files hold, as Spark reads them, with what the spool says: return that."""
    expected = expected_rows(scene.writer.spool)
    found: Rows = {}
    for query in expected:
        # _spark_metadata names the files that count; Spark's reader is the one that knows it.
        table = session.read.parquet(str(scene.driver.rows / query)).toArrow()
        found[query] = Counter(plain_rows(table))
    report.compare(expected, found)
    return expected
