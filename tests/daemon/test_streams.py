# SPDX-License-Identifier: Apache-2.0
"""STREAMs of a resident capture: files, folders and ports beside a link, over sets and crashes."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gigastream.daemon.client import RefusedError
from gigastream.daemon.messages import DropSet
from tests.cli.command import gigastream
from tests.daemon.resident import Daemon, end, started
from tests.flows.datagrams import v5, v5_record
from tests.live.namespace import Namespace
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.privileged

DECLARED = "".join(
    f"STREAM {name} {{ uint at (increasing, clock s); string word; }}\n"
    for name in ("filed", "folded", "peers")
)
FLOWS = "SELECT tb, count(*) AS n FROM FLOW GROUP BY time_bucket('1 sec', timestamp) AS tb"
JOINED = (
    "DEFINE { query_name sent; visibility internal; } SELECT tb, count(*) AS n FROM PKT "
    "GROUP BY time_bucket('1 sec', timestamp) AS tb; "
    f"DEFINE {{ query_name told; visibility internal; }} {FLOWS}; DEFINE {{ query_name both; }} "
    "SELECT s.tb, s.n, t.n AS flows FROM sent s, told t WHERE s.tb = t.tb"
)
TCP_PORT, UDP_PORT = 9100, 9101
SEND = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "s.sendall(sys.argv[2].encode())"
)
EXPORT = (
    "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.sendto(bytes.fromhex(sys.argv[2]), ('127.0.0.1', int(sys.argv[1])))"
)


def words(stream: str) -> str:
    """A query that counts a STREAM's records by the second."""
    return (
        f"DEFINE {{ query_name {stream}_words; }} "
        f"SELECT tb, word, count(*) AS n FROM {stream} GROUP BY at AS tb, word"
    )


def csv(*records: tuple[int, str]) -> str:
    """A file of them, with its header."""
    return "at,word\n" + "".join(f"{at},{word}\n" for at, word in records)


@pytest.fixture
def reading(space: Namespace, common_folder: Path) -> Iterator[Daemon]:
    """A daemon on a link, a file, a folder, a TCP port and a UDP port, with a set of the file."""
    space.ip("link", "set", "lo", "up")
    folder = common_folder
    (folder / "words.gsql").write_text(DECLARED)
    (folder / "filed.csv").write_text(csv((1, "a"), (1, "b"), (2, "a"), (9, "z")))
    (folder / "folded").mkdir()
    (folder / "folded" / "one.csv").write_text(csv((1, "a"), (2, "b")))
    config = folder / "gigastream.toml"
    config.write_text(
        f"definitions = ['words.gsql']\n[[link]]\ndevice = '{space.near}'\n"
        "[[stream]]\nname = 'filed'\nplace = 'filed.csv'\n"
        "[[stream]]\nname = 'folded'\nplace = 'folded'\nformat = 'csv'\n"
        f"[[stream]]\nname = 'peers'\nplace = 'tcp://127.0.0.1:{TCP_PORT}'\n"
        f"[[stream]]\nname = 'FLOW'\nplace = 'udp://127.0.0.1:{UDP_PORT}'\n"
        f"[[query]]\nname = 'first'\ntext = '''{words('filed')}'''\n"
        f"output = ['csv:{folder}/out/first.csv']\n"
    )
    daemon = started(space, folder, "-c", config)
    try:
        yield daemon
    finally:
        end(daemon)


def crash(daemon: Daemon) -> None:
    """Kill the capture process, and wait for the next one to report."""
    before = daemon.status()
    assert before.capture_pid is not None
    os.kill(before.capture_pid, signal.SIGKILL)

    def is_back() -> bool:
        report = daemon.status().report
        return report is not None and report.incarnation > before.incarnation

    wait_until(is_back, "the next capture process")


def send(daemon: Daemon, *records: tuple[int, str]) -> None:
    """As a peer of the TCP port, which leaves at once."""
    daemon.space.run(sys.executable, "-c", SEND, TCP_PORT, csv(*records))


def fill(daemon: Daemon, name: str, *records: tuple[int, str]) -> None:
    """Rename a file into the folder."""
    new = daemon.folder / "folded" / f"{name}.csv"
    new.with_suffix(".part").write_text(csv(*records))
    new.with_suffix(".part").rename(new)


def read_of(daemon: Daemon, stream: str) -> int:
    """Records of a STREAM since the daemon began."""
    sources = daemon.status().sources
    (found,) = (each for each in sources if each.interface == f"STREAM {stream}")
    assert found.read == found.decoded + found.late + found.undecodable
    return found.read


def shown(daemon: Daemon) -> str:
    """What `ctl status` prints, by a report of up to a second ago."""
    return gigastream("ctl", "--socket", daemon.folder / "socket", "status").out.decode()


def send_until(daemon: Daemon, is_so: Callable[[], bool], what: str) -> None:
    """Send packets in one second after another: the daemon begins amid a window, which is cut."""

    def sent() -> bool:
        daemon.send(10)
        return is_so()

    wait_until(sent, what)


@pytest.mark.long
def test_records_are_read_beside_a_link(reading: Daemon) -> None:
    """A file from its beginning, a folder as it is filled, each by the first set that reads it."""
    daemon = reading
    whole = ["1,a,1", "1,b,1", "2,a,1", "9,z,1"]
    wait_until(lambda: len(daemon.rows("first")) == 4, "the file's rows")
    assert sorted(daemon.rows("first")) == whole
    daemon.add("packets")
    daemon.add("folded", words("folded"))
    fill(daemon, "two", (5, "c"), (6, "d"), (6, "e"), (7, "f"), (7, "g"))
    wait_until(lambda: "5,c,1" in daemon.rows("folded"), "the next file's rows")
    assert daemon.rows("folded")[:3] == ["1,a,1", "2,b,1", "5,c,1"]
    send_until(daemon, lambda: len(daemon.rows("packets")) > 0, "rows no silent STREAM holds up")
    came = "folded: its records have come to 1970-01-01 00:00:06 UTC"
    wait_until(lambda: came in shown(daemon), "a report of all that was read")
    assert "filed.csv (STREAM filed): read 4 = decoded 4" in shown(daemon)
    assert "filed.csv: it has ended" in shown(daemon)
    crash(daemon)
    fill(daemon, "three", (9, "h"), (9, "i"), (12, "j"), (12, "k"))
    wait_until(lambda: "9,h,1" in daemon.rows("folded"), "rows after the crash")
    words_of = [row.split(",")[1] for row in daemon.rows("folded")]
    assert sorted(words_of) == list("abcdefghi")  # read again, and each row is there once
    daemon.ask(DropSet(name="folded"))
    assert daemon.stop() == 0
    assert sorted(daemon.rows("first")) == whole  # what had ended is not read again


@pytest.mark.long
def test_a_folder_that_goes_away_is_waited_for(reading: Daemon) -> None:
    """Also over a crash meanwhile; what it had given is not given twice."""
    daemon = reading
    folder = daemon.folder / "folded"
    daemon.add("folded", words("folded"))
    fill(daemon, "two", (5, "c"), (6, "d"), (7, "e"), (7, "f"))
    wait_until(lambda: "5,c,1" in daemon.rows("folded"), "its first rows")
    shutil.rmtree(folder)
    told = f"{folder} (STREAM folded): No such file or directory; it is waited for"
    wait_until(lambda: told in daemon.told(), "the folder to be missed")
    crash(daemon)
    wait_until(lambda: daemon.told().count(told) == 2, "the next process to miss it")
    assert f"{folder}: it has ended" not in shown(daemon)
    folder.mkdir()
    fill(daemon, "three", (12, "g"), (13, "h"), (16, "i"), (16, "j"))
    wait_until(lambda: "13,h,1" in daemon.rows("folded"), "rows of the folder that is back")
    wait_until(lambda: daemon.told().count("(STREAM folded): it is back") == 1, "that it is told")
    assert daemon.rows("folded").count("5,c,1") == 1
    assert daemon.stop() == 0


@pytest.mark.long
def test_peers_and_exporters_are_heard_over_a_crash(reading: Daemon) -> None:
    """By ports that outlive who reads; a peer's records wait for nobody that sends none."""
    daemon = reading
    daemon.add("peers", words("peers"))
    daemon.add("joined", JOINED)
    send(daemon, (1, "a"), (2, "b"), (5, "c"), (5, "d"))
    wait_until(lambda: daemon.rows("peers") == ["1,a,1", "2,b,1"], "what a peer has sent")
    export = v5(v5_record("10.0.0.1", "10.0.0.2", 3, 400)).hex()

    def exported() -> bool:
        daemon.space.run(sys.executable, "-c", EXPORT, UDP_PORT, export)
        return len(daemon.rows("joined")) > 0

    send_until(daemon, exported, "flows beside packets of the same second")
    crash(daemon)
    send(daemon, (20, "e"), (30, "f"), (32, "g"), (32, "h"))
    wait_until(lambda: "30,f,1" in daemon.rows("peers"), "what a peer sends to the next one")
    wait_until(lambda: read_of(daemon, "peers") == 8, "both peers in the account")
    daemon.send(50)
    assert daemon.stop() == 0


def test_a_declaration_that_changes_waits_for_a_restart(reading: Daemon) -> None:
    """Frames are written as it was; what is new is declared, and nothing brings its records."""
    daemon = reading
    declared = daemon.folder / "words.gsql"
    declared.write_text(DECLARED.replace("folded", "absent"))
    with pytest.raises(RefusedError, match="declaration of STREAM folded has changed"):
        daemon.add("folded", words("peers"))
    declared.write_text(DECLARED + DECLARED.splitlines()[0].replace("filed", "absent"))
    with pytest.raises(RefusedError, match="nothing says where the records of absent come from"):
        daemon.add("absent", words("absent"))


def test_what_its_user_cannot_read_is_refused(space: Namespace, common_folder: Path) -> None:
    """As whom files are opened: not as root, who begins it."""
    (common_folder / "words.gsql").write_text(DECLARED)
    closed = common_folder / "filed.csv"
    closed.write_text(csv((1, "a")))
    closed.chmod(0o600)
    place = (f"--stream=filed={closed}", "--user", "nobody")
    config = common_folder / "gigastream.toml"
    config.write_text(f"definitions = ['words.gsql']\n[[link]]\ndevice = '{space.near}'\n")
    daemon = started(space, common_folder, "-c", config, *place)
    try:
        assert daemon.process.wait(PATIENCE_S) != 0
        assert f"{closed}: Permission denied" in daemon.told()
    finally:
        end(daemon)
