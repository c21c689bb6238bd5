# SPDX-License-Identifier: Apache-2.0
"""While a session starts: whoever waits for a cluster is told so, and may give it up."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

WatchStart = Callable[["subprocess.Popen[bytes]"], AbstractContextManager[None]]
"""Stands around what a Java does to start a session."""
_LOOK_PERIOD_S = 0.1
_PATIENCE_S = 5.0


class StartEndedError(Exception):
    """Nobody wants the session any more, of which nothing has begun."""


def unwatched(_java: subprocess.Popen[bytes]) -> AbstractContextManager[None]:
    """Let it take its time."""
    return nullcontext()


@contextmanager
def watched(
    java: subprocess.Popen[bytes],
    is_over: Callable[[], bool],
    tell: Callable[[str], None],
    master: str | None,
) -> Iterator[None]:
    """Say after a while that `master` is waited for, and end `java` once `is_over`.

    The thread that starts waits for Java's answer, in which Python cannot interrupt it. Raises
    StartEndedError if it was ended.
    """
    is_done, was_ended = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=_watch, args=(java, is_over, tell, master, is_done, was_ended), daemon=True
    )
    thread.start()
    try:
        yield
    except Exception:
        if was_ended.is_set():
            raise StartEndedError from None
        raise
    finally:
        is_done.set()
        thread.join()


def _watch(
    java: subprocess.Popen[bytes],
    is_over: Callable[[], bool],
    tell: Callable[[str], None],
    master: str | None,
    is_done: threading.Event,
    was_ended: threading.Event,
) -> None:
    is_cluster = master is not None and not master.startswith("local")
    told_s = time.monotonic() + _PATIENCE_S
    while not is_done.wait(_LOOK_PERIOD_S):
        if is_over():
            was_ended.set()
            java.kill()
            return
        if is_cluster and time.monotonic() >= told_s:
            is_cluster = False
            tell(f"waiting for {master}")
