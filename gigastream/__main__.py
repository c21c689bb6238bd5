# SPDX-License-Identifier: Apache-2.0
"""The command `gigastream`, also as `python -m gigastream`."""

from __future__ import annotations

import atexit
import signal
import sys

_INTERRUPTED = 130
"""As a shell says it of SIGINT."""


def main() -> int:
    """Run the command line of this process and return its exit code."""
    _outlive_sigusr1()
    try:
        from gigastream.cli.main import run_command_line
        from gigastream.cli.stderr import open_standard_streams

        open_standard_streams()
        return run_command_line(sys.argv[1:])
    except KeyboardInterrupt:  # also while modules are imported
        return _INTERRUPTED


def _outlive_sigusr1() -> None:
    """Let who asks before there is an account, or after the last one, end nothing.

    A handler, because programs that are started inherit what is ignored; at the very end it is
    ignored, because Python gives the kernel's default back to what it has handled.
    """
    signal.signal(signal.SIGUSR1, lambda *_: None)
    atexit.register(signal.signal, signal.SIGUSR1, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
