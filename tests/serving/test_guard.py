# SPDX-License-Identifier: Apache-2.0
"""Who watches the process that serves lasts however often that begins again."""

from __future__ import annotations

import subprocess
import sys

ENDED_THRICE = """
import os, signal
from gigastream.serving.guard import Guard

told = []

def tell(text):
    told.append(text)
    if len(told) == 3:
        guard.stop()

guard = Guard(lambda: os.kill(os.getpid(), signal.SIGKILL), 1 << 60, tell)
before = os.listdir("/proc/self/fd")
code = guard.run()
print(code, set(told), os.listdir("/proc/self/fd") == before)
"""


def test_a_server_that_begins_again_leaves_no_descriptor_behind() -> None:
    """Else who sends too much, without a token, ends it for good after a thousand times."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", ENDED_THRICE], capture_output=True, text=True, check=False
    )
    assert done.stdout == "0 {'serving begins again'} True\n", done.stderr
