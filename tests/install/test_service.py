# SPDX-License-Identifier: Apache-2.0
"""configs/gigastream.service as systemd reads it, and what it leaves to who takes it over."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.captures import ROOT

UNIT = ROOT / "configs" / "gigastream.service"
INSTALL = ROOT / "docs" / "daemon-install.md"
COMMAND = "/opt/gigastream/bin/gigastream"
MOST_EXPOSED = 1.9
"""What is left is packets, and questions on the loopback."""

needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there"
)


def settings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@needs_analyze
def test_systemd_has_nothing_to_say(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # A program that is there, at a path without the spaces that a checkout's may have.
    unit.write_text(UNIT.read_text().replace(COMMAND, "/bin/sh"))
    words = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, said) == (0, [])


@needs_analyze
def test_its_exposure_is_what_the_documents_say() -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) <= MOST_EXPOSED
    stated = re.search(r"exposure level of (\d+\.\d)", INSTALL.read_text())
    assert stated is not None
    # Other versions of systemd count other things.
    assert abs(float(stated[1]) - float(found[1])) <= 0.3


def test_it_has_one_capability_and_is_never_root() -> None:
    found = settings()
    assert found["User"] == ["gigastream"]
    assert found["AmbientCapabilities"] == found["CapabilityBoundingSet"] == ["CAP_NET_RAW"]
    assert found["NoNewPrivileges"] == ["yes"]


def test_the_rest_is_let_end_where_the_main_process_has_died() -> None:
    """`mixed` would kill the capture process at once, and with it all open windows."""
    assert settings()["KillMode"] == ["control-group"]


def test_each_limit_is_documented() -> None:
    """Who has to lift one finds what it is for."""
    text = INSTALL.read_text()
    told = [name for name in settings() if name.startswith(("Protect", "Private", "Restrict"))]
    others = ("MemoryDenyWriteExecute", "SystemCallFilter", "IPAddressDeny", "WatchdogSec")
    silent = [name for name in (*told, *others) if f"`{name}" not in text]
    assert silent == []
