# SPDX-License-Identifier: Apache-2.0
"""The command line, killed at a line of a sink: `python -m tests.sinks.dying N WORD …`.

N is how many lines of the sink's own file may run before the process gets
SIGKILL; 0: all. That is any moment between the first statement of a transaction and what follows
its commit, the same one for the same N. A process that lives tells how many lines there were. Rows
are written by threads, and lines of theirs alone count.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import gigastream.sinks
from gigastream.cli.main import run_command_line
from gigastream.sinks import SINKS

LINES = "lines of the sink: "
_FOLDER = Path(gigastream.sinks.__file__).parent
_FILES = {str(_FOLDER / f"{kind.module.rpartition('.')[2]}.py") for kind in SINKS.values()}


class Death:
    """Counts lines of the sinks' files."""

    def __init__(self, after: int) -> None:
        self.lines = 0
        self._after = after

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Follow a frame, if it is one of theirs."""
        return self._step if frame.f_code.co_filename in _FILES else None

    def _step(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        self.lines += event == "line"
        if self.lines == self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._step


def main(after: str, *words: str) -> int:
    """Run the command, each transaction as soon as there is something to write."""
    import gigastream.sinks.output

    gigastream.sinks.output.EVERY_S = 0.0
    death = Death(int(after))
    threading.settrace(death.enter)
    code = run_command_line(list(words))
    sys.stderr.write(f"{LINES}{death.lines}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
