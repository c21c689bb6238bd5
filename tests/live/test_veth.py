# SPDX-License-Identifier: Apache-2.0
"""`gigastream run -i` on real links: the answer is that of tcpdump's capture of the same link."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND
from tests.live.namespace import (
    PATIENCE_S,
    QUERY_ALL,
    Namespace,
    folder_for_all,
    namespace,
    need,
    needs,
    running,
    totals,
    wait_for_delivery,
    wait_until,
)
from tests.processes import program, threads_of

pytestmark = [pytest.mark.privileged, needs("tcpreplay", "tcpdump")]
ROOT = Path(__file__).resolve().parents[2]
DEMO_CAPTURE = ROOT / "demo" / "demo.pcap"
DEMO_PACKETS = 2010
CONVERSATIONS = """
SELECT tb, vlan, etherType, count(*) AS n, sum(len) AS bytes FROM ETH
GROUP BY time/1000000000 AS tb, vlan, etherType;
DEFINE { query_name talks; }
SELECT tb, srcIP, destIP, protocol, count(*) AS n, sum(len) AS bytes, max(len) AS most
FROM IP GROUP BY time/1000000000 AS tb, srcIP, destIP, protocol;
DEFINE { query_name ports; }
SELECT tb, destPort, count(*) AS n, sum(data_length) AS payload
FROM TCP GROUP BY time/1000000000 AS tb, destPort
"""
RATES = (["--pps", "2000"], ["--topspeed"])


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


def replay(space: Namespace, capture: Path, *options: str) -> int:
    """Send a capture into the cable; return how many packets went, and came in."""
    said = space.run("tcpreplay", *options, "-i", space.near, capture)
    (line,) = (line for line in said.splitlines() if "Successful packets" in line)
    wait_for_delivery()
    return int(line.split()[-1])


_TCPDUMPS_ACCOUNT = re.compile(
    r"(\d+) packets? captured\W+(\d+) packets? received by filter"
    r"\W+(\d+) packets? dropped by kernel"
)


class Tcpdump:
    """A capture of the far end by somebody else."""

    def __init__(self, space: Namespace, path: Path, *words: str) -> None:
        self.path = path
        self._told = path.with_suffix(".told")
        options = ("-B", "65536", "--nano", "-w", path)
        with self._told.open("w") as told:
            self._process = space.start(
                *("tcpdump", *(words or ("-i", space.far)), *options), stderr=told
            )
        wait_until(lambda: "listening on" in self._told.read_text(), "tcpdump")

    def stop(self, least: int = 0) -> int:
        """End it once it has written at least so many, and all that the kernel has for it.

        Return how many it has written.
        """
        deadline = time.monotonic() + PATIENCE_S
        while (counts := self._counts(signal.SIGUSR1))[0] < max(least, counts[1]):
            assert counts[2] == 0, "the kernel dropped packets"
            assert time.monotonic() < deadline, f"of {least}: {counts}"
            time.sleep(0.02)
        captured, received, dropped = self._counts(signal.SIGINT)
        assert self._process.wait(timeout=PATIENCE_S) == 0
        assert (captured, dropped) == (received, 0)
        return captured

    def _counts(self, number: signal.Signals) -> list[int]:
        """Ask it: packets captured, received by its filter, dropped by the kernel."""
        before = len(self._accounts())
        self._process.send_signal(number)
        wait_until(lambda: len(self._accounts()) > before, "tcpdump's account")
        return [int(count) for count in self._accounts()[-1]]

    def _accounts(self) -> list[tuple[str, ...]]:
        return _TCPDUMPS_ACCOUNT.findall(self._told.read_text())


@contextmanager
def endless(space: Namespace) -> Iterator[None]:
    """Packets that come again and again, a few hundred a second, until this is left."""
    words = ("--pps", "500", "--loop", "0", "-i", space.near, DEMO_CAPTURE)
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    sender = space.start("tcpreplay", *words, **output)
    try:
        yield
        assert sender.poll() is None
    finally:
        sender.kill()
        sender.wait()
        wait_for_delivery()


def answer_of_file(path: Path, *words: str) -> Counter[str]:
    command = [*COMMAND, "run", "-q", "-o", "json", "-r", str(path)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=True, cwd=ROOT)
    return Counter(done.stdout.splitlines())


def rows_of(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, separators=(",", ":")) for row in rows)


@pytest.mark.long
@pytest.mark.parametrize("rate", RATES, ids=["paced", "topspeed"])
def test_the_answer_is_that_of_tcpdumps_capture(
    space: Namespace, tmp_path: Path, rate: list[str]
) -> None:
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    with running(space, "-i", space.far, "-e", CONVERSATIONS, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, *rate)
        tcpdump.stop(sent)
        account = run.stop()
        rows = rows_of(run.rows())
    assert sent == DEMO_PACKETS == account["sources"][0]["read"]
    assert rows == answer_of_file(tcpdump.path, "-e", CONVERSATIONS)
    assert len(rows) > 30


@pytest.mark.long
@pytest.mark.parametrize("expression", ["udp port 53", "tcp", "vlan 7 and tcp", "ip6"])
def test_a_filter_says_what_it_says_of_a_file(
    space: Namespace, tmp_path: Path, expression: str
) -> None:
    """Also of frames whose tag the kernel has taken out before its filter sees them."""
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    words = ["-e", CONVERSATIONS, *expression.split()]
    with running(space, "-i", space.far, *words, folder=tmp_path) as run:
        tcpdump.stop(replay(space, DEMO_CAPTURE, "--topspeed"))
        account = run.stop()
        rows = rows_of(run.rows())
    assert rows == answer_of_file(tcpdump.path, *words)
    assert account["sources"][0]["read"] < DEMO_PACKETS


def test_rows_come_each_second_and_the_last_soon_after_the_sender_stops(
    space: Namespace, tmp_path: Path
) -> None:
    tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
    with running(space, "-i", space.far, "-e", QUERY_ALL, folder=tmp_path) as run:
        with endless(space):  # rows come while packets do
            wait_until(lambda: len(run.rows()) > 1, "rows")
        sent = tcpdump.stop()
        wait_until(lambda: totals(run.rows()).get("n") == sent, "the last window")
        rows = run.rows()
        account = run.stop()
        assert run.rows() == rows, "nothing was left to flush"
    seconds = [row["tb"] for row in rows]
    assert seconds == sorted(set(seconds))
    assert account["sources"][0]["decoded"] == sent


def test_ctrl_c_answers_the_open_windows(space: Namespace, tmp_path: Path) -> None:
    """Packets that are in a block which the kernel has not handed over are among them."""
    words = ["-i", space.far, "--retire", "900ms", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        assert totals(run.rows())["n"] == sent
    assert account["sources"][0]["kernel_received"] == sent


def send(space: Namespace, *frames: bytes) -> None:
    """Raw frames into the near end."""
    program = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((sys.argv[1], 0))\n"
        "for frame in sys.argv[2:]: s.send(bytes.fromhex(frame))\n"
    )
    space.run(sys.executable, "-c", program, space.near, *(frame.hex() for frame in frames))
    wait_for_delivery()


ADDRESSES = bytes.fromhex("020000000002020000000001")
TAGGED = {
    "none": ADDRESSES + bytes.fromhex("88b5") + bytes(46),
    "802.1Q": ADDRESSES + bytes.fromhex("8100 6007 88b5") + bytes(46),
    "802.1ad in 802.1Q": ADDRESSES + bytes.fromhex("88a8 0005 8100 0006 88b5") + bytes(46),
}


def test_tags_are_where_they_were_on_the_wire(space: Namespace, tmp_path: Path) -> None:
    query = "SELECT time AS tb, vlan, inner_vlan, etherType, len, caplen FROM ETH"
    with running(space, "-i", space.far, "-e", query, folder=tmp_path) as run:
        send(space, *TAGGED.values())
        run.stop()
        found = {(r["vlan"], r["inner_vlan"], r["len"], r["caplen"]) for r in run.rows()}
        assert {r["etherType"] for r in run.rows()} == {0x88B5}
    assert found == {(0, 0, 60, 60), (7, 0, 64, 64), (5, 6, 68, 68)}


def test_a_silent_link_says_nothing_and_costs_nothing(space: Namespace, tmp_path: Path) -> None:
    with running(space, "-i", space.far, "-e", QUERY_ALL, folder=tmp_path) as run:
        wait_until(lambda: "listening on" in run.told(), "that it has begun")
        wait_until(lambda: share_of_a_core(run.process.pid) < 0.1, "what it costs to be little")
        account = run.stop()
        assert run.rows() == []
    assert account["sources"][0]["kernel_received"] == 0


def share_of_a_core(pid: int) -> float:
    """Of the next three seconds; what it has still to do at its beginning may be among them."""
    began, used = time.monotonic(), cpu_seconds(pid)
    time.sleep(3)
    return (cpu_seconds(pid) - used) / (time.monotonic() - began)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
@pytest.mark.parametrize("removal", [False, True], ids=["down", "removed"])
def test_a_link_that_flaps(space: Namespace, tmp_path: Path, removal: bool) -> None:
    """It is told, and packets count again when it is back, though all privileges are gone."""
    with running(space, "-i", space.far, "-e", QUERY_ALL, folder=tmp_path) as run:
        first = replay(space, DEMO_CAPTURE, "--topspeed")
        wait_until(lambda: totals(run.rows()).get("n") == first, "the first packets")
        if removal:
            space.ip("link", "del", space.far)
            wait_until(lambda: "far is gone" in run.told(), "to hear that it is gone")
            space.plug()
        else:
            space.ip("link", "set", space.far, "down")
            wait_until(lambda: "far is down" in run.told(), "to hear that it is down")
            space.ip("link", "set", space.far, "up")
            space.wait_until_up(space.near, space.far)
        wait_until(lambda: "far is up" in run.told(), "to hear that it is up")
        second = replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
        assert totals(run.rows())["n"] == first + second
    assert account["sources"][0]["link"] == "up"


def _is_dropped(status: str) -> bool:
    """The last of the steps is done."""
    return all(text in status for text in ("NoNewPrivs:\t1", "Uid:\t1\t", f"CapBnd:\t{0:016x}"))


def test_all_privileges_are_gone_in_every_thread(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.far, "-e", QUERY_ALL, "--user", "daemon"]
    with running(space, *words, folder=tmp_path) as run:
        status_of_it = Path(f"/proc/{run.process.pid}/status")
        wait_until(lambda: _is_dropped(status_of_it.read_text()), "the drop")
        for status in threads_of(run.process.pid):
            assert status["Uid"].split() == status["Gid"].split() == ["1"] * 4
            assert status["Groups"] == ""
            assert status["NoNewPrivs"] == "1"
            for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(status[name], 16) == 0, name
        replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
    assert account["sources"][0]["decoded"] == DEMO_PACKETS


def test_an_overload_is_dropped_by_the_kernel_and_counted(space: Namespace, tmp_path: Path) -> None:
    """A stopped reader: the ring fills, the rest is dropped; afterwards all goes on by itself."""
    words = ["-i", space.far, "--ring", "128kiB", "--ring-block", "64kiB", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        run.process.send_signal(signal.SIGSTOP)
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.send_signal(signal.SIGCONT)
        wait_until(lambda: bool(run.rows()), "what was captured meanwhile")
        first = totals(run.rows())["n"]
        sent += replay(space, DEMO_CAPTURE, "--pps", "4000")
        (source,) = run.stop()["sources"]
        assert totals(run.rows())["n"] == source["read"]
    assert source["kernel_dropped"] > 0
    assert source["freezes"] > 0
    assert source["kernel_received"] == sent
    assert source["read"] > first


def test_several_links_and_a_file(space: Namespace, tmp_path: Path) -> None:
    query = """SELECT tb, interface, count(*) AS n FROM PKT
    GROUP BY time/1000000000 AS tb, interface"""
    words = ["-i", space.far, "-i", f"other={space.near}", "-r", f"old={DEMO_CAPTURE}"]
    with running(space, *words, "-e", query, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--pps", "4000")
        run.wait_until_read("old", DEMO_PACKETS)
        run.stop()
        counts = Counter[str]()
        for row in run.rows():
            counts[row["interface"]] += row["n"]
    assert counts == {space.far: sent, "other": sent, "old": DEMO_PACKETS}


def test_what_this_host_sends_is_a_setting(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.near, "--outgoing", "off", "-e", QUERY_ALL]
    with running(space, *words, folder=tmp_path) as run:
        replay(space, DEMO_CAPTURE, "--topspeed")
        assert run.stop()["sources"][0]["kernel_received"] == 0


def test_a_spool_is_written_without_privileges_and_gives_the_answer(
    space: Namespace, folder: Path
) -> None:
    spool = folder / "spool"
    words = ["-i", space.far, "-e", QUERY_ALL, "-o", f"spool:{spool}"]
    with running(space, *words, folder=folder) as run:
        status = Path(f"/proc/{run.process.pid}/status")
        wait_until(lambda: f"CapEff:\t{0:016x}" in status.read_text(), "the drop")
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        account = run.stop()
    command = [*COMMAND, "run", "-q", "-o", "json", "--spool", str(spool)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert sum(json.loads(line)["n"] for line in done.stdout.splitlines()) == sent
    assert account["sources"][0]["decoded"] == sent


def test_the_account_for_people(space: Namespace, tmp_path: Path) -> None:
    words = ["-i", space.far, "-e", QUERY_ALL, "--stats", "text"]
    with running(space, *words, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        run.process.send_signal(signal.SIGINT)
        run.process.wait(PATIENCE_S)
        assert f"far (far): received {sent:,} = read {sent:,} = decoded {sent:,}" in run.told()


@contextmanager
def neighbours(space: Namespace) -> Iterator[Namespace]:
    """The near end goes to another host; both have addresses. The other host is given.

    They know each other: no ARP comes at a time of its own, when one capture has ended and another
    has not.
    """
    with namespace() as other:
        other.ip("link", "del", other.near)
        space.ip("link", "set", space.near, "netns", other.name)
        for host, end, number in ((other, space.near, 1), (space, space.far, 2)):
            host.run("sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
            host.ip("addr", "add", f"10.99.0.{number}/24", "dev", end)
            host.ip("link", "set", end, "arp", "on", "up")
            host.ip("link", "set", "lo", "up")
        for host, end in ((other, space.near), (space, space.far)):
            host.wait_until_up(end)
        for host, end, number, peer in (
            (other, space.near, 2, hardware_address(space, space.far)),
            (space, space.far, 1, hardware_address(other, space.near)),
        ):
            known = (f"10.99.0.{number}", "lladdr", peer, "dev", end, "nud", "permanent")
            host.ip("neigh", "replace", *known)
        yield other


def hardware_address(space: Namespace, device: str) -> str:
    (found,) = json.loads(space.run("ip", "-j", "link", "show", device))
    return str(found["address"])


TIME_WAIT, LISTEN = "06", "0A"


def connections(space: Namespace) -> list[tuple[int, str]]:
    """The port at this end and the state of each, and of what listens."""
    lines = space.run("cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()
    found = (line.split() for line in lines if "local_address" not in line)
    return [(int(words[1].rpartition(":")[2], 16), words[3]) for words in found]


def are_closed(*spaces: Namespace) -> bool:
    """Whether no connection has a packet to send: all only listen, or are in TIME_WAIT."""
    states = {state for space in spaces for _, state in connections(space)}
    return states <= {TIME_WAIT, LISTEN}


def test_real_clients_and_servers(space: Namespace, tmp_path: Path) -> None:
    """Both directions of a ping and a transfer: the answer is that of tcpdump's capture."""
    need("ping", "iperf3")
    with neighbours(space) as other:
        tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
        with running(space, "-i", space.far, "-e", CONVERSATIONS, folder=tmp_path) as run:
            server = space.start("iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
            wait_until(lambda: (5201, LISTEN) in connections(space), "the server")
            other.run("ping", "-q", "-c", "5", "-i", "0.05", "10.99.0.2")
            other.run("iperf3", "-c", "10.99.0.2", "-b", "20M", "-t", "1")
            server.wait(PATIENCE_S)
            wait_until(lambda: are_closed(space, other), "the connections' end")
            tcpdump.stop()
            run.stop()
            rows = run.rows()
    assert rows_of(rows) == answer_of_file(tcpdump.path, "-e", CONVERSATIONS)
    pings = [r["n"] for r in rows if r["query"] == "talks" and r["protocol"] == 1]
    assert pings == [5, 5]


def test_a_link_whose_timestamps_are_behind_the_clock(space: Namespace) -> None:
    """More than max-skew: once the clock has been believed, every packet is dropped and counted."""
    begun = time.monotonic_ns()
    ahead = space.start(
        *(*program("tests.live.ahead"), space.far, 1000),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert ahead.stdout is not None
    assert ahead.stdout.readline() == "captures\n"
    sent = replay(space, DEMO_CAPTURE, "--topspeed")
    source = json.loads(ahead.communicate(timeout=PATIENCE_S)[0])
    assert source["read"] == source["skew"] == source["kernel_received"] == sent
    assert source["rows"] == 0
    took = time.monotonic_ns() - begun  # since when the clock may not have been read again
    assert 998e9 - took < source["worst_lateness_ns"] < 999e9


def test_curl_and_dig(space: Namespace, tmp_path: Path) -> None:
    """A page that is fetched and a name that nobody answers for."""
    need("curl", "dig")
    with neighbours(space) as other:
        served = ["-m", "http.server", "8080", "--bind", "10.99.0.2", "--directory", tmp_path]
        server = space.start(sys.executable, *served, stderr=subprocess.DEVNULL)
        try:
            tcpdump = Tcpdump(space, tmp_path / "seen.pcap")
            with running(space, "-i", space.far, "-e", CONVERSATIONS, folder=tmp_path) as run:
                other.run("curl", "-sS", "--retry-connrefused", "--retry", 9, "10.99.0.2:8080/")
                asked = ["+tries=1", "+time=1", "@10.99.0.2", "example.org"]
                subprocess.run(other.command("dig", *asked), capture_output=True, check=False)
                wait_until(lambda: are_closed(space, other), "the connection's end")
                tcpdump.stop()
                run.stop()
                rows = run.rows()
        finally:
            server.kill()
            server.wait()
    assert rows_of(rows) == answer_of_file(tcpdump.path, "-e", CONVERSATIONS)
    assert any(row.get("destPort") == 8080 and row["payload"] > 0 for row in rows)
    assert sum(row["n"] for row in rows if row.get("protocol") == 17) >= 1
