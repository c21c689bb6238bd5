# SPDX-License-Identifier: Apache-2.0
"""Texts and names from outside: bounded before they are read, and never a terminal's commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

ESCAPES = "\x1b[31m\x07\x9b\u202e"
QUERY = "SELECT time FROM PKT"
LARGE = (1 << 20) + 1


def assert_is_text(shown: str) -> None:
    """No byte that a terminal obeys, but the ends of lines."""
    assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "words",
    [
        ("check", "{}.gsql"),
        ("run", "-r", "{}.pcap", "-e", QUERY),
        ("check", "-e", "SELECT '{}"),
        ("check", "-e", "SELECT {} FROM PKT"),
        ("check", "-e", QUERY, "--param", "{}=1"),
        ("run", "--spool", "{}", "-e", QUERY),
        ("run", "--{}"),
        ("{}",),
    ],
)
def test_control_characters_do_not_reach_a_terminal(tmp_path: Path, words: tuple[str, ...]) -> None:
    given = [word.replace("{}", f"a{ESCAPES}b") for word in words]
    done = gigastream(*given, cwd=tmp_path)
    assert done.code != 0
    assert done.err
    assert_is_text(done.err)


def test_a_query_file_that_holds_controls_is_shown_without(tmp_path: Path) -> None:
    path = tmp_path / "query.gsql"
    path.write_text(f"SELECT time, '{ESCAPES}' = len FROM {ESCAPES}PKT\n")
    done = gigastream("check", path)
    assert done.code == 2
    assert_is_text(done.err)


@pytest.mark.parametrize("option", ["", "--definitions", "--config"])
def test_a_text_that_is_too_long_is_not_read(tmp_path: Path, option: str) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    words = ["run", "-r", DEMO_CAPTURE, "-e", QUERY, option, path] if option else ["check", path]
    done = gigastream(*words)
    assert done.code == 2
    assert "longer than 1 MiB" in done.err
    assert str(path) in done.err


def test_what_has_no_size_is_read_as_far_as_a_text_may_be_long() -> None:
    done = gigastream("check", "/dev/zero")
    assert done.code == 2
    assert "/dev/zero: longer than 1 MiB" in done.err


def test_a_query_comes_through_a_pipe() -> None:
    assert gigastream("check", "/dev/stdin", stdin=QUERY.encode()).code == 0


def test_a_list_file_that_is_none_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "shadow"
    path.write_text("root:$6$secret:19000:0:99999:7:::\n")
    query = f"SELECT time, getlpmid(srcIP, '{path}') AS x FROM IPV4"
    done = gigastream("run", "-r", DEMO_CAPTURE, "-e", query)
    assert done.code != 0
    assert f"{path}:1: expected `prefix,id`" in done.err
    assert "secret" not in done.err
