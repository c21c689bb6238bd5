# SPDX-License-Identifier: Apache-2.0
"""The command line, killed at a line of a sink: `python -m tests.sinks.dying N WORD …`.

N is how many lines of the sink's own file may run before the process gets SIGKILL; 0: all. That is
any moment between the first statement of a transaction and what follows its commit, the same one
for the same N. Rows are written by threads, and lines of theirs alone count; a process that lives
tells how many there were.

Without words it is a nursery: it has imported all, reads `[N, WORD, …]` as a line of JSON, runs
that in a child, and answers with the child's exit code (negative: the signal) and its lines.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import gigastream.sinks
from gigastream.cli.main import run_command_line
from gigastream.sinks import SINKS

LINES = "lines of the sink: "
_FOLDER = Path(gigastream.sinks.__file__).parent
_FILES = {str(_FOLDER / f"{kind.module.rpartition('.')[2]}.py") for kind in SINKS.values()}
_SLOW = ("gigastream.cli.run", "gigastream.sessions.session", "gigastream.sinks.output")


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


def run(after: str, *words: str) -> int:
    """Run the command, each transaction as soon as there is something to write."""
    import gigastream.sinks.output

    gigastream.sinks.output.EVERY_S = 0.0
    death = Death(int(after))
    threading.settrace(death.enter)
    code = run_command_line(list(words))
    sys.stderr.write(f"{LINES}{death.lines}\n")
    return code


def nurse() -> None:
    """Answer requests until there are no more."""
    here = (kind.module for kind in SINKS.values() if find_spec(kind.package) is not None)
    for module in (*_SLOW, *here):
        import_module(module)
    for line in sys.stdin:
        print(json.dumps(_child(*json.loads(line))), flush=True)


def _child(after: int, *words: str) -> tuple[int, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 2)
        os.close(writing)
        code = run(str(after), *words)
        sys.stderr.flush()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as told:
        errors = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), errors


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]) if len(sys.argv) > 1 else nurse())
