# SPDX-License-Identifier: Apache-2.0
"""A worker process from the outside: asked with a time limit, and ended with its leaks counted."""

from __future__ import annotations

import re
import select
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tests.sanitize.jobs import Job, Outcome
from tests.sanitize.tree import environment

START_SECONDS = 600
"""The query set is compiled by the first answer."""
# A leak of ours has a frame in the engine's files or in a query set.
_REPORT = re.compile(r"(?:Direct|Indirect) leak of .*?(?=\n\n)", re.DOTALL)
_OURS = re.compile(r"csrc/|query_set")
# Its tracer crashes where a thread ends while it looks: a fault of the tool, seen once in 50 runs.
_KEPT = "gs_memory_new"
"""As long as the process, on purpose: gigastream/engine/memory.py."""
_LSAN_FAILED = "LeakSanitizer has encountered a fatal error"


class WorkerError(AssertionError):
    """A worker that crashed, hung or leaked, and what it said."""


class Worker:
    """A query set in a sanitized process."""

    def __init__(self, queries: Path) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.sanitize.worker", str(queries)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        self._limit_seconds = START_SECONDS

    def ask(self, job: Job, limit_seconds: float) -> Outcome:
        """Do a job; WorkerError if it crashes or takes longer."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answer, or its absence, says more
            self._process.stdin.write(job.to_line())
            self._process.stdin.flush()
        line = self._line(max(limit_seconds, self._limit_seconds), job)
        self._limit_seconds = 0
        return Outcome.from_line(line)

    def finish(self) -> None:
        """End the worker; WorkerError if the engine has not given back all memory."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._line(START_SECONDS, None)
        except WorkerError:
            if _LSAN_FAILED not in self._text():
                raise
            warnings.warn("LSan failed, not the engine: leaks are not looked for", stacklevel=2)
        ours = [report for report in _REPORT.findall(self._text()) if _OURS.search(report)]
        leaks = [report for report in ours if _KEPT not in report]
        if leaks:
            raise WorkerError("leaked:\n" + "\n\n".join(leaks))

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._said):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def _line(self, seconds: float, job: Job | None) -> str:
        output = self._process.stdout
        assert output is not None
        ready, _, _ = select.select([output], [], [], seconds)
        line = output.readline() if ready else ""
        if not line.endswith("\n"):
            what = f"hangs for {seconds} s" if not ready else "has ended"
            raise WorkerError(f"{what} at {job}\n{self._text()}")
        return line

    def _text(self) -> str:
        self._said.seek(0)
        return self._said.read()
