# SPDX-License-Identifier: Apache-2.0
"""A reader of stdout who stops reading: the ring is read on, up to the bound of what may wait."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, account_so_far
from tests.live.namespace import (
    PATIENCE_S,
    Namespace,
    check_account,
    needs,
    wait_for_delivery,
    wait_until,
)

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]
DEMO_CAPTURE = Path(__file__).resolve().parents[2] / "demo" / "demo.pcap"
DEMO_PACKETS = 2010
LOOPS, TURNS = 40, 4
RING = ("--ring", "8MiB", "--ring-block", "256kiB", "--retire", "500ms")
"""Less than half of what is sent: who does not read it loses packets; but all of one turn.

That is so where a turn takes many seconds, too: each block is given that time to be filled.
"""


@contextmanager
def unread(space: Namespace, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A run whose stdout nobody reads yet."""
    command = [*COMMAND, "run", "-o", "json", "--stats", "json"]
    command += ["-i", space.far, "-e", "SELECT time, len FROM PKT", *words]
    process = space.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("gigastream: listening on ")
        yield process
    finally:
        process.kill()
        process.communicate()


def send(space: Namespace, loops: int = LOOPS) -> int:
    """Many times the demo's packets, not faster than they can be read."""
    space.run(
        *("tcpreplay", "--pps", "40000", "--loop", loops, "--preload-pcap"),
        *("-i", space.near, DEMO_CAPTURE),
    )
    wait_for_delivery()
    return loops * DEMO_PACKETS


def read_so_far(process: subprocess.Popen[str]) -> int:
    return sum(source["read"] for source in account_so_far(process)["sources"])


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, dict[str, Any]]:
    """The rows that are read in the end, and the account."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "{" in err, (process.returncode, err)
    account: dict[str, Any] = next(
        json.loads(line) for line in err.splitlines() if line.startswith("{")
    )
    check_account(account)
    return len(out.splitlines()), account


@pytest.mark.parametrize("rings", ["1", "2"])
def test_the_ring_is_read_while_rows_wait(space: Namespace, rings: str) -> None:
    """However slowly this host reads: it is sent no more than there is room for."""
    sent = 0
    with unread(space, *RING, "--fanout", rings) as process:
        for _ in range(TURNS):
            sent += send(space, LOOPS // TURNS)
            wait_until(lambda n=sent: read_so_far(process) >= n, "all to be read")  # type: ignore[misc]
        rows, account = end(process, signal.SIGINT)
    assert process.returncode == 0
    read = sum(source["read"] for source in account["sources"])
    assert rows == account["rows"] == read == sent, "more than the ring holds"
    assert account["output_waits"] == account["rows_lost"] == 0


def test_where_too_much_waits_the_kernel_drops_and_counts(space: Namespace) -> None:
    with unread(space, *RING, "--output-queue", "64kB") as process:
        sent = send(space)
        rows, account = end(process, signal.SIGINT)
    (source,) = account["sources"]
    assert source["kernel_received"] == sent
    assert source["kernel_dropped"] > 0
    assert rows == account["rows"] == source["read"]
    assert account["output_waits"] > 0


def test_sigterm_ends_it_all_the_same(space: Namespace) -> None:
    with unread(space, *RING) as process:
        send(space)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        rows, account = end(process, signal.SIGTERM)
    assert process.returncode == 1
    assert account["rows"] + account["rows_lost"] == account["sources"][0]["read"]
    assert account["rows"] <= rows < account["sources"][0]["read"]
