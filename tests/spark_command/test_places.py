# SPDX-License-Identifier: Apache-2.0
"""Where Spark writes what it writes by itself."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from spark_sink import session
from spark_sink.job_errors import JobError


def test_it_is_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands behind a comma would be another one."""
    folder = tmp_path / "a, b"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(session, "_TEMPORARY", (str(tmp_path / "c, d"), "/tmp"))
    assert session.temporary_folder() == "/tmp"
    monkeypatch.setattr(session, "_TEMPORARY", ())
    with pytest.raises(JobError, match="comma"):
        session.temporary_folder()
