# SPDX-License-Identifier: Apache-2.0
"""Mutants of every case, each in a buffer of exactly its size, under ASan and UBSan.

No byte beyond the captured ones is read, and the set inclusions of the protocols hold whatever the
bytes are.
"""

import os
import subprocess
from pathlib import Path

from tests.decode.harness import HERE, Frame, read_cases
from tests.strategies.fragments import honest, hostile
from tests.strategies.segments import everything

MOST_BYTES = 2000
"""Of a fragment of the corpus: long ones would be cut."""
SECONDS = os.environ.get("GIGASTREAM_FUZZ_SECONDS", "3")


def test_mutants(driver: Path) -> None:
    files = sorted((HERE / "cases").glob("*.txt"))
    corpus = "".join(case.frame.line() for path in files for case in read_cases(path))
    pieces = [frame for each in (honest() | hostile()).values() for frame in each]
    pieces += [packet.data for packet in everything(3, 0)]
    corpus += "".join(Frame(1, frame).line() for frame in pieces if len(frame) < MOST_BYTES)
    command = [str(driver), "fuzz", SECONDS]
    done = subprocess.run(command, input=corpus, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    frames, datagrams, held = map(int, done.stdout.split())
    assert frames > 1000
    assert datagrams > 0
    assert held > 0
