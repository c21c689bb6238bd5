# SPDX-License-Identifier: Apache-2.0
"""gigastream ctl and a configuration file with the real daemon, on a real link."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gigastream.cli.ctl_tail import batches_of
from gigastream.daemon.client import ControlClient, ControlError
from gigastream.daemon.messages import TailQuery
from tests.cli.command import COMMAND, Result, gigastream
from tests.live.namespace import Namespace, needs
from tests.live.test_veth import DEMO_CAPTURE, endless, replay
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long, needs("ip", "tcpreplay")]
CONFIG = """\
cache = "cache"
folders = ["rows"]
[control]
socket = "control.sock"
[[link]]
device = "far"
name = "up"
ring = "8MiB"
ring-block = "64kiB"
[[query]]
name = "talkers"
text = "SELECT tb, srcIP, count(*) AS n FROM IP GROUP BY time/1 AS tb, srcIP"
output = ["csv:rows/talkers.csv"]
"""
PORTS = """
PARAM { most uint 65535; }
SELECT srcIP, destPort FROM TCP WHERE destPort < $most
"""


class Resident:
    """A daemon that runs by a configuration file."""

    def __init__(self, space: Namespace, folder: Path) -> None:
        self.space, self.folder = space, folder
        self.rows = folder / "rows"
        self.rows.mkdir(mode=0o777)
        self.rows.chmod(0o777)
        self.file = folder / "gigastream.toml"
        self.file.write_text(CONFIG)
        self.socket = folder / "control.sock"
        command = [*COMMAND, "capture", "-c", str(self.file)]
        self.process = space.start(*command, stderr=subprocess.PIPE)

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.process.communicate()[1]
        with suppress(ControlError), ControlClient(self.socket) as client:
            return client.status().report is not None
        return False

    def ctl(self, *words: str) -> Result:
        return gigastream("ctl", "--socket", str(self.socket), *words)

    def done(self, *words: str) -> str:
        found = self.ctl(*words)
        assert found.code == 0, found.err
        return found.out.decode()

    def end(self) -> str:
        """Stop it, if nobody has; return what it told."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=120)[1]


@pytest.fixture
def resident(space: Namespace, common_folder: Path) -> Iterator[Resident]:
    made = Resident(space, common_folder)
    try:
        wait_until(made.is_ready, "the daemon")
        yield made
    finally:
        made.end()


def test_a_tail_has_the_rows_of_the_file_and_the_account_closes(resident: Resident) -> None:
    with ControlClient(resident.socket) as client:
        lines = client.tail(TailQuery(query="talkers"))
        sent = replay(resident.space, DEMO_CAPTURE, "--pps", "2000")
        wait_until(lambda: _read(resident) >= sent, "the packets")
        shown = resident.done("status")
        assert resident.ctl("stop").code == 0
        tailed = [
            row for line in lines for rows, _, _ in batches_of(line.arrow) for row in _texts(rows)
        ]
    assert resident.process.wait(120) == 0
    with (resident.rows / "talkers.csv").open() as file:
        _, *written = csv.reader(file)
    assert written
    assert len(tailed) == len(written)
    assert f"up): received {sent:,} = read {sent:,} = decoded {sent:,}" in shown


def _texts(rows: object) -> list[object]:
    return rows.to_pylist()  # type: ignore[attr-defined, no-any-return]


def _read(resident: Resident) -> int:
    status = json.loads(resident.done("status", "--json"))
    for source in status["report"]["sources"]:
        terms = ("undecodable", "filtered", "late", "skew", "decoded")
        assert source["read"] == sum(source[term] for term in terms)
    return sum(s["read"] for s in status["report"]["sources"])


def test_sets_come_change_and_go(resident: Resident) -> None:
    ports = resident.folder / "ports.gsql"
    ports.write_text(PORTS)
    wrong = resident.ctl("add", "-e", "SELECT srcPI FROM IP", "--name", "wrong")
    assert wrong.code == 1
    assert wrong.err.startswith("wrong.gsql:1:8: error: IP has no column srcPI")
    resident.done("add", str(ports), "-o", f"json:{resident.rows}/ports.json")
    assert set(_sets(resident)) == {"talkers", "ports"}
    assert resident.ctl("add", str(ports)).code == 1
    with ControlClient(resident.socket) as client:
        lines = client.tail(TailQuery(query="ports"))
        replay(resident.space, DEMO_CAPTURE, "--pps", "2000")
        first = next(line for line in lines if line.arrow)
    ((rows, _, _),) = batches_of(first.arrow)
    assert rows.schema.names == ["srcIP", "destPort"]
    resident.done("set", "ports", "most=100")
    assert _sets(resident)["ports"]["spec"]["parameters"] == {"most": "100"}
    resident.done("rotate")
    resident.done("drop", "ports")
    assert set(_sets(resident)) == {"talkers"}
    assert resident.ctl("drop", "ports").code == 1
    assert resident.ctl("tail", "ports").code == 1


def _sets(resident: Resident) -> dict[str, dict[str, dict[str, str]]]:
    found = json.loads(resident.done("queries", "--json"))
    sets: dict[str, dict[str, dict[str, str]]] = found["sets"]
    return sets


def test_a_file_that_has_changed_is_read_again(resident: Resident) -> None:
    resident.file.write_text(CONFIG + '[[query]]\nname = "two"\ntext = "SELECT len FROM IP"\n')
    resident.done("reload")
    assert set(_sets(resident)) == {"talkers", "two"}
    resident.file.write_text(CONFIG + "[[query]]\nnam = 3\n")
    refused = resident.ctl("reload")
    assert refused.code == 1
    assert "unknown key 'nam' in [[query]]" in refused.err
    assert set(_sets(resident)) == {"talkers", "two"}
    resident.file.write_text(CONFIG)
    resident.done("reload")
    assert set(_sets(resident)) == {"talkers"}


def test_a_tail_ends_with_its_set(resident: Resident) -> None:
    resident.done("add", "-e", "SELECT len FROM IP", "--name", "lengths")
    command = [*COMMAND, "ctl", "--socket", str(resident.socket), "tail", "lengths", "-o", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with endless(resident.space):  # until it has begun to follow, too
            assert process.stdout.readline() == b"len\n"
        resident.done("drop", "lengths")
        rest = process.stdout.read()
        assert process.wait(120) == 0
    assert rest.splitlines()
