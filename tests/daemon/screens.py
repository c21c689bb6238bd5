# SPDX-License-Identifier: Apache-2.0
"""A terminal of a test's own: tmux, whose screen can be read and whose keys can be pressed."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.live.namespace import need
from tests.waiting import PATIENCE_S, wait_until

COLUMNS, LINES = 80, 24


class Screen:
    """One command in a terminal; when it has ended, its exit code and the terminal's modes show."""

    def __init__(self, server: Path, command: Sequence[object], columns: int, lines: int) -> None:
        self._server = server
        words = shlex.join(map(str, command))
        line = f"{words}; echo code $?; stty -a | tr ' ;' '\\n\\n' | grep -x -e -*echo -e -*icanon"
        size = ("-x", str(columns), "-y", str(lines))
        shell = ("-f", "/dev/null", "new-session", "-d", *size, f"{line}; exec sleep {PATIENCE_S}")
        self._tmux(*shell)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self._server), *words]
        # Readline, which pytest loads, puts the size of its own terminal behind Python's back, and
        # whom pytest has started, as its workers, has it before their eyes.
        ours = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=ours
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text(self) -> str:
        """What is on it."""
        return self._tmux("capture-pane", "-p")

    def lines(self) -> list[str]:
        """Its lines, but those behind the last that is written."""
        return self.text().rstrip().splitlines()

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, lines: int) -> None:
        """Give it another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait_for(self, *texts: str) -> str:
        """Wait until all of them are on it; what is."""
        shown: list[str] = []

        def is_there() -> bool:
            shown[:] = [self.text()]
            return all(text in shown[0] for text in texts)

        try:
            wait_until(is_there, f"{texts} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows\n{shown[0]}") from None
        return shown[0]

    def ended(self) -> int:
        """The exit code, of one that has left the terminal in order: lines and their echo."""
        shown = self.wait_for("code ", "echo", "icanon").split()
        assert "-echo" not in shown
        assert "-icanon" not in shown
        return int(shown[shown.index("code") + 1])

    def close(self) -> None:
        """End it."""
        subprocess.run(
            ["tmux", "-S", str(self._server), "kill-server"], check=False, capture_output=True
        )


@contextmanager
def screen_of(
    folder: Path, *command: object, columns: int = COLUMNS, lines: int = LINES
) -> Iterator[Screen]:
    """A command in such a terminal; skips where there is no tmux."""
    need("tmux")
    screen = Screen(folder / "tmux", command, columns, lines)
    try:
        yield screen
    finally:
        screen.close()
