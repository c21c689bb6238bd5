# SPDX-License-Identifier: Apache-2.0
"""What is asked wrongly is told in words, with exit code 2, before anything is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

SELECT = ("-e", "SELECT time, len FROM IPV4")
DEMO = ("-r", str(DEMO_CAPTURE))

WRONG = {
    "no command": ((), "a command is missing"),
    "no such command": (("rnu",), "did you mean run?"),
    "no such option": (("run", "--spede", "2"), "--spede"),
    "option of another tool": (("-V",), "hint: gigastream --version"),
    "count of tcpdump": (("run", *SELECT, *DEMO, "-c", "5"), "--count ends after so many"),
    "no query": (("check",), "there is no query"),
    "misspelt query": (("run", *SELECT, "talkrs", *DEMO), "did you mean the query talkers?"),
    "misspelt query to check": (("check", "flow"), "did you mean the query flows?"),
    "word that is no query": (
        ("run", *SELECT, "http", *DEMO),
        "the queries that ship are asymmetric, dns,",
    ),
    "file that has no name": (("check", "http"), "a query file ends in .gsql"),
    "object to check": (("check", "talkers.so"), "gigastream run takes it"),
    "binary file": (("check", str(DEMO_CAPTURE)), "demo.pcap is no text of UTF-8"),
    "query for a command": (("talkers", *DEMO), "hint: gigastream run talkers"),
    "option for a command": (DEMO, "hint: gigastream run -r"),
    "no such object": (("run", "missing.so", *DEMO), "missing.so: No such file"),
    "object without its ending": (("compile", *SELECT, "-o", "rows"), "hint: -o rows.so"),
    "no such query": (("queries", "--show", "vlan"), "did you mean the query vlans?"),
    "no capture": (("run", *SELECT), "there is no capture to read"),
    "capture without -r": (
        ("run", str(DEMO_CAPTURE)),
        f"hint: {DEMO_CAPTURE} is a file: a capture is named with -r",
    ),
    "missing capture": (("run", *SELECT, "-r", "missing.pcap"), "No such file or directory"),
    "directory": (("run", *SELECT, "-r", "/"), "/ is a directory"),
    "stdin twice": (("run", *SELECT, "-r", "-", "-r", "a=-"), "stdin can be read only once"),
    "missing query file": (("run", "missing.gsql", *DEMO), "missing.gsql: No such file"),
    "no such format": (("run", *SELECT, *DEMO, "-o", "xml"), "one of table, json, csv"),
    "no path": (("run", *SELECT, *DEMO, "-o", "csv:"), "csv: names no path"),
    "two places": (
        ("run", *SELECT, *DEMO, "-o", "csv:one.csv", "-o", "parquet:two"),
        "the rows have one place: -o csv:one.csv, or -o parquet:two",
    ),
    "two places of a spool's rows": (
        ("spool", "cat", "rows", "-o", "csv:one.csv", "-o", "json"),
        "the rows have one place: -o csv:one.csv, or -o json",
    ),
    "no such format behind another": (
        ("run", *SELECT, *DEMO, "-o", "csv", "-o", "xml"),
        "one of table, json, csv",
    ),
    "disorder": (("run", *SELECT, *DEMO, "--disorder", "much"), "'much' is not a size"),
    "no disorder": (("run", *SELECT, *DEMO, "--disorder", "0"), "at least 1, or 'all'"),
    "slack": (("run", *SELECT, *DEMO, "--slack", "2 weeks"), "is not a time"),
    "speed": (("run", *SELECT, *DEMO, "--speed", "0"), "is not a factor"),
    "slots": (("run", *SELECT, *DEMO, "--slots", "-3"), "--slots: '-3' is not a positive number"),
    "slack below 0": (("run", *SELECT, *DEMO, "--slack", "-1s"), "--slack: '-1s' is not a time"),
    "memory below 0": (("run", *SELECT, *DEMO, "--memory", "-.5G"), "'-.5G' is not a size"),
    "no value": (("run", *SELECT, *DEMO, "--slack", "--slots", "3"), "expected one argument"),
    "burst": (("run", *SELECT, *DEMO, "--burst", "257"), "at most 256"),
    "flush": (("run", *SELECT, *DEMO, "--flush", "fast"), "is no flush policy"),
    "parameter": (("run", *SELECT, *DEMO, "--param", "port"), "is not NAME=VALUE"),
    "parameter of bytes": (
        (
            *("check", "-e", "PARAM { s string; } SELECT time FROM PKT WHERE interface = $s"),
            *("--param", os.fsdecode(b"s=\xff")),
        ),
        "the value of s has a byte that is not UTF-8",
    ),
    "text of bytes": (
        ("check", "-e", os.fsdecode(b"SELECT time FROM PKT WHERE interface = '\xff'")),
        "query:1:41: error: a byte that is not UTF-8",
    ),
    "JSON key": (
        ("run", *DEMO, "-o", "json", "-e", "SELECT len AS query FROM PKT", "-e", SELECT[1]),
        "call the column otherwise (query AS …), or ask query alone",
    ),
    "config": (("run", *SELECT, *DEMO, "-c", "missing.toml"), "missing.toml"),
    "no such protocol": (("fields", "tpc"), "did you mean TCP?"),
    "no such function": (("functions", "getlpmd"), "did you mean getlpmid?"),
    "nothing like a function": (("functions", "xyzzy"), "`gigastream functions` lists them"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_words_are_told(case: str) -> None:
    words, message = WRONG[case]
    result = gigastream(*words)
    assert result.code == 2
    assert result.out == b""
    assert message in result.err
    assert result.err.startswith(("gigastream: ", "query:1:", "--param:1:"))


def test_an_unreadable_capture_is_told(tmp_path: Path) -> None:
    from os import geteuid

    if geteuid() == 0:
        pytest.skip("root reads everything")
    capture = tmp_path / "a.pcap"
    capture.touch(mode=0)
    result = gigastream("run", *SELECT, "-r", capture)
    assert result.code == 2
    assert "Permission denied" in result.err


CONFIGS = {
    "no toml": ("disorder = = 1", "line 1"),
    "unknown key": ("dissorder = 'all'", "did you mean disorder?"),
    "bad value": ("disorder = 'much'", "disorder: 'much' is not a size"),
    "wrong kind": ("definitions = 'a.gsql'", "definitions is a list"),
    "no table": ("param = 3", "param is a table"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_a_wrong_configuration_is_told(case: str, tmp_path: Path) -> None:
    text, message = CONFIGS[case]
    config = tmp_path / "gigastream.toml"
    config.write_text(text)
    result = gigastream("run", *SELECT, *DEMO, "-c", config)
    assert result.code == 2
    assert message in result.err


NO_UTF8 = os.fsdecode(b"a\xff")


@pytest.mark.parametrize(
    "words",
    [
        ("run", *SELECT, *DEMO, "host", NO_UTF8),
        ("run", *SELECT, *DEMO, "-q", "-o", f"csv:{NO_UTF8}"),
        ("run", *SELECT, *DEMO, "-o", f"duckdb:{NO_UTF8}"),
        ("run", *SELECT, *DEMO, "--definitions", f"{NO_UTF8}.gsql"),
        ("ctl", "--socket", "none", "drop", NO_UTF8),
        ("compile", *SELECT, "-o", f"{NO_UTF8}.so"),
    ],
)
def test_words_that_are_no_utf8_are_no_fault(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / f"{NO_UTF8}.gsql").write_text("/* nothing */")
    gigastream(*words, cwd=tmp_path)  # which looks for what we call a fault of ours


def test_a_home_that_is_no_utf8_has_a_cache(tmp_path: Path) -> None:
    place = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / NO_UTF8)}
    for words in (("run", *SELECT, *DEMO, "-q"), ("compile", *SELECT, "-o", f"{NO_UTF8}.so")):
        assert gigastream(*words, cwd=tmp_path, env=place).code == 0
    made = str(tmp_path / f"{NO_UTF8}.so")
    assert gigastream("run", made, *DEMO, "-q", env=place).code == 0


@pytest.mark.parametrize("command", ["queries", "functions", "fields", "--help"])
def test_a_terminal_of_few_letters_is_told_what_it_can_show(command: str) -> None:
    place = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = gigastream(command, env=place)
    assert (done.code, done.err) == (0, "")


def test_who_ignores_the_end_of_children_compiles_nevertheless(tmp_path: Path) -> None:
    place = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    words = ("-P", "-m", "gigastream", "run", *SELECT, *DEMO, "-q", "-o", "csv:/dev/null")
    ignoring = (
        f"import os, signal; signal.signal(17, signal.SIG_IGN); os.execv({sys.executable!r}, "
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{ignoring}{[sys.executable, *words]!r})"],
        env=place, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    library = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "import gigastream\n"
        f"print(len(list(gigastream.run('SELECT len FROM IPV6', {str(DEMO_CAPTURE)!r}))))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", library], env=place, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_priority_is_a_number_of_a_size() -> None:
    done = gigastream("ctl", "--socket", "none", "add", "-e", "SELECT", "--priority", "9" * 20)
    assert done.code == 2
    assert "from -1,000,000,000 to 1,000,000,000" in done.err


def test_the_point_of_a_list_s_numbers_is_no_locale_s(tmp_path: Path) -> None:
    """A host program may have one of a comma: strtod is not asked."""
    code = "double strtod(const char *text, char **end) { *end = (char *)text; return 0; }"
    (tmp_path / "comma.c").write_text(code)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", "comma.so", "comma.c"], cwd=tmp_path, check=True
    )
    (tmp_path / "list.gsql").write_text(
        "WATCHLIST names { string interface (key); float weight; } FROM 'names.csv';\n"
    )
    (tmp_path / "names.csv").write_text("interface,weight\ndefault,0.5\n")
    query = (
        "SELECT len WATCHLIST_JOIN FROM IPV4 p, names w "
        "WHERE p.interface = w.interface AND w.weight = 0.5"
    )
    words = ("run", "-q", "--definitions", "list.gsql", "-e", query, *DEMO, "-o", "csv")
    found = gigastream(*words, cwd=tmp_path)
    assert len(found.lines) > 1000
    place = {**os.environ, "LD_PRELOAD": str(tmp_path / "comma.so")}
    assert gigastream(*words, cwd=tmp_path, env=place).lines == found.lines
