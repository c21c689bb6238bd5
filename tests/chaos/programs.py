# SPDX-License-Identifier: Apache-2.0
"""The two programs under fire, each started again when it was killed, as an init system would."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGTERM

from tests import processes
from tests.chaos.feeder import Feeder
from tests.cli.command import COMMAND
from tests.spark_session import ONE_COMPILER

QUERIES = Path(__file__).parent / "queries.gsql"
INTERFACES = ("east", "west")
SEGMENT_AGE = "200ms"
START_SECONDS = 300
END_SECONDS = 600
MASTER = "local[2,8]"
"""A task whose Python worker was killed is tried again, up to eight times."""
SHORT_LIVED = f"{ONE_COMPILER} -XX:+UseSerialGC"
"""For a Java that lives for seconds: what it would compile better it does not run often enough."""
QUICK_START = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.sql.codegen.wholeStage": "false",
}


class ChaosError(Exception):
    """A program ended where it should not have, or did not where it should."""


class Writer:
    """`gigastream run -o spool:`, and the traffic that it sees."""

    def __init__(self, folder: Path, seed: int, queries: Path = QUERIES) -> None:
        self.spool = folder / "spool"
        self.runs = 0
        self._queries = queries
        self._log = folder / "writer.log"
        self._feeders = {name: Feeder(seed, i) for i, name in enumerate(INTERFACES)}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def packets(self) -> int:
        """Sent, to whom it may concern."""
        return sum(feeder.sent for feeder in self._feeders.values())

    def start(self) -> None:
        """Read on where the traffic is now."""
        pipes = {name: feeder.attach() for name, feeder in self._feeders.items()}
        reads = [word for name, pipe in pipes.items() for word in ("-r", f"{name}=/dev/fd/{pipe}")]
        command = ["run", str(self._queries), *reads, "-o", f"spool:{self.spool}"]
        command += ["--segment-age", SEGMENT_AGE]
        self._process = _started(command, self._log, tuple(pipes.values()))
        self.runs += 1
        for pipe in pipes.values():
            os.close(pipe)

    def wait_for_segments(self, count: int = 1) -> None:
        """Until there is something for a job to read."""
        deadline = time.monotonic() + START_SECONDS
        while len(list(self.spool.glob("streams/**/segment-*"))) < count:
            if time.monotonic() > deadline or self._running.poll() is not None:
                raise ChaosError(f"the writer writes nothing: see {self._log}")
            time.sleep(0.05)

    def kill(self) -> int:
        """Kill it, then start a new one; return how many were killed."""
        if self._running.poll() is not None:
            raise ChaosError(f"the writer ended by itself: see {self._log}")
        killed = _kill(self._running)
        self.start()
        return killed

    def finish(self) -> None:
        """End the traffic; the writer ends the spool."""
        for feeder in self._feeders.values():
            feeder.finish()
        _ended(self._running, (0,), self._log)

    def stop(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            _kill(self._process)
        for feeder in self._feeders.values():
            feeder.finish()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process


class Driver:
    """`gigastream spark`: Spark's driver, and in local mode its executor."""

    def __init__(
        self, folder: Path, reads: Sequence[str], state: str, say: Callable[[str], None]
    ) -> None:
        self._say = say
        self.reads = reads
        """Words of the command: the spools, and how they are opened."""
        self.rows = folder / "rows"
        self.checkpoint = folder / "checkpoint"
        self.runs = 0
        self._command = ["spark", "--checkpoint", str(self.checkpoint)]
        self._command += ["-o", f"parquet:{self.rows}", "--master", MASTER, "--state", state]
        settings = QUICK_START | {
            "spark.local.dir": f"{folder / 'local'}",
            "spark.sql.warehouse.dir": f"{folder / 'warehouse'}",
        }
        self._command += [w for name in settings for w in ("--conf", f"{name}={settings[name]}")]
        self._log = folder / "driver.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        """Go on from the checkpoint."""
        self._process = _started([*self._command, *self.reads, *more], self._log)
        self.runs += 1

    def commits(self) -> int:
        """How many micro-batches the query that is ahead has committed."""
        names = (path.name for path in self.checkpoint.glob("*/commits/*"))
        return max((int(name) + 1 for name in names if name.isdecimal()), default=0)

    def wait_for_commit(self) -> None:
        """Until the job that runs now has got something done; one that has failed starts again."""
        before, deadline = self.commits(), time.monotonic() + START_SECONDS
        while self.commits() == before:
            if time.monotonic() > deadline:
                raise ChaosError(f"the job gets nothing done: see {self._log}")
            self.restart_if_ended()
            time.sleep(0.05)

    def restart_if_ended(self) -> None:
        """A killed worker may have ended the job: whoever watches over it starts it again."""
        if self._running.poll() is None:
            return
        words = self._last_words()
        if self._running.returncode != 1:
            raise ChaosError(f"the job ended with {self._running.returncode}: {words}")
        self._say(f"the job failed: {words}")
        self.start()

    def kill(self, chance: random.Random) -> int:
        """Kill Java, of our Python beside it, or both at once; then start a new job."""
        process = self._running
        below = processes.descendants(process.pid)
        javas = [each for each in below if _is(each, "java")]
        victims = chance.choice([[process.pid, *javas], [process.pid], javas or [process.pid]])
        killed = processes.kill(*victims)
        # The other one ends by itself, or is stuck: two jobs must not share a checkpoint.
        self._wait_for_end(process, below)
        self.start()
        return killed and 1

    def kill_workers(self, chance: random.Random) -> int:
        """Kill one of Java's Pythons, or all; return how many."""
        workers = self.workers()
        victims = workers if chance.random() < 0.2 else workers and [chance.choice(workers)]
        return processes.kill(*victims)

    def workers(self) -> list[int]:
        """Java's Pythons: the daemon, its workers, those that plan the sources."""
        javas = [p for p in processes.descendants(self._running.pid) if _is(p, "java")]
        found = [each for java in javas for each in processes.descendants(java)]
        return [each for each in found if _is(each, "python")]

    def drain(self) -> None:
        """Stop the job as a service manager would; then one that ends when it has read all."""
        process = self._running
        below = processes.descendants(process.pid)
        process.send_signal(SIGTERM)
        # One that is still starting has no handler yet.
        _ended(process, (0, 1, -SIGTERM), self._log)
        self._wait_for_end(process, below)
        self.start("--trigger", "now")
        _ended(self._running, (0,), self._log)

    def refused(self, *more: str) -> tuple[int, str]:
        """The exit code and the words of a job that is not to start."""
        done = subprocess.run(
            [*COMMAND, *self._command, *self.reads, *more],
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        return done.returncode, done.stderr

    def stop(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            below = processes.descendants(self._process.pid)
            processes.kill(self._process.pid, *below)
            self._process.wait()

    def _wait_for_end(self, process: subprocess.Popen[bytes], below: Sequence[int]) -> None:
        deadline = time.monotonic() + 5
        while any(map(processes.is_alive, (process.pid, *below))) and time.monotonic() < deadline:
            process.poll()
            time.sleep(0.02)
        processes.kill(process.pid, *below)
        process.wait()
        processes.wait_until_gone(*below)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return lines[-1] if lines else ""

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process


def _is(process: int, program: str) -> bool:
    return any(program in part for part in processes.parts_of(process)[:1])


def _started(
    words: Sequence[str], log: Path, descriptors: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        return subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            pass_fds=descriptors,
        )


def _kill(process: subprocess.Popen[bytes]) -> int:
    killed = processes.kill(process.pid) if process.poll() is None else 0
    process.wait()
    return killed


def _ended(process: subprocess.Popen[bytes], codes: Sequence[int], log: Path) -> None:
    try:
        found = process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        raise ChaosError(f"{process.args!r} does not end: see {log}") from None
    if found not in codes:
        raise ChaosError(f"{process.args!r} ended with {found}: see {log}")
