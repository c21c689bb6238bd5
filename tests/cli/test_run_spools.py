# SPDX-License-Identifier: Apache-2.0
"""run with several hosts' spools: the answer of one run over all that they captured."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream, started, wait_until_read

from tests.answers.inputs import INPUTS
from tests.waiting import PATIENCE_S

QUERIES = """
DEFINE { query_name talkers; }
SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes
FROM IPV4 GROUP BY time/60 AS tb, srcIP;
DEFINE { query_name minutes; visibility internal; }
SELECT tb, interface, count(*) AS packets FROM PKT GROUP BY time/60 AS tb, interface;
DEFINE { query_name sides; }
SELECT tb, a.packets AS one, b.packets AS other
FROM minutes a FULL JOIN minutes b ON a.tb = b.tb AND a.packets + 1 = b.packets;
DEFINE { query_name all_packets; }
SELECT time, len FROM PKT
"""
MERGED = """
DEFINE { query_name small; visibility internal; } SELECT timestamp, len FROM IPV4 WHERE len < 100;
DEFINE { query_name large; visibility internal; } SELECT timestamp, len FROM IPV4 WHERE len > 99;
DEFINE { query_name both; } MERGE small.timestamp : large.timestamp FROM small, large
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    other = tmp_path_factory.mktemp("other") / "other.pcap"
    other.write_bytes(INPUTS["mixture"]())
    return DEMO_CAPTURE, other


def sources(captures: tuple[Path, Path], names: tuple[str, str]) -> list[str]:
    return [f"{name}={capture}" for name, capture in zip(names, captures, strict=True)]


def rows(done: Result) -> Counter[str]:
    assert done.code == 0, done.err
    return Counter(json.dumps(json.loads(line), sort_keys=True) for line in done.lines)


def stopped_writer(query: str, spool: Path) -> None:
    """Write the demo's packets into a spool that gets no end."""
    words = ("run", "-e", query, "-r", "-", "-o", f"spool:{spool}", "--stats", "json")
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *words], **pipes) as writer:
        assert writer.stdin is not None
        writer.stdin.write(DEMO_CAPTURE.read_bytes())
        writer.stdin.flush()
        wait_until_read(writer, 2010)
        writer.terminate()
        assert writer.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("names", [("east", "west"), ("eth0", "eth0")], ids=["two", "one name"])
@pytest.mark.parametrize("query", [QUERIES, MERGED], ids=["sets", "merge"])
def test_the_answer_is_that_of_one_run(
    names: tuple[str, str], query: str, captures: tuple[Path, Path], tmp_path: Path
) -> None:
    reads = sources(captures, names)
    spools = [tmp_path / "a", tmp_path / "b"]
    for spool, read in zip(spools, reads, strict=True):
        small = ("--segment-rows", "50")
        done = gigastream("run", "-e", query, "-r", read, "-o", f"spool:{spool}", *small)
        assert done.code == 0, done.err
    words = [word for spool in spools for word in ("--spool", spool)]
    found = gigastream("run", *words, "-o", "json")
    direct = gigastream("run", "-e", query, "-r", reads[0], "-r", reads[1], "-o", "json")
    assert rows(found) == rows(direct) != Counter()


def test_the_account_names_the_spool_of_each_stream(tmp_path: Path) -> None:
    """Probes call their links alike."""
    query = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time/60 AS tb"
    spools = [tmp_path / "a", tmp_path / "b"]
    for spool in spools:
        done = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
        assert done.code == 0, done.err
    several = gigastream("run", "--spool", spools[0], "--spool", spools[1])
    for spool in spools:
        assert f"query_low on default of {spool}, generation 1: 4 rows" in several.err
    told = gigastream("run", "--spool", spools[0], "--spool", spools[1], "--stats", "json")
    streams = json.loads(told.err)["streams"]
    assert [stream["spool"] for stream in streams] == [str(spool) for spool in spools]
    alone = gigastream("run", "--spool", spools[0])
    assert "query_low on default, generation 1: 4 rows" in alone.err


def test_each_that_falls_silent_is_told(tmp_path: Path) -> None:
    """By a name that is its own: two of one name would hide each other."""
    query = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time/60 AS tb"
    spools = [tmp_path / "a", tmp_path / "b"]
    for spool in spools:
        stopped_writer(query, spool)
    words = [word for spool in spools for word in ("--spool", str(spool))]
    words += ["--liveness", "200ms", "-o", "json"]
    wanted = {f"query_low of default of {spool} has failed" for spool in spools}
    told = set[str]()
    # Both are waited for: a run that the first to fail ends need not hear of the other.
    with started(*words, "--on-failure", "wait") as reading:
        assert reading.stderr is not None
        while told != wanted:
            line = reading.stderr.readline().decode()
            assert line, f"the run has ended, and has told of {told} alone"
            told |= {text for text in wanted if text in line}
        reading.send_signal(signal.SIGINT)
        reading.communicate(timeout=PATIENCE_S)
    ended = gigastream("run", *words, "--on-failure", "end")
    assert any(text in ended.err for text in wanted)


def test_each_is_given_once(tmp_path: Path) -> None:
    """Else its rows would count twice."""
    root = tmp_path / "spool"
    done = gigastream("run", "-e", QUERIES, "-r", DEMO_CAPTURE, "-o", f"spool:{root}")
    assert done.code == 0, done.err
    (tmp_path / "again").symlink_to(root)
    done = gigastream("run", "--spool", root, "--spool", tmp_path / "again")
    assert done.code == 2
    assert f"{root} and {tmp_path / 'again'} are one spool" in done.err


def test_they_are_of_one_query_set(tmp_path: Path) -> None:
    for name, query in (("a", QUERIES), ("b", MERGED)):
        done = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", f"spool:{tmp_path / name}")
        assert done.code == 0, done.err
    done = gigastream("run", "--spool", tmp_path / "a", "--spool", tmp_path / "b")
    assert done.code == 2
    assert "were written for different query sets" in done.err


def test_a_token_opens_served_spools() -> None:
    done = gigastream("run", "-e", QUERIES, "-r", DEMO_CAPTURE, "--token-file", "token")
    assert done.code == 2
    assert "a token and certificates open served spools, and none is read" in done.err


def test_one_whose_writer_is_gone_holds_nobody_up(tmp_path: Path) -> None:
    """It is named; the other has ended."""
    whole, left = tmp_path / "whole", tmp_path / "left"
    query = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time/60 AS tb"
    done = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", f"spool:{whole}")
    assert done.code == 0, done.err
    stopped_writer(query, left)
    found = gigastream("run", "--spool", whole, "--spool", left, "-o", "json")
    assert found.code == 0, found.err
    assert f"{left} has no end, and nobody writes it now" in found.err
    assert f"{whole} has no end" not in found.err
    direct = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "json")
    twice = [row | {"packets": 2 * row["packets"]} for row in map(json.loads, direct.lines)]
    assert rows(found) == Counter(json.dumps(row, sort_keys=True) for row in twice)
