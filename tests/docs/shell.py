# SPDX-License-Identifier: Apache-2.0
"""Commands as a reader would type them: in a shell, at a terminal, beside the demo."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from captures import ROOT
from terminals import read_terminal

SECONDS = 600


@dataclass(frozen=True)
class Screen:
    """What a command showed."""

    code: int
    out: list[str]
    errors: list[str]


def _write_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)


class Shell:
    """A folder with demo and examples; `gigastream`, and the Python that has it, on the path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "here"
        self._folder.mkdir()
        for name in ("demo", "configs", "examples"):
            (self._folder / name).symlink_to(ROOT / name)
        programs = folder / "bin"
        programs.mkdir()
        _write_program(programs / "gigastream", f"{shlex.quote(sys.executable)} -P -m gigastream")
        _write_program(programs / "python", shlex.quote(sys.executable))
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def write(self, name: str, text: str) -> None:
        """Save a file."""
        (self._folder / name).write_text(text)

    def run(self, command: str) -> Screen:
        """Run a command whose stdout is a terminal."""
        controller, terminal = pty.openpty()
        taken: list[bytes] = []
        reader = threading.Thread(target=lambda: taken.append(read_terminal(controller)))
        reader.start()
        try:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=subprocess.PIPE,
                timeout=SECONDS,
                check=False,
            )
        finally:
            os.close(terminal)
            reader.join()
            os.close(controller)
        out = b"".join(taken).decode().replace("\r\n", "\n")
        return Screen(done.returncode, out.splitlines(), done.stderr.decode().splitlines())
