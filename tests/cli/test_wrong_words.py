# SPDX-License-Identifier: Apache-2.0
"""What is asked wrongly is told in words, with exit code 2, before anything is read."""

from __future__ import annotations

import os
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
