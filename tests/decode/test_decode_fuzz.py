# SPDX-License-Identifier: Apache-2.0
"""Mutants of every case, each in a buffer of exactly its size, under ASan and UBSan.

No byte beyond the captured ones is read, and the set inclusions of the protocols hold whatever the
bytes are.
"""

import os
import subprocess
from pathlib import Path

from tests.decode.harness import HERE, read_cases

SECONDS = os.environ.get("GIGASTREAM_FUZZ_SECONDS", "3")


def test_mutants(driver: Path) -> None:
    files = sorted((HERE / "cases").glob("*.txt"))
    corpus = "".join(case.frame.line() for path in files for case in read_cases(path))
    command = [str(driver), "fuzz", SECONDS]
    done = subprocess.run(command, input=corpus, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000
