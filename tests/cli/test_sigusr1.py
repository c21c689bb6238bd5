# SPDX-License-Identifier: Apache-2.0
"""SIGUSR1 that comes when there is no account to tell: from the first moment to the last."""

from __future__ import annotations

import subprocess

import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, SECONDS

SCRIPT = """
import atexit, os, signal, sys

def ask(*_):
    os.kill(os.getpid(), signal.SIGUSR1)

if sys.argv[1] == "at the very end":
    class Last:
        def __del__(self, ask=ask, kill=os.kill, own=os.getpid(), number=signal.SIGUSR1):
            kill(own, number)
    sys.modules["last"] = Last()
    atexit.register(ask)  # after those that are registered later
from gigastream.__main__ import main
from gigastream.cli import run

def asked_before(name):
    real = getattr(run, name)
    def asked(*given, **named):
        ask()
        return real(*given, **named)
    setattr(run, name, asked)

if hasattr(run, sys.argv[1]):
    asked_before(sys.argv[1])
sys.argv[1:2] = []
sys.exit(main())
"""
MOMENTS = ("config_of", "plan_of", "open_outputs", "summarise", "verdict", "at the very end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_run_goes_on(moment: str) -> None:
    words = ("run", "-o", "json", "-e", "SELECT count(*) AS n FROM PKT", "-r", DEMO_CAPTURE)
    done = subprocess.run(
        [*COMMAND[:2], "-c", SCRIPT, moment, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{"n":2010}\n'
    lines = done.stderr.splitlines()
    assert lines[-2].startswith("query (aggregate): ")
    assert lines[-1].startswith("1 row of 203 kB in ")
