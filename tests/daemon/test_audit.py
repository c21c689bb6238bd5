# SPDX-License-Identifier: Apache-2.0
"""The audit log."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from gigastream.daemon.audit import AuditLog
from gigastream.sources.files import SourceError


def lines(folder: Path) -> list[dict[str, object]]:
    """The entries."""
    return [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines() if line]


def test_a_line_for_each_change(tmp_path: Path) -> None:
    """And a log that is opened again goes on."""
    for name in ("first", "second"):
        log = AuditLog(tmp_path)
        log.note(1000, "add", name, True, pid=7)
        log.close()
    found = lines(tmp_path)
    assert [entry["subject"] for entry in found] == ["first", "second"]
    assert found[0]["uid"] == 1000
    assert found[0]["pid"] == 7
    assert isinstance(found[0]["at_ns"], int)


def test_who_asks_much_fills_no_disk(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.note(1000, "set", "x" * 1_000_000, False, "y" * 1_000_000)
    log.close()
    (entry,) = lines(tmp_path)
    assert entry["subject"] == "x" * 255 + "…"
    assert len(str(entry["message"])) == 4097


def test_a_full_disk_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is counted, and told by the next entry, on a line of its own."""
    import signal

    monkeypatch.setattr("gigastream.daemon.audit.time.time_ns", lambda: 1)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = AuditLog(tmp_path)
    log.note(0, "add", "whole", True)
    room = (tmp_path / "audit.jsonl").stat().st_size + 10
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        log.note(0, "add", "torn", True)
        log.note(0, "add", "none", True)
        assert log.lost == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    log.note(0, "drop", "again", True)
    text = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert json.loads(text[0])["subject"] == "whole"
    assert "2 entries" in json.loads(text[-1])["message"]
    assert log.lost == 0


def test_a_log_through_a_link_is_refused(tmp_path: Path) -> None:
    """Root would append to whatever it leads to."""
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "other")
    with pytest.raises(SourceError, match="audit"):
        AuditLog(tmp_path)
    assert not (tmp_path / "other").exists()
