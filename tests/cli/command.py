# SPDX-License-Identifier: Apache-2.0
"""The command line as a person meets it: a process, its output and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from tests.waiting import PATIENCE_S, wait_until

# -P: the package that is installed, whatever the working directory holds.
COMMAND = (sys.executable, "-P", "-m", "gigastream")
SECONDS = 600


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout."""
        return self.out.decode().splitlines()


def gigastream(
    *words: str | os.PathLike[str], stdin: bytes = b"", seconds: float = SECONDS, **options: Any
) -> Result:
    """Run a command to its end; it must not fail in a way that only we would understand."""
    done = subprocess.run(
        [*COMMAND, *map(os.fspath, words)],
        input=stdin,
        capture_output=True,
        timeout=seconds,
        check=False,
        **options,
    )
    errors = done.stderr.decode(errors="replace")
    assert "Traceback" not in errors
    assert "a fault in Gigastream itself" not in errors
    return Result(done.returncode, done.stdout, errors)


@contextmanager
def started(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A run, killed where the test fails or waits for what never comes."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "run", *words], **pipes, **options) as command:
        timer = threading.Timer(PATIENCE_S, command.kill)
        timer.start()
        try:
            yield command
        finally:
            timer.cancel()
            command.kill()


def write_all(stream: IO[bytes] | None, data: bytes) -> None:
    """Write it to a pipe, which without a buffer is cut short where this process is stopped."""
    assert stream is not None
    left = memoryview(data)
    while left:
        left = left[stream.write(left) :]
    stream.flush()


def account_so_far(process: subprocess.Popen[Any]) -> dict[str, Any]:
    """What a run that reads packets and has `--stats json` tells of itself when it is asked to."""
    assert process.stderr is not None
    process.send_signal(signal.SIGUSR1)
    found: dict[str, Any] = json.loads(process.stderr.readline())
    return found


def wait_until_read(process: subprocess.Popen[bytes], packets: int) -> None:
    """Wait until a run has read so many of its first source, whether or not rows came of them."""
    wait_until(lambda: account_so_far(process)["sources"][0]["read"] >= packets, "it to be read")
