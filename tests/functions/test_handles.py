# SPDX-License-Identifier: Apache-2.0
"""What a user is told whose pattern or prefix file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functions.driver import Driver, HandleError

PATTERNS = [
    ("(", "bad regular expression '(': Unmatched ( or \\("),
    ("[a", "bad regular expression '[a': Unmatched [, [^, [:, [., or [="),
    (b"a\0b", "a regular expression cannot hold a zero byte"),
]

FILES = [
    ("10.0.0.0/8\n", ":1: expected `prefix,id`: '10.0.0.0/8'"),
    ("prefix,id\n10.0.0/8,1\n", ":2: not an address prefix: '10.0.0/8'"),
    ("10.0.0.0/33,1\n", ":1: not an address prefix: '10.0.0.0/33'"),
    ("::/129,1\n", ":1: not an address prefix: '::/129'"),
    ("10.0.0.0/,1\n", ":1: not an address prefix: '10.0.0.0/'"),
    ("10.0.0.0/8,x\n", ":1: the id is not a number of 32 bits: 'x'"),
    ("10.0.0.0/8,4294967296\n", ":1: the id is not a number of 32 bits: '4294967296'"),
    ("10.0.0.0/8,1,2\n", ":1: the id is not a number of 32 bits: '1,2'"),
    ("10.0.0.0/8,1\n\n10.1.0.0/8,2\n", ":3: this prefix has id 2, but line 1 gave it id 1"),
]


@pytest.mark.parametrize(("pattern", "message"), PATTERNS)
def test_bad_pattern(driver: Driver, pattern: str | bytes, message: str) -> None:
    with pytest.raises(HandleError) as caught:
        driver.call("str_regex_match_string_string", "x", pattern)
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "message"), FILES)
def test_bad_prefix_file(driver: Driver, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text(text)
    with pytest.raises(HandleError) as caught:
        driver.call("getlpmid_ip_string", "10.0.0.1", str(path))
    assert str(caught.value) == f"{path}{message}"


def test_long_line_in_prefix_file(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text("#" + "x" * 600 + "\n")
    with pytest.raises(HandleError, match=r"prefixes\.csv:1: the line is too long: '#x+'"):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(path))


def test_absent_prefix_file(driver: Driver, tmp_path: Path) -> None:
    with pytest.raises(HandleError, match=r"none\.csv: No such file or directory"):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(tmp_path / "none.csv"))


def test_directory_as_prefix_file(driver: Driver, tmp_path: Path) -> None:
    with pytest.raises(HandleError, match="Is a directory"):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(tmp_path))


@pytest.mark.parametrize("text", ["", "prefix,id\n", "\ufeffprefix,id\r\n# none\r\n"])
def test_prefix_file_without_prefixes(driver: Driver, tmp_path: Path, text: str) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text(text, encoding="utf-8")
    assert driver.call("getlpmid_ip_string", "10.0.0.1", str(path)) is None
    assert driver.call("getlpmid_inet_string", "2001:db8::1", str(path)) is None
