# SPDX-License-Identifier: Apache-2.0
"""A network namespace of a test's own, with two ends of a cable in it."""

from __future__ import annotations

import itertools
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND
from tests.processes import catches
from tests.sanitizers import without_sanitizers
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
QUERY_ALL = "SELECT tb, count(*) AS n, sum(len) AS bytes FROM PKT GROUP BY time AS tb"
_SESSION = secrets.token_hex(4)
"""What a run of the tests that was killed has left has the name of no later one."""
_numbers = itertools.count()
_BACKLOG = 11
"""The column of softnet_stat: packets that are on their way to who receives them."""


@dataclass(frozen=True)
class Namespace:
    """`near` and `far` are the ends of the cable; what goes into one comes out of the other."""

    name: str
    near: str = "near"
    far: str = "far"

    def run(self, *command: object) -> str:
        """Run a command in the namespace; return what it says."""
        done = subprocess.run(
            self.command(*command),
            capture_output=True,
            text=True,
            timeout=6000,
            check=False,
            env=None if command[0] == sys.executable else without_sanitizers(),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *command: object, **options: Any) -> subprocess.Popen[str]:
        """Start a command in the namespace."""
        return subprocess.Popen(self.command(*command), text=True, **options)

    def command(self, *command: object) -> list[str]:
        """The command as it is run from outside."""
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def ip(self, *words: object) -> None:
        """Change links and addresses of the namespace."""
        subprocess.run(["ip", "-n", self.name, *map(str, words)], check=True, timeout=600)

    def plug(self, *indexes: int) -> None:
        """Make the cable, its ends up and as silent as they can be.

        `indexes` are those that near and far are to have; without, the kernel chooses.
        """
        near, far = (("index", index) for index in indexes) if indexes else ((), ())
        near, far = ("name", self.near, "mtu", 9000, *near), ("name", self.far, *far)
        self.ip("link", "add", *near, "type", "veth", "peer", *far)
        for end in (self.near, self.far):
            self.run("sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
            self.ip("link", "set", end, "arp", "off", "mtu", 9000, "up")
        self.wait_until_up(self.near, self.far)

    def wait_until_up(self, *devices: str) -> None:
        """Wait until they send: what is sent into one before that is dropped, and nobody says so.

        The kernel lets a device send a little after it is up, when others leave it the time.
        """
        wait_until(lambda: set(devices) <= set(self._up()), f"{devices} to be up")

    def _up(self) -> Iterator[str]:
        words = ["ip", "-n", self.name, "-j", "link", "show"]
        said = subprocess.run(words, check=True, timeout=600, capture_output=True).stdout
        for link in json.loads(said):
            if link["operstate"] == "UP":
                yield link["ifname"]

    def index_of(self, device: str) -> int:
        """The number by which the kernel knows a device."""
        return int(self.run("ip", "-o", "link", "show", device).partition(":")[0])

    def packet_sockets(self) -> int:
        """How many packet sockets take packets: bound to a device that is there, and not closed.

        A socket that shares a link is bound before its filter lets packets in.
        """
        need("ss")
        sockets = re.findall(r"(?m)^p_.*(?:\n\t.*)*", self.run("ss", "-0bnH"))
        return sum(_takes_packets(socket) for socket in sockets)


def _takes_packets(socket: str) -> bool:
    """By what `ss` says of it: no protocol is [0], a device that is gone has the number -1."""
    is_bound = "[0]:" not in socket and ":if4294967295 " not in socket
    return is_bound and "bpf filter (1):  0x06 0 0 0," not in socket


def wait_for_delivery() -> None:
    """Wait until the kernel has handed over what was sent, which a busy one does later."""
    wait_until(lambda: not any(_backlogs()), "packets to be delivered")


def _backlogs() -> Iterator[int]:
    """Packets that wait, by processor; kernels before 5.10 do not say it."""
    for line in Path("/proc/net/softnet_stat").read_text().splitlines():
        yield int("".join(line.split()[_BACKLOG : _BACKLOG + 1]) or "0", 16)


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace with a cable, gone afterwards; skips where it cannot be made."""
    space = Namespace(f"gigastream-{os.getpid()}-{_SESSION}-{next(_numbers)}")
    made = subprocess.run(["ip", "netns", "add", space.name], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no network namespace: {made.stderr.decode().strip()}")
    try:
        space.plug()
        yield space
    finally:
        subprocess.run(["ip", "netns", "del", space.name], check=False, timeout=600)


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder that other users reach, too: pytest's are closed by each pytest that starts."""
    with tempfile.TemporaryDirectory(prefix="gigastream-test-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def needs(*programs: str) -> pytest.MarkDecorator:
    """What skips a file's tests where one of them is not installed."""
    absent = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


def need(*programs: str) -> None:
    """Skip where one of them is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


_RUNS_FOR_THEM = """
import subprocess, sys
import pyarrow, gigastream.engine._native
raise SystemExit(subprocess.run([sys.executable, "-c", ""]).returncode)
"""


def python_as(before: Sequence[str]) -> list[str]:
    """A Python that runs, and can be run again, behind such words as setpriv's; skips without."""
    first = os.environ.get("PYTHONPATH")  # another build of the engine
    ours = [
        *([first] if first else ()),
        str(ROOT),
        *(path for path in sys.path if path.endswith("site-packages")),
    ]
    system = ["env", "PYTHONPATH=" + os.pathsep.join(ours), "/usr/bin/python3"]
    for python in ([sys.executable], system):
        command = [*before, *python, "-c", _RUNS_FOR_THEM]
        if subprocess.run(command, capture_output=True, check=False, cwd="/").returncode == 0:
            return [*before, *python]
    pytest.skip("this Python is not readable for others")


class Running:
    """`gigastream run` on a link of a namespace, from when it captures to its account."""

    def __init__(self, space: Namespace, *words: object, folder: Path) -> None:
        self._space = space
        self._files = [(folder / name).open("w+") for name in ("rows", "account")]
        command = [*COMMAND, "run", "-o", "json", "--stats", "json"]
        self.process = space.start(
            *command, *words, stdout=self._files[0], stderr=self._files[1], cwd=folder
        )
        wait_until(
            lambda: self.process.poll() is not None or "listening on" in self.told(),
            "that it listens, with all rings",
        )
        assert self.process.poll() in (None, 0), self._read(1)

    def rows(self) -> list[dict[str, Any]]:
        """The rows so far, as far as they are whole."""
        whole, _, _ = self._read(0).rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def told(self) -> str:
        """What stderr says so far."""
        return self._read(1)

    def wait_until_read(self, interface: str, packets: int) -> None:
        """Wait until it has so many of an interface: a file is read no further once it ends."""

        def read() -> int:
            sources = self._account_so_far()["sources"]
            return sum(each["read"] for each in sources if each["interface"] == interface)

        wait_until(lambda: read() >= packets, f"{packets} packets of {interface}")

    def _account_so_far(self) -> dict[str, Any]:
        before = len(self._accounts())
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: len(self._accounts()) > before, "its account")
        found: dict[str, Any] = json.loads(self._accounts()[-1])
        return found

    def _accounts(self) -> list[str]:
        """Those that are whole."""
        lines = self._read(1).splitlines(keepends=True)
        return [line for line in lines if line.startswith("{") and line.endswith("\n")]

    def stop(self) -> dict[str, Any]:
        """Ctrl-C; the account."""
        wait_until(lambda: ends_well(self.process), "signals to be minded")
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE_S) == 0, self._read(1)
        found: dict[str, Any] = json.loads(self._read(1).splitlines()[-1])
        check_account(found)
        return found

    def kill(self) -> None:
        """The end, in any case."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for file in self._files:
            file.close()

    def _read(self, index: int) -> str:
        return Path(self._files[index].name).read_text()


def ends_well(process: subprocess.Popen[str]) -> bool:
    """Whether a signal ends it in good order, or it has ended."""
    return catches(process.pid, signal.SIGTERM)


@contextmanager
def running(space: Namespace, *words: object, folder: Path) -> Iterator[Running]:
    """A run that does not outlive the test."""
    run = Running(space, *words, folder=folder)
    try:
        yield run
    finally:
        run.kill()


def check_account(account: dict[str, Any]) -> None:
    """Every packet that the kernel received is in one term; each sum is right."""
    for source in account["sources"]:
        terms = ("undecodable", "filtered", "late", "skew", "sampled_out", "decoded")
        assert source["read"] == sum(source[term] for term in terms)
        if source["link"] is not None:
            assert source["kernel_received"] == source["read"] + source["kernel_dropped"]
    decoded: dict[str, int] = {}
    for source in account["sources"]:
        decoded[source["interface"]] = decoded.get(source["interface"], 0) + source["decoded"]
    for lfta in account["lftas"]:
        terms = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
        given = decoded[lfta["interface"]] - lfta["fragments"] + lfta["datagrams"]
        assert given == sum(lfta[term] for term in terms)


def totals(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The sums of all columns but `tb`."""
    names = {name for row in rows for name in row if name != "tb"}
    return {name: sum(row[name] for row in rows) for name in names}
