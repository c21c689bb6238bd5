# SPDX-License-Identifier: Apache-2.0
"""--count, --duration, --windows: a run ends before its input does, and its account adds up."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream

from gigastream.__main__ import main
from tests.waiting import PATIENCE_S

MINUTES = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
SECONDS = "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb"
PACKETS = "SELECT time, len FROM PKT"
ALL = 2010


def run(*words: object) -> Result:
    result = gigastream("run", "-o", "json", "--stats", "json", *map(str, words))
    assert result.code == 0, result.err
    return result


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.lines]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000, ALL, ALL + 1])
def test_so_many_packets(count: int) -> None:
    result = run("-e", PACKETS, "-r", DEMO_CAPTURE, "--count", count)
    (source,) = json.loads(result.err)["sources"]
    read = min(count, ALL)
    assert source["read"] == source["decoded"] == len(result.lines) == read
    every = rows(run("-e", PACKETS, "-r", DEMO_CAPTURE))
    assert rows(result) == every[:read]


def test_so_many_packets_of_several_files() -> None:
    result = run("-e", PACKETS, "-r", DEMO_CAPTURE, "-r", DEMO_CAPTURE, "--count", 3000)
    assert sum(source["read"] for source in json.loads(result.err)["sources"]) == 3000
    assert len(result.lines) == 3000


def test_so_many_packets_into_a_spool(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    run("-e", MINUTES, "-r", DEMO_CAPTURE, "--count", 500, "-o", f"spool:{spool}")
    assert sum(row["n"] for row in rows(run("--spool", spool))) == 500


@pytest.mark.parametrize("flush", ["slow", "immediate", "lazy"])
@pytest.mark.parametrize("query", [MINUTES, SECONDS], ids=["minutes", "seconds"])
@pytest.mark.parametrize("count", [1, 2, 1000])
def test_so_many_windows_whole(query: str, flush: str, count: int) -> None:
    every = rows(run("-e", query, "-r", DEMO_CAPTURE))
    result = run("-e", query, "-r", DEMO_CAPTURE, "--windows", count, "--flush", flush)
    account = json.loads(result.err)
    first = sorted({row["tb"] for row in every})[:count]
    wanted = sorted((row for row in every if row["tb"] in first), key=lambda row: row["tb"])
    assert rows(result) == wanted
    (source,) = account["sources"]
    assert source["read"] == source["decoded"]
    (operator,) = account["operators"]
    assert operator["rows_out"] == account["rows"] + account["rows_left_out"]


def test_windows_of_a_pipe_end_it() -> None:
    """Nobody closes the pipe: the second window is over when a packet of the third has come."""
    process = subprocess.Popen(
        [*COMMAND, "run", "-e", MINUTES, "-r", "-", "--slack", "0.1s", "-o", "csv", "-q",
         "--windows", "2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended before it has read all
        process.stdin.write(DEMO_CAPTURE.read_bytes())
        process.stdin.flush()
    assert len(process.stdout.read().splitlines()) == 3
    assert process.wait(PATIENCE_S) == 0
    with suppress(BrokenPipeError):
        process.stdin.close()


def test_a_query_without_windows_is_refused() -> None:
    refused = gigastream("run", "-e", "SELECT len FROM PKT", "-r", DEMO_CAPTURE, "--windows", "2")
    assert refused.code == 2
    assert "--windows: no query has windows" in refused.err


def test_so_long() -> None:
    """The pipe stays open; the time alone ends it."""
    process = subprocess.Popen(
        [*COMMAND, "run", "-e", MINUTES, "-r", "-", "-o", "csv", "--stats", "json",
         "--duration", "1500ms"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):  # it has ended before it has read all
        process.stdin.write(DEMO_CAPTURE.read_bytes())
        process.stdin.flush()
    counted = [line.split(b",") for line in process.stdout.read().splitlines()[1:]]
    account = json.loads(process.stderr.read())
    assert process.wait(PATIENCE_S) == 0
    with suppress(BrokenPipeError):
        process.stdin.close()
    assert sum(int(n) for _, n in counted) == account["sources"][0]["read"]


WRONG = (("--count", "0"), ("--count", "x"), ("--duration", "0"), ("--windows", "-1"))


@pytest.mark.parametrize("words", WRONG, ids=map(" ".join, WRONG))
def test_wrong_ends_are_refused(words: tuple[str, str]) -> None:
    result = gigastream("run", "-e", MINUTES, "-r", DEMO_CAPTURE, *words)
    assert result.code == 2
    assert words[0] in result.err


def test_the_links_of_this_host() -> None:
    result = gigastream("run", "-D")
    assert result.code == 0
    (heading, *links) = [line.split() for line in result.lines]
    assert heading == ["link", "state", "rate", "addresses"]
    (loopback,) = [words for words in links if words[0] == "lo"]
    assert loopback[1] in ("up", "down")
    assert "packets/s," in loopback


class _Interrupted:
    """Ctrl-C while a module is imported."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "gigastream.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_at_the_very_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gigastream.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupted(), *sys.meta_path])
    before = signal.getsignal(signal.SIGINT)
    assert main() == 130
    assert signal.getsignal(signal.SIGINT) is before


STARTED = """
import os, sys
sys.path[:0] = {path!r}
import gigastream.__main__
print(*sys.modules)

class SentTo:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), 2)

sys.meta_path.insert(0, SentTo())
sys.argv = ["gigastream", "version"]
sys.exit(gigastream.__main__.main())
"""


def started(module: str) -> subprocess.CompletedProcess[str]:
    """Run a command to which SIGINT comes while a module is imported; nothing is, before."""
    words = [sys.executable, "-I", "-S", "-c", STARTED.format(path=sys.path, module=module)]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize("module", ["signal", "atexit", "gigastream.cli.main", "argparse"])
def test_ctrl_c_while_the_command_is_loaded(module: str) -> None:
    done = started(module)
    assert (done.returncode, done.stderr) == (130, "")


def test_little_is_loaded_before_ctrl_c_is_ours() -> None:
    """What is loaded before main() is loaded while Ctrl-C is a traceback."""
    done = started("nothing")
    assert (done.returncode, done.stderr) == (0, "")
    loaded = done.stdout.splitlines()[0].split()
    assert not {"typing", "signal", "enum", "argparse", "pathlib"} & set(loaded)
