# SPDX-License-Identifier: Apache-2.0
"""Workers that begin on either side of midnight collect the same tests."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest

from tests.captures import ROOT
from tests.day import day_of_run


def test_a_process_has_the_day_of_the_one_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIGASTREAM_TEST_DAY")
    first, found, last = date.today(), day_of_run(), date.today()
    assert first.toordinal() <= found <= last.toordinal()
    monkeypatch.setenv("GIGASTREAM_TEST_DAY", str(found - 1))
    program = "from tests.day import day_of_run; print(day_of_run())"
    said = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT)
    assert int(said) == found - 1
