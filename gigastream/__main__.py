# SPDX-License-Identifier: Apache-2.0
"""The command `gigastream`, also as `python -m gigastream`.

Nothing is imported before main() is called: Ctrl-C until then is Python's own, a traceback.
"""

from __future__ import annotations

import gc
import sys

_INTERRUPTED = 130
"""As a shell says it of SIGINT."""
_COLLECTED_EVERY = 100_000
"""Objects. What a start makes (modules, classes, a plan) stays; Python would look through it a
hundred times."""


def main() -> int:
    """Run the command line of this process and return its exit code."""
    gc.set_threshold(_COLLECTED_EVERY)
    try:
        _load()
        from gigastream.cli.main import run_command_line
        from gigastream.cli.stderr import open_standard_streams

        open_standard_streams()
        code = run_command_line(sys.argv[1:])
        gc.freeze()  # what is left goes with the process: at its end Python would look through it
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED


def _load() -> None:
    """Import the command line; Ctrl-C meanwhile ends the process at once, since nothing is open.

    As an exception it could come up in a callback of the import system, which prints and forgets
    it.
    """
    import os
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignored it leaves us no child's end
    _outlive_sigusr1()
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    try:
        import gigastream.cli.main
        import gigastream.cli.stderr  # noqa: F401
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _outlive_sigusr1() -> None:
    """Let who asks before there is an account, or after the last one, end nothing.

    A handler, because programs that are started inherit what is ignored; at the very end it is
    ignored, because Python gives the kernel's default back to what it has handled.
    """
    import atexit
    import signal

    signal.signal(signal.SIGUSR1, lambda *_: None)
    atexit.register(signal.signal, signal.SIGUSR1, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
