# SPDX-License-Identifier: Apache-2.0
"""Each write, open, close … of an output fails once: told, and what was lost is counted."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE

from tests.faults.failing import HARMLESS, WRITES, Failing, account_of, every, first

PACKETS = 300
"""Of the capture: some seconds, each of which makes a batch of thirty writes in Arrow."""
QUERY = "SELECT time, len, timestamp FROM PKT"
FORMATS = ("table", "json", "csv", "arrow", "parquet")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("call", "number", "reason"), first(WRITES))
def test_an_output_that_fails_is_told(
    form: str, call: str, number: int, reason: int, failing: Failing
) -> None:
    check(form, call, number, reason, failing)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("call", "reason"), every(WRITES))
def test_an_output_that_fails_anywhere_is_told(
    form: str, call: str, reason: int, failing: Failing
) -> None:
    for number in count(1):
        check(form, call, number, reason, failing)
        if not failing.has_failed:
            return


def check(form: str, call: str, number: int, reason: int, failing: Failing) -> None:
    """Let a call fail, and see what is said of it."""
    path: Path = failing.folder / "rows-out"
    path.unlink(missing_ok=True)
    words = ("-e", QUERY, "-r", DEMO_CAPTURE, "--count", PACKETS, "--batch-rows", 100)
    result = failing.run(call, number, reason, "rows-out", *words, "-o", f"{form}:{path}")
    account = account_of(result.err)
    if result.code == 0:
        assert not failing.has_failed or reason in HARMLESS
        assert account is not None
        assert account["rows"] == PACKETS
        return
    assert failing.has_failed
    assert "rows-out" in result.err
    if call in ("open", "ftruncate"):  # of the path, before anything is read
        assert result.code == 2
        return
    assert result.code == 1
    assert account is not None, result.err
    assert account["rows"] + account["rows_lost"] == account["sources"][0]["read"]
