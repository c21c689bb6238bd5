# SPDX-License-Identifier: Apache-2.0
"""Rings that share a link flow by flow: the answer is that of one ring, of tcpdump's capture."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND
from tests.live.namespace import (
    PATIENCE_S,
    QUERY_ALL,
    Namespace,
    folder_for_all,
    needs,
    running,
    totals,
    wait_until,
)
from tests.live.test_veth import (
    CONVERSATIONS,
    DEMO_CAPTURE,
    DEMO_PACKETS,
    Tcpdump,
    answer_of_file,
    replay,
    rows_of,
)
from tests.processes import threads_of

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump")]
COUNT_ALL = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/1000000000 AS tb"


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


def sources_of(account: dict[str, Any]) -> dict[str, int]:
    """By ring, what it read."""
    return {source["label"]: source["read"] for source in account["sources"]}


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["tcp"]], ids=["all", "filtered"])
def test_two_rings_answer_like_one(space: Namespace, tmp_path: Path, words: list[str]) -> None:
    """Each packet is read by one of them, from the first on."""
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    command = ["-i", space.far, "--fanout", "2", "-e", CONVERSATIONS, *words]
    with running(space, *command, folder=tmp_path) as run:
        wait_until(lambda: space.packet_sockets() == 3, "both rings and tcpdump's")
        tcpdump.stop(replay(space, DEMO_CAPTURE, "--pps", "4000"))
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(tcpdump.path, "-e", CONVERSATIONS, *words)
    read = sources_of(account)
    assert list(read) == ["far/0", "far/1"]
    assert all(read.values()), "flows go to both"
    assert words or sum(read.values()) == DEMO_PACKETS


def test_a_silent_ring_holds_nothing_back(space: Namespace, tmp_path: Path) -> None:
    """One flow, so that one of four rings has it all: the last window ends without its end."""
    capture = tmp_path / "one.pcap"
    space.run("tcpdump", "-r", DEMO_CAPTURE, "-c", "20", "-w", capture, "udp port 53")
    command = ["-i", space.far, "--fanout", "4", "-e", QUERY_ALL]
    with running(space, *command, folder=tmp_path) as run:
        wait_until(lambda: space.packet_sockets() == 4, "four rings")
        sent = replay(space, capture, "--topspeed")
        wait_until(lambda: totals(run.rows()).get("n") == sent, "the last window")
        assert len(sources_of(run.stop())) == 4


def test_no_thread_keeps_a_privilege(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", space.far, "--fanout", "3", "-e", QUERY_ALL, folder=tmp_path) as run:
        tasks = Path(f"/proc/{run.process.pid}/task")
        wait_until(lambda: len(list(tasks.iterdir())) >= 4, "the rings' threads")
        for status in threads_of(run.process.pid):
            assert status["NoNewPrivs"] == "1"
            assert (int(status["CapEff"], 16), int(status["CapPrm"], 16)) == (0, 0)
            assert "0" not in status["Uid"].split()
        run.stop()


def test_an_overload_is_counted_ring_by_ring(space: Namespace, tmp_path: Path) -> None:
    small = ["--ring", "128kiB", "--ring-block", "64kiB", "--fanout", "2"]
    with running(space, "-i", space.far, *small, "-e", QUERY_ALL, folder=tmp_path) as run:
        wait_until(lambda: space.packet_sockets() == 2, "both rings")
        run.process.send_signal(signal.SIGSTOP)
        sent = replay(space, DEMO_CAPTURE, "--topspeed") + replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.send_signal(signal.SIGCONT)
        wait_until(lambda: bool(run.rows()), "what was captured meanwhile")
        sent += replay(space, DEMO_CAPTURE, "--pps", "4000")
        sources = run.stop()["sources"]
        assert totals(run.rows())["n"] == sum(source["read"] for source in sources)
    assert sum(source["kernel_received"] for source in sources) == sent
    assert sum(source["kernel_dropped"] for source in sources) > 0


def test_a_link_with_rings_that_goes_down(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", space.far, "--fanout", "2", "-e", QUERY_ALL, folder=tmp_path) as run:
        wait_until(lambda: space.packet_sockets() == 2, "both rings")
        first = replay(space, DEMO_CAPTURE, "--topspeed")
        space.ip("link", "set", space.far, "down")
        wait_until(lambda: run.told().count("is down") == 2, "to hear that it is down")
        space.ip("link", "set", space.far, "up")
        space.wait_until_up(space.near, space.far)
        wait_until(lambda: run.told().count("is up") == 2, "to hear that it is up")
        second = replay(space, DEMO_CAPTURE, "--topspeed")
        run.stop()
        assert totals(run.rows())["n"] == first + second


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["udp"]], ids=["all", "filtered"])
def test_a_link_with_rings_that_is_removed_is_taken_up_again(
    space: Namespace, tmp_path: Path, words: list[str]
) -> None:
    """Again and again, by sockets that were made before the privilege went; each packet once."""
    command = ["-i", space.far, "--fanout", "2", "-e", QUERY_ALL, *words]
    with running(space, *command, folder=tmp_path) as run:
        wait_until(lambda: space.packet_sockets() == 2, "both rings")
        replay(space, DEMO_CAPTURE, "--topspeed")
        for times in (2, 4):
            space.ip("link", "del", space.far)
            wait_until(lambda n=times: run.told().count("is gone") == n, "to hear that it is gone")
            space.plug()
            wait_until(lambda n=times: run.told().count("is up") == n, "to hear that it is up")
            assert space.packet_sockets() == 2
            replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        read = totals(run.rows())["n"]
    assert {source["link"] for source in account["sources"]} == {"up"}
    assert sum(source["kernel_dropped"] for source in account["sources"]) == 0
    (once,) = set(answer_of_file(DEMO_CAPTURE, "-e", COUNT_ALL, *words))
    assert read == 3 * json.loads(once)["n"]


@pytest.mark.long
@pytest.mark.parametrize("output", ["json", "spool"])
def test_a_run_ends_with_1_when_all_links_are_lost(
    space: Namespace, folder: Path, output: str
) -> None:
    """As when a device has come back more often than there are sockets for it; also with -q."""
    code = "import sys, gigastream.engine.live as live, gigastream.__main__ as command\n"
    code += "live.SPARE_SOCKETS = 2; sys.exit(command.main())"
    where = "json" if output == "json" else f"spool:{folder / 'spool'}"
    words = ["-q", "-i", space.far, "--fanout", "2", "-e", QUERY_ALL, "-o", where]
    process = space.start(
        *(sys.executable, "-c", code, "run", *words),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
    )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None or space.packet_sockets() == 2, "both rings")
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        space.ip("link", "del", space.far)
        space.plug()
        wait_until(lambda: process.poll() is not None or space.packet_sockets() == 2, "new rings")
        sent += replay(space, DEMO_CAPTURE, "--topspeed")
        space.ip("link", "del", space.far)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 1, err
    assert err == (
        "gigastream: far/0, far/1: the link is gone; what was captured before that is answered\n"
    )
    if output == "json":
        assert sum(json.loads(line)["n"] for line in out.splitlines()) == sent


def test_two_captures_do_not_share_packets(space: Namespace, tmp_path: Path) -> None:
    """Two processes with rings on one link are two groups: each sees all."""
    words = ["-i", space.far, "--fanout", "2", "-e", QUERY_ALL]
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    counts = Counter[int]()
    with (
        running(space, *words, folder=folders[0]) as one,
        running(space, *words, folder=folders[1]) as two,
    ):
        wait_until(lambda: space.packet_sockets() == 4, "all rings")
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        for number, run in enumerate((one, two)):
            counts[number] = sum(sources_of(run.stop()).values())
    assert counts == {0: sent, 1: sent}


@pytest.mark.long
def test_a_spool_of_two_rings_is_one_stream(space: Namespace, folder: Path) -> None:
    spool = folder / "spool"
    words = ["-i", space.far, "--fanout", "2", "-e", QUERY_ALL, "-o", f"spool:{spool}"]
    with running(space, *words, folder=folder) as run:
        wait_until(lambda: space.packet_sockets() == 2, "both rings")
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
    command = [*COMMAND, "run", "-q", "-o", "json", "--spool", str(spool)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert sum(json.loads(line)["n"] for line in done.stdout.splitlines()) == sent
    assert [stream["interface"] for stream in account["streams"]] == [space.far]
