# SPDX-License-Identifier: Apache-2.0
"""A link that cannot be captured: one sentence that says why, and what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.namespace import need

QUERY = "SELECT time AS tb, len FROM PKT"


def refusal(*words: str, before: tuple[str, ...] = ()) -> str:
    command = [*before, sys.executable, "-m", "gigastream", "run", "-e", QUERY, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    return done.stderr


def test_a_device_that_is_not_there() -> None:
    said = refusal("-i", "nosuchdevice")
    assert said.startswith("gigastream: there is no network interface 'nosuchdevice'\nhint: one of")
    assert " lo" in said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--max-skew", "1s"], "max-skew 1 s is less than the retire timeout and a second"),
        (["--ring-block", "100000"], "a power of two"),
        (["--promiscuous", "perhaps"], "'perhaps' is neither on nor off"),
        (["--heartbeat", "0"], "heartbeats"),
        (["--user", "nosuchuser"], "there is no user 'nosuchuser'"),
        (["--user", "root"], "'root' is privileged"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_setting_that_cannot_be(words: list[str], named: str) -> None:
    assert named in refusal("-i", "lo", *words)


@pytest.mark.privileged
def test_without_the_capability() -> None:
    need("setpriv")
    said = refusal("-i", "lo", before=("setpriv", "--bounding-set=-net_raw"))
    assert "lo: capturing needs the capability CAP_NET_RAW" in said
    assert "hint: " in said
    assert "Traceback" not in said
