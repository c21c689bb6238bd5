# SPDX-License-Identifier: Apache-2.0
"""The thread that makes segments durable and lists them, one for all tracks of a spool.

fsync takes as long as the disk takes; meanwhile the engine goes on. Jobs are done in the order in
which they came, so the manifest's order is the writer's. A writer waits only when so many segments
are unlisted that more would be at stake than is worth it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

_MAX_UNLISTED_SEGMENTS = 4

Job = Callable[[], None]


class Publisher:
    """Does jobs in a thread of its own. After the first error it does no more."""

    def __init__(self, housekeeping: Callable[[], float | None]) -> None:
        """`housekeeping` returns in how many seconds it is due; None: when something is listed."""
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._room = threading.BoundedSemaphore(_MAX_UNLISTED_SEGMENTS)
        self._housekeeping = housekeeping
        self._due_s: float | None = None
        self._failure: Exception | None = None
        # A daemon: an interpreter that ends without close() leaves a spool as a crash does.
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what the thread has met, if anything: a SpoolError, unless it is our mistake."""
        if self._failure is not None:
            raise self._failure

    def submit(self, job: Job) -> None:
        """Have a job done after those before it, and soon after it the housekeeping."""
        self.check()
        self._jobs.put(lambda: self._unless_failed(job))

    def submit_segment(self, job: Job) -> None:
        """The same, when fewer than the most segments are unlisted."""
        self._room.acquire()
        self._jobs.put(lambda: self._with_room(job))
        self.check()

    def drain(self) -> None:
        """Wait until what was submitted is done or dropped; raise what was met."""
        done = threading.Event()
        self._jobs.put(done.set)
        done.wait()
        self.check()

    def close(self) -> None:
        """Wait until all jobs are done or dropped; raise what they met."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self.check()

    def _run(self) -> None:
        is_closing = False
        while not is_closing:
            jobs = self._take()
            is_closing = None in jobs
            for job in jobs:
                self._do(job)
            self._do(lambda: self._unless_failed(self._housekeep))

    def _housekeep(self) -> None:
        self._due_s = self._housekeeping()

    def _take(self) -> list[Job | None]:
        """Return what is to be done by now; nothing if the housekeeping is."""
        jobs: list[Job | None] = []
        with suppress(queue.Empty):
            jobs.append(self._jobs.get(timeout=self._due_s))
            while True:
                jobs.append(self._jobs.get_nowait())
        return jobs

    def _do(self, job: Job | None) -> None:
        try:
            if job is not None:
                job()
        except Exception as error:
            # Whatever it is, the writer has to hear of it: a thread that died would hang it.
            self._failure = self._failure or error

    def _with_room(self, job: Job) -> None:
        try:
            self._unless_failed(job)
        finally:
            self._room.release()

    def _unless_failed(self, job: Job) -> None:
        if self._failure is None:
            job()
