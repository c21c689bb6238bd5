# SPDX-License-Identifier: Apache-2.0
"""Drivers of csrc/hfta/windows.c, and of operators, as programs, with sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.captures import ROOT

CSRC = ROOT / "csrc"
PARTS = ("hfta/windows.c", "base/*.c", "stream/punctuation.c", "stream/window.c")
OPERATORS = ("hfta/*.c", "base/*.c", "stream/*.c", "arrow/*.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def build(source: str, folder: Path, parts: Sequence[str] = PARTS) -> Path:
    """Compile the driver of that name, which stands beside this file."""
    program = folder / "driver"
    files = [Path(__file__).with_name(source), *(f for part in parts for f in CSRC.glob(part))]
    options = [*FLAGS, *SANITIZERS, f"-I{CSRC}", f"-I{CSRC / 'abi'}", "-o", str(program)]
    subprocess.run(["gcc", *options, *map(str, files)], check=True)
    return program
