# SPDX-License-Identifier: Apache-2.0
"""One job over hosts in network namespaces: links, captures, servers and TLS between them.

One is silent, one has a slow line, one's server is killed and comes back, one takes another token.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.cli.command import COMMAND, gigastream
from tests.live.namespace import folder_for_all, needs
from tests.processes import catches
from tests.serving.probes import Network, Probe, network
from tests.serving.servers import Keys, environment_without_token, secret
from tests.spark_command.written import in_order, parquet
from tests.strategies import frames
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.privileged, needs("ip", "tc")]
EAST, WEST, SLOW = "east", "west", "slow"
SLOW_LINE = ("root", "tbf", "rate", "512kbit", "burst", "16kb", "latency", "2s")
SECOND_MS = 1000
TRIGGERS = 2
"""Within so many rows come out: that of the heartbeat that proves them, and the one behind it."""
ALL_IS_KEPT = ("--conf", "spark.sql.streaming.minBatchesToRetain=1000000")
"""Of the offsets of a job, which are looked at when it is over, Spark keeps the last hundred."""
QUERY = """
DEFINE { query_name talkers; }
SELECT s, srcIP, count(*) AS packets FROM UDP GROUP BY time AS s, srcIP;
DEFINE { query_name eastern; visibility internal; }
SELECT s, srcIP, count(*) AS packets FROM UDP WHERE interface = 'east' GROUP BY time AS s, srcIP;
DEFINE { query_name western; visibility internal; }
SELECT s, srcIP, count(*) AS packets FROM UDP WHERE interface = 'west' GROUP BY time AS s, srcIP;
DEFINE { query_name sides; }
SELECT s, srcIP, e.packets AS east, w.packets AS west
FROM eastern e FULL JOIN western w ON e.s = w.s AND e.srcIP = w.srcIP
"""
Row = dict[str, Any]


def frame(host: int) -> bytes:
    datagram = frames.udp(53, 5000, bytes(host))
    content = frames.ipv4(0x0A000000 | host, 0x0A010000, frames.UDP, datagram)
    return frames.ethernet(frames.ETHERTYPE_IPV4, content)


class Job:
    """`gigastream spark` where the hosts are reached from."""

    def __init__(self, hosts: Network, folder: Path, *words: str) -> None:
        self.folder = folder
        files = ("--checkpoint", folder / "checkpoint", "--log", folder / "log")
        self._command = hosts.space.command(
            *(*COMMAND, "spark", *hosts.spools, *hosts.access, *files),
            *("-o", f"parquet:{folder / 'rows'}", "--master", "local[2]", *ALL_IS_KEPT, *words),
        )

    def rows(self, query: str) -> list[Row]:
        """Those that are there so far."""
        found = list(files_of(self.folder / "rows" / query))
        return parquet(found) if found else []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Until it is stopped in good order."""
        process = self._start()
        try:
            yield
            wait_until(lambda: catches(process.pid, signal.SIGTERM), "signals to be minded")
            process.terminate()
            assert process.wait(PATIENCE_S) == 0, self.said()
        finally:
            process.kill()
            process.wait()

    def ends_with(self, *words: str) -> int:
        """The exit code of one that reads what is there."""
        return self._start("--trigger", "now", *words).wait(PATIENCE_S)

    def said(self) -> str:
        return (self.folder / "said").read_text()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        environment = environment_without_token()
        with (self.folder / "said").open("ab") as log:
            return subprocess.Popen([*self._command, *words], stderr=log, env=environment)


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as found:
        yield found


def answered_here(probes: list[Probe]) -> dict[str, list[Row]]:
    """What the engine says of the same spools, by query."""
    for probe in probes:
        done = gigastream("spool", "end", probe.spool)
        assert done.code == 0, done.err
    spools = [word for probe in probes for word in ("--spool", probe.spool)]
    done = gigastream("run", "-q", *spools, "-o", "json")
    assert done.code == 0, done.err
    return by_query(done.lines)


def by_query(lines: list[str]) -> dict[str, list[Row]]:
    """The rows of each."""
    found: dict[str, list[Row]] = {}
    for row in map(json.loads, lines):
        found.setdefault(row.pop("query"), []).append(row)
    return {name: in_order(each) for name, each in found.items()}


@contextmanager
def answering_here(hosts: Network, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The engine over the same servers, which follows them to their end."""
    words = ("run", *hosts.spools, *hosts.access, "-o", "json")
    with (folder / "here").open("w") as out, (folder / "here.said").open("w") as err:
        process = hosts.space.start(*COMMAND, *words, stdout=out, stderr=err)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.parametrize("state", ["memory", pytest.param("spool", marks=pytest.mark.slow)])
def test_a_job_over_hosts(folder: Path, state: str) -> None:
    """On Spark, and here: the engine follows the same servers to their end."""
    with network([EAST, WEST, SLOW], QUERY) as hosts, answering_here(hosts, folder) as here:
        probes = hosts.probes
        probes[SLOW].space.run("tc", "qdisc", "add", "dev", "uplink", *SLOW_LINE)
        job = Job(hosts, folder, "--state", state)
        with (
            probes[EAST].traffic(frame(1), frame(2)),
            probes[SLOW].traffic(frame(2), frame(3)),
            job.running(),
        ):
            wait_until(lambda: any(row["east"] for row in job.rows("sides")), "rows without west")
            assert {row["west"] for row in job.rows("sides")} == {None}
            probes[EAST].server.kill()
            seen = latest(job.rows("talkers"))
            probes[EAST].server.begin()
            wait_until(lambda: latest(job.rows("talkers")) > seen + 2, "rows behind the kill")
            with probes[WEST].traffic(frame(2), frame(4)):
                wait_until(lambda: has_all_sides(job.rows("sides")), "rows of both sides")
        for probe in probes.values():
            probe.run.stop()
        wanted = answered_here(list(probes.values()))
        assert here.wait(PATIENCE_S) == 0, (folder / "here.said").read_text()
        assert by_query((folder / "here").read_text().splitlines()) == wanted
        assert job.ends_with() == 0, job.said()
    check_rows(job, wanted)
    if state == "memory":
        check_triggers(job)


def check_rows(job: Job, wanted: dict[str, list[Row]]) -> None:
    """All are there, each once."""
    for name, rows in wanted.items():
        found, expected = (Counter(map(json.dumps, each)) for each in (job.rows(name), rows))
        assert (found - expected, expected - found) == ({}, {}), f"{name}: {job.said()}"


def latest(rows: list[Row]) -> int:
    return max((row["s"] for row in rows), default=0)


def has_all_sides(rows: list[Row]) -> bool:
    """Both, and each alone."""
    found = {(row["east"] is not None, row["west"] is not None) for row in rows}
    return len(found) == 3


def check_triggers(job: Job) -> None:
    """No row waited longer than the micro-batch behind that of the heartbeat that proves it."""
    query = next((job.folder / "checkpoint").glob("*sides*"))
    reached = heartbeats_ms(query / "offsets")
    for path, number in files_of(job.folder / "rows" / "sides").items():
        for row in parquet([path]):
            over_ms = (row["s"] + 1) * SECOND_MS
            proof = min(batch for batch, at_ms in reached.items() if at_ms >= over_ms)
            assert proof <= number < proof + TRIGGERS


def heartbeats_ms(offsets: Path) -> dict[int, int]:
    """The least punctuation of all tracks, by micro-batch."""
    found = {}
    for path in offsets.glob("[0-9]*"):
        texts = [json.loads(line) for line in path.read_text().splitlines()[2:]]
        tracks = [track["hb"] for text in texts for track in text.values() if "hb" in track]
        found[int(path.name)] = min(tracks) // 1_000_000
    return found


def files_of(folder: Path) -> dict[Path, int]:
    """The files that count, and the micro-batch that has put each there."""
    found: dict[Path, int] = {}
    for path in sorted((folder / "_spark_metadata").glob("[0-9]*"), key=number_of):
        for line in path.read_text().splitlines()[1:]:
            found.setdefault(folder / Path(json.loads(line)["path"]).name, number_of(path))
    return found


def number_of(path: Path) -> int:
    """Of a micro-batch; every tenth has the files of all before it."""
    return int(path.name.removesuffix(".compact"))


@pytest.mark.slow
def test_without_heartbeats_a_silent_host_holds_all_rows(folder: Path) -> None:
    """And with it nothing is lost: its first packets let them go."""
    with network([EAST, WEST], QUERY, ("--time", "none")) as hosts:
        job = Job(hosts, folder)
        east = hosts.probes[EAST]
        with east.traffic(frame(1), frame(2)), job.running():
            wait_until(lambda: segments(east.spool) > 50, "segments of the one that speaks")
            assert [job.rows(name) for name in ("talkers", "sides")] == [[], []]
            with hosts.probes[WEST].traffic(frame(9)):
                wait_until(lambda: bool(job.rows("sides")), "rows once the other speaks")
        for probe in hosts.probes.values():
            probe.run.stop()
        wanted = answered_here(list(hosts.probes.values()))
        assert job.ends_with() == 0, job.said()
    check_rows(job, wanted)


def segments(spool: Path) -> int:
    return len(list(spool.glob("streams/*/*/*/segment-*")))


@pytest.mark.long
def test_a_host_with_another_token_is_refused(folder: Path) -> None:
    with network([EAST, WEST], QUERY) as hosts:
        server = hosts.probes[WEST].server
        other = folder / "keys"
        other.mkdir()
        for path in (server.keys.certificate, server.keys.key):
            secret(other / path.name, path.read_text())
        secret(other / "token", "0123456789abcdef-of-somebody-else")
        server.kill()
        server.keys = Keys(other)
        server.begin()
        job = Job(hosts, folder)
        assert job.ends_with() in (1, 2)
        assert f"{server.location} refuses the token" in job.said()
        assert "Traceback" not in job.said()
