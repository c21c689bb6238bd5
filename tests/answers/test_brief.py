# SPDX-License-Identifier: Apache-2.0
"""Golden queries compiled as for a small capture: the rows and counters of optimized code."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.codegen.compiler import OPTIMIZE
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource, are_small
from tests.answers.engine import run
from tests.answers.golden_shares import shares
from tests.answers.paths import JOBS, opened
from tests.answers.test_golden import INPUTS_USED, Inputs, _plan, folder
from tests.engine.whole_runs import told

__all__ = ["folder"]
KEY = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


@pytest.mark.parametrize("inputs", INPUTS_USED, ids=str)
def test_the_answer_is_the_same(
    inputs: Inputs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [FileSource(interface, str(folder / name)) for interface, name in inputs]
    assert are_small(sources)
    settings = Settings(hash_key=KEY)
    optimized = run(_plan(inputs), sources, settings)
    monkeypatch.setenv(OPTIMIZE, "as it pays")
    brief = run(_plan(inputs), sources, settings)
    assert brief.rows == optimized.rows
    assert brief.statistics.lftas == optimized.statistics.lftas
    assert brief.statistics.operators == optimized.statistics.operators
    ahead = run(_plan(inputs), sources, replace(settings, fast_path=False))
    assert ahead.rows == optimized.rows
    assert ahead.statistics.lftas == optimized.statistics.lftas


def test_the_answer_of_several_threads_is_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIMIZE, "as it pays")
    for share in shares():
        interface, name = share.source
        source = FileSource(interface, str(folder / name))
        alone = told(share.plan, Session(share.plan, [source], Settings()))
        assert told(share.plan, opened(share.plan, [source], Settings(jobs=JOBS))) == alone


def test_small_are_files_and_few_bytes_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, name), *_ = INPUTS_USED[0]
    file = FileSource("default", str(folder / name))
    assert are_small([file, file])
    assert not are_small([file, object()])
    monkeypatch.setattr("gigastream.sources.files.SMALL_BYTES", 2 * file.size - 1)
    assert are_small([file])
    assert not are_small([file, file])


def test_what_is_compressed_is_not_small(folder: Path, tmp_path: Path) -> None:
    (_, name), *_ = INPUTS_USED[0]
    plain = FileSource("default", str(folder / name))
    packed = tmp_path / "packed.pcap"
    packed.write_bytes(gzip.compress((folder / name).read_bytes()))
    assert not are_small([plain, FileSource("default", str(packed))])
    descriptor = os.open(packed, os.O_RDONLY)
    try:
        assert not are_small([FileSource("default", "whatever", opened=descriptor)])
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
    finally:
        os.close(descriptor)
