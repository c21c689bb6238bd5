# SPDX-License-Identifier: Apache-2.0
"""What a user is told whose pattern or prefix file is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.functions.driver import Driver, HandleError

FILES = [
    ("10.0.0.0/8\n", ":1: expected `prefix,id`"),
    ("prefix,id\n10.0.0/8,1\n", ":2: not an address prefix, as 10.0.0.0/8"),
    ("10.0.0.0/33,1\n", ":1: not an address prefix, as 10.0.0.0/8"),
    ("::/129,1\n", ":1: not an address prefix, as 10.0.0.0/8"),
    ("10.0.0.0/,1\n", ":1: not an address prefix, as 10.0.0.0/8"),
    ("10.0.0.0/8,x\n", ":1: the id is not a number of 32 bits"),
    ("10.0.0.0/8,4294967296\n", ":1: the id is not a number of 32 bits"),
    ("10.0.0.0/8,1,2\n", ":1: the id is not a number of 32 bits"),
    ("10.0.0.0/8,1\n\n10.1.0.0/8,2\n", ":3: this prefix has id 2, but line 1 gave it id 1"),
]


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
    with pytest.raises(
        HandleError, match=r"prefixes\.csv:1: expected `prefix,id`, not a long line$"
    ):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(path))


def test_absent_prefix_file(driver: Driver, tmp_path: Path) -> None:
    with pytest.raises(HandleError, match=r"none\.csv: No such file or directory"):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(tmp_path / "none.csv"))


def test_directory_as_prefix_file(driver: Driver, tmp_path: Path) -> None:
    with pytest.raises(HandleError, match="Is a directory"):
        driver.call("getlpmid_ip_string", "10.0.0.1", str(tmp_path))


def test_a_file_that_is_no_list_is_not_shown(driver: Driver, tmp_path: Path) -> None:
    """Whoever writes a query may name files that he may not read."""
    secret = "root:$6$salt$hash:19000:0:99999:7:::"
    path = tmp_path / "shadow"
    for text in (
        secret,
        f"10.0.0.0/8,1\n{secret}",
        f"{secret},1",
        f"10.0.0.0/8,{secret}",
        secret * 99,
    ):
        path.write_text(text)
        with pytest.raises(HandleError) as caught:
            driver.call("getlpmid_ip_string", "10.0.0.1", str(path))
        assert re.fullmatch(
            rf"{re.escape(str(path))}:\d: [a-z `,]+(10\.0\.0\.0/8|32 bits)?", str(caught.value)
        )


def test_what_is_no_regular_file_or_too_large_is_not_read(driver: Driver, tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate((256 << 20) + 1)
    size = "larger than 256 MiB, which is no list of prefixes"
    cases = (pipe, "not a regular file"), ("/dev/zero", "not a regular file"), (large, size)
    for path, message in cases:
        with pytest.raises(HandleError) as caught:
            driver.call("getlpmid_ip_string", "10.0.0.1", str(path))
        assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize("text", ["", "prefix,id\n", "\ufeffprefix,id\r\n# none\r\n"])
def test_prefix_file_without_prefixes(driver: Driver, tmp_path: Path, text: str) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text(text, encoding="utf-8")
    assert driver.call("getlpmid_ip_string", "10.0.0.1", str(path)) is None
    assert driver.call("getlpmid_inet_string", "2001:db8::1", str(path)) is None
