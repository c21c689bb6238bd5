# SPDX-License-Identifier: Apache-2.0
"""gigastream ctl waits: with --wait for a daemon that begins, behind a stop for its end."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import msgspec
from cli.command import COMMAND, gigastream

from gigastream.daemon.messages import StatusAnswer
from tests.daemon.speaking import speaking
from tests.daemon.states import STATUS
from tests.waiting import PATIENCE_S


def test_a_daemon_that_is_being_started_is_waited_for(tmp_path: Path) -> None:
    """It listens after a while, and has no capture process at first."""
    path, asked = tmp_path / "s", []

    def said(_: object) -> StatusAnswer:
        asked.append(1)
        return msgspec.structs.replace(STATUS, capture_pid=None if len(asked) < 3 else 42)

    command = [*COMMAND, "ctl", "--socket", str(path), "status", "--wait", f"{PATIENCE_S} s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        with speaking(path, say=said):
            out, _ = waiting.communicate(timeout=PATIENCE_S)
        assert waiting.returncode == 0
    assert "capture process 42" in out
    assert len(asked) > 3


def test_who_has_waited_in_vain_is_told_so(tmp_path: Path) -> None:
    found = gigastream("ctl", "--socket", tmp_path / "none.sock", "--wait", "10ms", "status")
    assert found.code == 2
    assert "there is no daemon at" in found.err
    silent = msgspec.structs.replace(STATUS, capture_pid=None)
    with speaking(tmp_path / "s", say=lambda _: silent):
        found = gigastream("ctl", "--socket", tmp_path / "s", "--wait", "10ms", "status")
    assert "no capture process: it is being started again" in found.out.decode()


def test_a_stop_returns_when_the_daemon_has_hung_up(tmp_path: Path) -> None:
    """Which it does behind the end of its outputs."""
    ended, returned = threading.Event(), threading.Event()

    def end() -> None:
        assert not returned.wait(0.5)  # none that had to be waited for
        ended.set()

    with speaking(tmp_path / "s", end=end):
        found = gigastream("ctl", "--socket", tmp_path / "s", "stop")
        was_ended = ended.is_set()
        returned.set()
    assert found.code == 0
    assert was_ended
