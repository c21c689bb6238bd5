# SPDX-License-Identifier: Apache-2.0
"""The figures, over a program whose lines are known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.coverage.lines import counted, engine_file, table, unseen

PROGRAM = """\
int main(int count, char **words)
{
    (void)words;
    if (count > 1)
        return 0;
    int twice = 2 * count;
    return twice - 2;
}
"""


@pytest.mark.skipif(not shutil.which("gcov"), reason="gcov is not installed")
def test_lines_are_added_over_the_runs_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "csrc" / "base").mkdir(parents=True)
    (tmp_path / "csrc" / "base" / "main.c").write_text(PROGRAM)
    command = ["gcc", "--coverage", "-O0", "csrc/base/main.c", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "program-main.gcda").touch()
    assert table(counted([tmp_path])).splitlines()[-1] == "      0      5    0.0  all"
    subprocess.run([tmp_path / "program"], check=True)
    lines = counted([tmp_path])
    assert unseen(lines) == "csrc/base/main.c:5"
    assert "      4      5   80.0    main.c" in table(lines).splitlines()
    subprocess.run([tmp_path / "program", "word"], check=True)
    lines = counted([tmp_path])
    assert unseen(lines) == ""
    assert table(lines).splitlines()[-1] == "      5      5  100.0  all"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("csrc/capture/ring.c", "capture/ring.c"),
        ("/home/me/gigastream/csrc/abi/gs_lpm.h", "abi/gs_lpm.h"),
        ("csrc/runtime/../capture/ring.h", "capture/ring.h"),
        ("include0/gs_lpm.h", "abi/gs_lpm.h"),
        ("include1/own.h", None),
        ("/usr/include/stdio.h", None),
    ],
)
def test_only_the_engines_files_count(path: str, name: str | None) -> None:
    assert engine_file(path) == name
