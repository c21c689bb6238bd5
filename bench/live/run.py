# SPDX-License-Identifier: Apache-2.0
"""A live link at a ladder of rates: who drops what, and what a packet costs whom.

    sudo python bench/live/run.py                        # all receivers, all rates
    sudo python bench/live/run.py --rates 100000,300000 --seconds 5 ours reader

Each receiver has the far end of a cable in a network namespace of its own to itself; send.c gives
that end packets of 64 bytes from 65,536 sources (--groups), by XDP, so that no sender's stack is
measured. The question is that of bench's other tables: packets and bytes by minute and pair of
addresses. A rate of 0 is as fast as the sender goes. What a receiver got is its own count where it
tells one; `dropped` is what was sent and is not in it. CPU is that of the receiver's process alone,
from the first packet to the last: what the kernel does to fill the ring is the sender's time for
all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMESPACE = f"gigastream-bench-{os.getpid()}"
DEVICE = "far"
CC = ("cc", "-O2", "-march=native", "-o")
GROUPS = "SELECT tb, srcIP, destIP, count(*) AS n, sum(len) AS bytes FROM IPV4 {where} "
GROUPS += "GROUP BY time/60 AS tb, srcIP, destIP"
DEFAULT_RATES = "100000,200000,400000,800000,0"
PATIENCE_S = 120.0
READY_S = 1.0
LAST_BLOCK_S = 1.5


@dataclass(frozen=True)
class Receiver:
    """A program, and how it is asked for what it received."""

    name: str
    command: Callable[[Path], list[str]]
    received: Callable[[str], int | None]
    """Finds the number in what it says when it ends, or when it is asked."""
    question: Callable[[Path], list[str]] | None = None


def ours(queries: int) -> Callable[[Path], list[str]]:
    """The engine with so many queries, all of which see every packet."""

    def command(folder: Path) -> list[str]:
        texts = [GROUPS.format(where=f"WHERE len > {n}") for n in range(queries)]
        named = [f"DEFINE {{ query_name q{n}; }} {text}" for n, text in enumerate(texts)]
        words = ["-m", "gigastream", "run", "-i", DEVICE, "-e", ";".join(named)]
        output = f"csv:{folder / 'rows'}" if queries == 1 else f"json:{folder / 'rows'}"
        return [sys.executable, *words, "-o", output, "--stats", "json"]

    return command


def read_of_account(said: str) -> int | None:
    return int(json.loads(said.splitlines()[-1])["sources"][0]["read"])


def first_number(said: str) -> int | None:
    return int(said.split()[0]) if said.split() else None


def number_before(words: str) -> Callable[[str], int | None]:
    def find(said: str) -> int | None:
        found = re.search(rf"(\d+) {words}", said)
        return int(found[1]) if found else None

    return find


def number_after(words: str) -> Callable[[str], int | None]:
    def find(said: str) -> int | None:
        found = re.findall(rf"{words}:? *(\d+)", said)
        return max(map(int, found)) if found else None

    return find


RECEIVERS = (
    Receiver("reader", lambda folder: [str(folder / "reader"), DEVICE], first_number),
    Receiver("ours", ours(1), read_of_account),
    Receiver("ours, 20 queries", ours(20), read_of_account),
    Receiver(
        "tcpdump",
        lambda _: ["tcpdump", "-i", DEVICE, "-B", "65536", "-w", "/dev/null"],
        number_before("packets captured"),
    ),
    Receiver(
        "softflowd",
        lambda folder: [
            *("softflowd", "-d", "-B", "67108864", "-i", DEVICE, "-n", "127.0.0.1:9"),
            *("-c", str(folder / "softflowd.ctl")),
        ],
        number_after("Packets received by libpcap"),
        lambda folder: ["softflowctl", "-c", str(folder / "softflowd.ctl"), "statistics"],
    ),
    Receiver(
        "nfpcapd",
        lambda folder: ["nfpcapd", "-i", DEVICE, "-w", str(folder), "-l", str(folder)],
        number_after("Processed"),
    ),
)


@contextmanager
def cable() -> Iterator[None]:
    """The namespace with the device."""
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        for words in (
            f"link add near type veth peer name {DEVICE}",
            f"link set {DEVICE} arp off up",
            "link set near arp off up",
            "link set lo up",
        ):
            subprocess.run(["ip", "-n", NAMESPACE, *words.split()], check=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


def inside(command: Sequence[str]) -> list[str]:
    return ["ip", "netns", "exec", NAMESPACE, *command]


def run_inside(command: Sequence[str]) -> str:
    return subprocess.run(inside(command), capture_output=True, text=True, check=True).stdout


def cpu_seconds(pid: int) -> float:
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def send(
    folder: Path, groups: int, rate: int, seconds: float, device: str = DEVICE
) -> tuple[int, float]:
    """Send; give the packets and the seconds."""
    done = subprocess.run(
        inside([str(folder / "send"), device, str(groups), str(rate), str(seconds)]),
        capture_output=True,
        text=True,
        check=True,
    )
    sent, took = done.stdout.split()
    return int(sent), float(took)


def wait_until_it_captures() -> None:
    """A packet socket is there; then what a program does once is soon done."""
    deadline = time.monotonic() + PATIENCE_S
    look = inside(["cat", "/proc/net/packet"])
    while time.monotonic() < deadline:
        sockets = subprocess.run(look, capture_output=True, text=True, check=True).stdout
        if any(line.split()[3] != "0000" for line in sockets.splitlines()[1:]):
            time.sleep(READY_S)
            return
        time.sleep(0.1)
    raise SystemExit("the receiver does not capture")


def measure(
    receiver: Receiver, folder: Path, groups: int, rate: int, seconds: float
) -> dict[str, object]:
    """One receiver at one rate."""
    process = subprocess.Popen(
        inside(receiver.command(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    wait_until_it_captures()
    before = cpu_seconds(process.pid)
    sent, took = send(folder, groups, rate, seconds)
    time.sleep(LAST_BLOCK_S)
    used = cpu_seconds(process.pid) - before
    answer = "" if receiver.question is None else run_inside(receiver.question(folder))
    process.send_signal(signal.SIGINT)
    said = answer + process.communicate(timeout=60)[0]
    received = receiver.received(said)
    return {
        "receiver": receiver.name,
        "wanted": rate,
        "offered_mpps": round(sent / took / 1e6, 3),
        "dropped_percent": None if received is None else round(100 * (1 - received / sent), 3),
        "cpu_ns": round(used / (received or sent) * 1e9, 1),
    }


def show(figures: Sequence[dict[str, object]]) -> None:
    print("| receiver | offered Mpps | drop % | CPU ns/packet |\n|---|---|---|---|")
    for f in figures:
        print(f"| {f['receiver']} | {f['offered_mpps']} | {f['dropped_percent']} | {f['cpu_ns']} |")


def wanted_receivers(names: Sequence[str]) -> list[Receiver]:
    """Those that are named, or all; without those that are not installed."""
    chosen = [receiver for receiver in RECEIVERS if not names or receiver.name in names]
    programs = ("tcpdump", "softflowd", "nfpcapd")
    return [r for r in chosen if r.name not in programs or shutil.which(r.name)]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("receivers", nargs="*", metavar="RECEIVER")
    parser.add_argument("--rates", default=DEFAULT_RATES)
    parser.add_argument("--groups", type=int, default=1 << 16)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as name, cable():
        folder = Path(name)
        folder.chmod(0o777)
        for program in ("send", "reader"):
            subprocess.run([*CC, folder / program, HERE / f"{program}.c"], check=True)
        for rate in map(int, arguments.rates.split(",")):
            for receiver in wanted_receivers(arguments.receivers):
                figures.append(measure(receiver, folder, arguments.groups, rate, arguments.seconds))
                print(figures[-1], file=sys.stderr)
    show(figures)


if __name__ == "__main__":
    main()
