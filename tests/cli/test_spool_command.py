# SPDX-License-Identifier: Apache-2.0
"""gigastream spool: what a writer that is gone has left open is ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.cli.main import run_command_line
from gigastream.spool import Spool, SpoolWriter
from tests.spool.made import open_track, write_run


def test_what_was_left_open_is_ended_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, 3)
    assert run_command_line(["spool", "end", str(tmp_path)]) == 0
    assert f"{tmp_path}: ended are flows of eth0" in capsys.readouterr().err
    (track,) = Spool(tmp_path).tracks()
    assert track.poll()[-1].kind == "end"
    assert run_command_line(["spool", "end", str(tmp_path)]) == 0
    assert "all streams have ended already" in capsys.readouterr().err


def test_what_is_still_written_is_not_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SpoolWriter(tmp_path) as writer:
        open_track(writer)
        assert run_command_line(["spool", "end", str(tmp_path)]) == 2
    assert f"another run writes {tmp_path}" in capsys.readouterr().err
    assert not Spool(tmp_path).tracks()[0].is_ended


def test_what_is_no_spool_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["spool", "end", str(tmp_path)]) == 2
    assert "is no spool" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_was_shipped_is_ended_where_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, there = str(tmp_path / "spool"), str(tmp_path / "there")
    write_run(Path(root), 3)
    assert run_command_line(["ship", root, there, "--once"]) == 0
    capsys.readouterr()
    assert run_command_line(["spool", "end", there]) == 2
    assert "was shipped to\nhint: end it where it is written" in capsys.readouterr().err


def test_an_empty_path_is_not_the_spool_that_is_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, 3)
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["spool", "end", ""]) == 2
    assert "the path of a spool is empty" in capsys.readouterr().err
    assert not Spool(tmp_path).tracks()[0].is_ended
