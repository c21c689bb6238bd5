# SPDX-License-Identifier: Apache-2.0
"""A link that cannot be captured: one sentence that says why, and what to do."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.command import COMMAND
from tests.live.namespace import need

QUERY = "SELECT time AS tb, len FROM PKT"


def refusal(*words: str, before: tuple[str, ...] = (), code: int = 2) -> str:
    command = [*before, *COMMAND, "run", "-e", QUERY, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == code, done.stderr
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
        (["--fanout", "0"], "'0' is not a positive number"),
        (["--fanout", "65"], "from 1 to 64 rings"),
        (["--on", "spark"], "a link is captured by a process that can do nothing else"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_setting_that_cannot_be(words: list[str], named: str) -> None:
    assert named in refusal("-i", "lo", *words)


def test_rings_are_of_one_device() -> None:
    assert "any: rings (--fanout) are of one network device" in refusal("-i", "any", "--fanout=2")


@pytest.mark.privileged
@pytest.mark.parametrize("device", ["lo", "any"])
def test_without_the_capability(device: str) -> None:
    need("setpriv")
    said = refusal("-i", device, before=("setpriv", "--bounding-set=-net_raw"))
    assert f"{device}: capturing needs the capability CAP_NET_RAW" in said
    assert "hint: " in said
    assert "Traceback" not in said
