# SPDX-License-Identifier: Apache-2.0
"""What a packet costs in the daemon, and in `gigastream run`: both at work, packets in turn.

    sudo python bench/live/daemon.py                      # all questions
    sudo python bench/live/daemon.py --pairs 3 --rates 400000 groups idle

Each of the two reads a cable of its own in a network namespace, with the same query; send.c gives
its packets now to the one, now to the other, a pair of bursts at a time. CPU is that of the process
that reads, over the packets of the burst. The means of all pairs are shown and their ratio, then
the median of the pairs' ratios, with the least and the greatest: where a minute ends within a burst
its rows go out, so that pairs differ; over some minutes both write the same rows. `idle` is a
daemon whose link says nothing.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from run import CC, GROUPS, HERE, NAMESPACE, cable, cpu_seconds, inside, send

from gigastream.daemon.client import ControlClient, ControlError
from gigastream.daemon.messages import StatusAnswer

ENDS = {"run": "run-far", "daemon": "daemon-far"}
COUNT = "SELECT tb, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb"
PORT = "SELECT tb, count(*) AS n FROM UDP WHERE destPort = 80 GROUP BY time/60 AS tb"
PROGRAM = (sys.executable, "-m", "gigastream")
READY_S = 60.0
SETTLED_S = 0.4
"""After a burst: its last block is handed over, and read."""
IDLE_S = 15.0


def groups(number: int) -> str:
    """Packets and bytes by pair of addresses; each number is another query."""
    return f"DEFINE {{ query_name q{number}; }} {GROUPS.format(where=f'WHERE len > {number}')}"


@dataclass(frozen=True)
class Question:
    """What both are asked."""

    sets: Sequence[str]
    """Texts; `run` has all of them in one plan."""
    words: Sequence[str] = ()


QUESTIONS = {
    "count": Question([COUNT]),
    "count, whole packets": Question([COUNT], ("--snap", "262144")),
    "groups": Question([groups(0)]),
    "eight": Question([";".join(map(groups, range(8)))]),
    "eight sets": Question([*map(groups, range(8))]),
    "port": Question([PORT]),
    "port, in the kernel": Question([PORT], ("--kernel-prefilter", "on")),
}


@contextmanager
def cables() -> Iterator[None]:
    """Another for each of the two."""
    with cable():
        for device in ENDS.values():
            near = device.replace("far", "near")
            for words in (
                f"link add {near} type veth peer name {device}",
                f"link set {device} arp off up",
                f"link set {near} arp off up",
            ):
                subprocess.run(["ip", "-n", NAMESPACE, *words.split()], check=True)
        yield


@contextmanager
def started(words: Sequence[str], folder: Path, is_so: Callable[[], bool]) -> Iterator[int]:
    """A program in the namespace, from when it is at work; what it says is in WORD.log."""
    log = folder / f"{words[0]}.log"
    with log.open("w") as said:
        process = subprocess.Popen(inside([*PROGRAM, *words]), stderr=said, cwd=folder)
    try:
        deadline = time.monotonic() + READY_S
        while not is_so():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"it does not capture: {log.read_text()}")
            time.sleep(0.1)
        time.sleep(1)  # what it does once
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(READY_S)


def texts_of(question: Question, folder: Path) -> list[str]:
    """A file for each set."""
    paths = [folder / f"set{number}.gsql" for number in range(len(question.sets))]
    for path, text in zip(paths, question.sets, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def status_of(folder: Path) -> StatusAnswer:
    """Of the daemon. ControlError."""
    with ControlClient(folder / "socket") as client:
        return client.status()


def is_reading(folder: Path) -> bool:
    """The daemon has said so; it does not answer until it is up."""
    try:
        report = status_of(folder).report
    except ControlError:
        return False
    return report is not None and bool(report.sets)


def has_packet_socket() -> bool:
    look = inside(["cat", "/proc/net/packet"])
    return len(subprocess.run(look, capture_output=True, check=True).stdout.splitlines()) > 1


@contextmanager
def run(question: Question, folder: Path) -> Iterator[int]:
    """`gigastream run`; its process id."""
    words = ["run", "-i", ENDS["run"], *question.words, "--stats", "json"]
    words += ["-o", f"json:{folder / 'rows' / 'run.json'}", "-e", ";".join(question.sets)]
    with started(words, folder, has_packet_socket) as pid:
        yield pid


@contextmanager
def daemon(question: Question, folder: Path) -> Iterator[int]:
    """`gigastream capture`; the supervisor's process id."""
    out = folder / "rows"
    place = out if len(question.sets) > 1 else out / "rows.json"
    words = ["capture", "-i", ENDS["daemon"], *question.words, "--socket", str(folder / "socket")]
    words += ["--cache", str(folder / "cache"), "-o", f"json:{place}"]
    with started([*words, *texts_of(question, folder)], folder, lambda: is_reading(folder)) as pid:
        yield pid


@dataclass(frozen=True)
class Pair:
    """CPU, ns a packet."""

    run: float
    daemon: float


def burst(name: str, reader: int, folder: Path, asked: argparse.Namespace, rate: int) -> float:
    """CPU of the reader over the packets of a burst, ns; how many were sent is added up."""
    before = cpu_seconds(reader)
    sent, _ = send(folder, asked.groups, rate, asked.seconds, ENDS[name])
    time.sleep(SETTLED_S)
    SENT[name] += sent
    return (cpu_seconds(reader) - before) / sent * 1e9


SENT = dict.fromkeys(ENDS, 0)


def pairs_of(question: Question, folder: Path, asked: argparse.Namespace) -> dict[int, list[Pair]]:
    """By rate. Who is first in a pair changes; the first pair is a warm-up."""
    found: dict[int, list[Pair]] = {}
    SENT.update(dict.fromkeys(ENDS, 0))
    with run(question, folder) as pid, daemon(question, folder):
        readers = {"run": pid, "daemon": status_of(folder).capture_pid}
        for rate in map(int, asked.rates.split(",")):
            found[rate] = [
                Pair(**{name: burst(name, readers[name], folder, asked, rate) for name in order})
                for order in ([*ENDS], [*reversed(ENDS)]) * ((asked.pairs + 2) // 2)
            ][1 : asked.pairs + 1]
        time.sleep(1.2)  # the daemon's last report
        read = {"daemon": status_of(folder).report.sources[0].read}
    account = json.loads((folder / "run.log").read_text().splitlines()[-1])
    read["run"] = account["sources"][0]["read"]
    for name in ENDS if "kernel" not in " ".join(question.words) else ():
        if read[name] < SENT[name]:
            print(f"{name}: of {SENT[name]} packets it read {read[name]}", file=sys.stderr)
    return found


def show(name: str, found: dict[int, list[Pair]]) -> None:
    """A line for each rate."""
    for rate, pairs in found.items():
        ratios = sorted(pair.daemon / pair.run for pair in pairs)
        run, daemon = (statistics.mean(getattr(pair, who) for pair in pairs) for who in ENDS)
        print(
            f"{name:20} {rate / 1e6:5.2f} {run:8.1f} {daemon:8.1f} {daemon / run:7.3f}"
            f" {statistics.median(ratios):7.3f}   {ratios[0]:.2f} to {ratios[-1]:.2f}",
            flush=True,
        )


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def show_idle(folder: Path) -> None:
    """Of each process of a daemon whose link is silent: CPU, percent of a core."""
    with daemon(QUESTIONS["groups"], folder) as supervisor:
        launcher, capture = children(supervisor)[0], status_of(folder).capture_pid
        pids = {"supervisor": supervisor, "launcher": launcher, "capture": capture}
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        time.sleep(IDLE_S)
        used = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
    told = ", ".join(f"{name} {100 * cpu / IDLE_S:.3f} %" for name, cpu in used.items())
    print(f"idle: {told}", flush=True)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--rates", default="200000,400000")
    parser.add_argument("--groups", type=int, default=1 << 16)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--pairs", type=int, default=25)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, cables():
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "rows").mkdir()
        (folder / "rows").chmod(0o777)
        subprocess.run([*CC, folder / "send", HERE / "send.c"], check=True)
        print("question              Mpps  run, ns   daemon   ratio  median   least to greatest")
        for question in asked.questions or [*QUESTIONS, "idle"]:
            if question == "idle":
                show_idle(folder)
            else:
                show(question, pairs_of(QUESTIONS[question], folder, asked))


if __name__ == "__main__":
    main()
