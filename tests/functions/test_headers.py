# SPDX-License-Identifier: Apache-2.0
"""The definition file says which header of csrc/abi holds a function."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.functions.declarations import ROOT, declarations

HEADERS = sorted({declaration.header for declaration in declarations()})


@pytest.mark.parametrize("header", HEADERS)
def test_every_declared_function_is_in_the_header_that_is_said(header: str, tmp_path: Path) -> None:
    symbols = [each.symbol for each in declarations() if each.header == header]
    lines = [f'#include "{header}"', *(f"void *use_{name} = (void *){name};" for name in symbols)]
    source = tmp_path / "uses.c"
    source.write_text("\n".join(lines) + "\n")
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-I", ROOT / "csrc" / "abi"]
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_declaration_is_read() -> None:
    text = (ROOT / "configs" / "functions.gsql").read_text()
    statements = [line for line in text.splitlines() if line and not line.startswith("--")]
    assert len(declarations()) == len(statements)
