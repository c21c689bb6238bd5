# SPDX-License-Identifier: Apache-2.0
"""STREAMs on the command line: beside packets, into a spool, and what is wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream

from tests.waiting import PATIENCE_S, wait_until

DEFINITIONS = """STREAM hosts {
    timestamp seen (increasing); INET address; string name; ushort port;
}
"""
HOSTS = """name,seen,address,port
mail,2026-11-21T09:08:10Z,10.20.0.80,25
web,2026-11-21T09:08:30Z,10.20.0.81,80
web,2026-11-21T09:09:15Z,10.20.0.81,443
dns,2026-11-21T09:09:20Z,10.20.0.53,53
none,2026-11-21T09:09:30Z,,53
web,2026-11-21T09:10:05Z,10.20.0.81,443
"""
JOINED = """DEFINE { query_name joined; }
SELECT h.minute, h.name, count(*) AS packets
FROM places h, IP p
WHERE time_bucket('1 min', p.timestamp) = h.minute AND p.destIP = h.address
GROUP BY h.minute, h.name;
"""
QUERIES = f"""DEFINE {{ query_name places; }}
SELECT minute, name, address, count(*) AS times
FROM hosts GROUP BY time_bucket('1 min', seen) AS minute, name, address;
{JOINED}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hosts.gsql").write_text(DEFINITIONS)
    (tmp_path / "hosts.csv").write_text(HOSTS)
    (tmp_path / "asked.gsql").write_text(QUERIES)
    return tmp_path


def _run(folder: Path, *words: str | Path) -> tuple[Path, str]:
    out = folder / "out"
    done = gigastream(
        *("run", "--definitions", folder / "hosts.gsql", folder / "asked.gsql"),
        *("-r", DEMO_CAPTURE, "--stream", f"hosts={folder / 'hosts.csv'}", *words),
    )
    assert done.code == 0, done.err
    return out, done.err


def _rows(folder: Path, name: str) -> list[str]:
    return sorted((folder / f"{name}.csv").read_text().splitlines())


def test_a_stream_beside_packets_in_one_set(folder: Path) -> None:
    out, account = _run(folder, "-o", f"csv:{folder / 'out'}")
    assert "hosts.csv (STREAM hosts): read 6 = undecodable 1 + decoded 5" in account
    assert "undecodable: " in account
    assert "line 6: address: '' is no address" in account
    assert _rows(out, "places") == [
        "2026-11-21T09:08:00.000000000Z,mail,10.20.0.80,1",
        "2026-11-21T09:08:00.000000000Z,web,10.20.0.81,1",
        "2026-11-21T09:09:00.000000000Z,dns,10.20.0.53,1",
        "2026-11-21T09:09:00.000000000Z,web,10.20.0.81,1",
        "2026-11-21T09:10:00.000000000Z,web,10.20.0.81,1",
        "minute,name,address,times",
    ]
    joined = _rows(out, "joined")
    assert len(joined) == 6
    alone = gigastream(
        *("run", "-q", "-o", "csv", "-r", DEMO_CAPTURE, "-e"),
        "SELECT tb, count(*) AS n FROM IP WHERE destIP = IP_VAL'10.20.0.81'"
        " GROUP BY time_bucket('1 min', timestamp) AS tb",
    )
    counts = {line[:17]: line.rpartition(",")[2] for line in alone.lines[1:]}
    ours = {line[:17]: line.rpartition(",")[2] for line in joined if ",web," in line}
    assert ours == {minute: counts[minute] for minute in ours}


def test_the_same_by_way_of_a_spool(folder: Path) -> None:
    here, _ = _run(folder, "-o", f"csv:{folder / 'out'}")
    _run(folder, "-o", f"spool:{folder / 'spool'}")
    spooled = folder / "spooled"
    done = gigastream("run", "-q", "--spool", folder / "spool", "-o", f"csv:{spooled}")
    assert done.code == 0, done.err
    for name in ("places", "joined"):
        assert _rows(spooled, name) == _rows(here, name)
    later = gigastream(
        *("run", "-q", "--spool", folder / "spool", "-o", "csv", "-e"),
        "SELECT minute, name, address, count(*) AS n FROM hosts"
        " GROUP BY time_bucket('1 min', seen) AS minute, name, address",
    )
    assert later.code == 0, later.err
    assert len(later.lines) == 6


def test_a_filter_is_of_packets(folder: Path) -> None:
    _, account = _run(folder, "-o", f"csv:{folder / 'out'}", "tcp", "port", "443")
    assert "read 6 = undecodable 1 + decoded 5" in account
    assert "filtered" in account


def test_packets_are_none_of_a_stream_nor_the_reverse(folder: Path) -> None:
    query = "SELECT count(*) AS n FROM PKT"
    both = folder / "asked.gsql"
    both.write_text(f"{query};\nDEFINE {{ query_name s; }} SELECT count(*) AS n FROM hosts")
    out, account = _run(folder, "-o", f"csv:{folder / 'out'}", "--stats", "json")
    assert (_rows(out, "asked"), _rows(out, "s")) == (["2010", "n"], ["5", "n"])
    sources = json.loads(account.splitlines()[-1])["sources"]
    (found,) = [each for each in sources if each["interface"] == "STREAM hosts"]
    assert (found["read"], found["undecodable"]) == (6, 1)
    assert "line 6" in found["undecodable_first"]


def test_a_silent_stream_fails_where_it_has_a_liveness(folder: Path) -> None:
    """Its time stands where its last records were: packets wait for it, or go on without it."""
    pipe, out = folder / "pipe", folder / "late.csv"
    os.mkfifo(pipe)
    words = ("run", "--definitions", folder / "hosts.gsql", "-r", DEMO_CAPTURE, "-o", f"csv:{out}")
    query = (
        "SELECT p.time, h.name FROM IP p LEFT JOIN hosts h"
        " ON h.seen/1000000000 = p.time AND h.address = p.destIP"
    )
    named = ("--stream", f"hosts=csv:{pipe}", "-e", query)
    liveness = ("--liveness", "200ms", "--on-failure", "go-on")
    command = [*COMMAND, *map(os.fspath, (*words, *named, *liveness))]
    writer = os.open(pipe, os.O_RDWR)  # a run that has given it up may end before we write
    os.write(writer, "".join(HOSTS.splitlines(keepends=True)[:3]).encode())
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") > 1000, "rows without it")
    os.close(writer)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert b"hosts" in errors


# What is wrong


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--stream", "hosts"], "'hosts' is not NAME=FILE, NAME=FOLDER or NAME=tcp://HOST:PORT"),
        (["--stream", "host=x"], "there is no STREAM host"),
        (["--stream", "hosts=nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["--stream", "hosts=xml:hosts.csv"], "xml:hosts.csv: No such file or directory"),
        ([], "there is no capture to read"),
        (["-r", str(DEMO_CAPTURE)], "nothing says where the records of hosts come from"),
        (["-i", "lo", "--stream", "hosts=tcp://[::1]:9"], "and take no connection"),
        (["--spool", "x", "--stream", "hosts=x"], "--stream"),
    ],
)
def test_what_is_wrong_is_told(folder: Path, words: list[str], expected: str) -> None:
    query = ("-e", "SELECT name FROM hosts", "--definitions", "hosts.gsql")
    done = gigastream("run", *query, *words, cwd=folder)
    assert (done.code, done.out) == (2, b"")
    assert expected in done.err


def test_a_stream_that_nobody_reads(folder: Path) -> None:
    words = ("-r", DEMO_CAPTURE, "--definitions", "hosts.gsql", "--stream", "hosts=hosts.csv")
    done = gigastream("run", "-e", "SELECT time FROM TCP", *words, cwd=folder)
    assert (done.code, "no query reads hosts" in done.err) == (2, True)
    only = ("--definitions", "hosts.gsql", "--stream", "hosts=hosts.csv")
    both = "SELECT time FROM TCP; DEFINE { query_name b; } SELECT name FROM hosts"
    done = gigastream("run", "-e", both, *only, cwd=folder)
    assert (done.code, "there is no capture to read" in done.err) == (2, True)


def test_it_is_not_written_over(folder: Path) -> None:
    words = ("--definitions", "hosts.gsql", "--stream", "hosts=hosts.csv", "-o", "csv:hosts.csv")
    done = gigastream("run", "-e", "SELECT name FROM hosts", *words, cwd=folder)
    assert (done.code, "is read (--stream)" in done.err) == (2, True)
    assert (folder / "hosts.csv").read_text() == HOSTS


def test_check_and_explain_know_it_without_a_source(folder: Path) -> None:
    words = ("--definitions", "hosts.gsql", "-e", "SELECT seen, name FROM hosts")
    assert gigastream("check", *words, cwd=folder).lines == ["query: seen timestamp, name string"]
    done = gigastream("explain", *words, cwd=folder)
    assert b"the records of STREAM hosts" in done.out
    assert b"from the record" in done.out
    (folder / "links.toml").write_text('[interface.eth0]\nrole = "edge"\n')
    done = gigastream("check", "-c", "links.toml", *words, cwd=folder)
    assert (done.code, done.err) == (0, "")


def test_one_stream_from_several_places(folder: Path) -> None:
    (folder / "more.json").write_text(
        '{"seen": "2026-11-21T09:08:05Z", "address": "::1", "name": "six", "port": 1}\n'
    )
    done = gigastream(
        *("run", "-o", "csv", "-e", "SELECT name FROM hosts", "--definitions", "hosts.gsql"),
        *("--stream", "hosts=hosts.csv", "--stream", "hosts=more.json"),
        cwd=folder,
    )
    assert done.code == 0
    assert sorted(done.lines) == ["dns", "mail", "name", "six", "web", "web", "web"]
    assert done.err.count("(STREAM hosts): read") == 2


@pytest.mark.parametrize("target", ["in", "other"])
@pytest.mark.parametrize(
    "words",
    [
        ("-o", "csv:in/out.csv"),
        ("-o", "spool:in"),
        ("-o", "csv", "--trace", "in/traces"),
    ],
)
def test_no_output_lies_among_the_records_that_are_read(
    folder: Path, words: tuple[str, ...], target: str
) -> None:
    """Each of its rows would be one of the next file's."""
    (folder / "in").mkdir()
    (folder / "other").symlink_to("in")
    done = _over_folder(folder, folder, target, *words)
    assert done.code == 2
    assert f"--stream {target} are one in the other" in done.err
    assert list((folder / "in").iterdir()) == []


def test_what_lies_below_them_or_on_stdout_is_no_file_of_theirs(folder: Path) -> None:
    (folder / "in" / "below").mkdir(parents=True)
    (folder / "in" / "hosts.csv").write_text(HOSTS)
    (folder / "in" / "_END").touch()
    for words in (("-o", "csv:below/rows.csv"), ("-o", "csv:../rows.csv", "--trace", "-")):
        assert _over_folder(folder, folder / "in", ".", *words).code == 0
    below = (folder / "in" / "below" / "rows.csv").read_text()
    assert below == (folder / "rows.csv").read_text()
    assert len(below.splitlines()) == 6  # of the seven lines one has no address


def _over_folder(folder: Path, cwd: Path, place: str, *words: str) -> Result:
    """Ended soon where it would read its own rows on and on."""
    asked = ("-e", "SELECT seen, name FROM hosts", "--stream", f"hosts={place}")
    return gigastream(
        *("run", "--definitions", folder / "hosts.gsql", *asked, *words), cwd=cwd, seconds=60
    )
