# SPDX-License-Identifier: Apache-2.0
"""What the oracle says of a capture, and what an outcome must therefore be."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.capture import read_bytes
from tests.sanitize.jobs import Job, Outcome

WRAP_NS = (1 << 32) * 1_000_000_000
"""In February 2106 `time` begins again at 0; which rows come too late for its windows depends on
when punctuation came (gigastream/gsql/order/inference.py)."""


@dataclass(frozen=True)
class Expected:
    """How a run over a capture ends."""

    code: int
    packets: int
    reason: str
    time_wraps: bool

    def check(self, job: Job, outcome: Outcome) -> None:
        """The outcome of a job over this capture is this; one that was stopped ends well."""
        assert not outcome.faults, (job, outcome.faults)
        assert self.time_wraps or not outcome.broken_promises, (job, outcome.broken_promises)
        if job.stop_after_batches:
            return
        assert outcome.code == self.code, (job, outcome.message, self.reason)
        if self.code != 2:
            assert outcome.read == (self.packets,) * len(job.sources), job

    def check_same(self, jobs: list[Job], one: Outcome, other: Outcome) -> None:
        """Settings have changed no row."""
        if self.code != 2 and not self.time_wraps:
            assert (one.rows, one.digests) == (other.rows, other.digests), jobs


def expected(data: bytes) -> Expected:
    """What is to be expected of a capture's bytes."""
    read = read_bytes(data)
    times = [record.timestamp_ns for record in read.records if record.timestamp_ns is not None]
    return Expected(
        code=read.exit_code,
        packets=len(read.records),
        reason=read.damage or read.refusal or "",
        time_wraps=max(times, default=0) >= WRAP_NS,
    )
