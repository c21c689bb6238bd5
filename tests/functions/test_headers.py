# SPDX-License-Identifier: Apache-2.0
"""The definition file says which header of csrc/abi holds a function."""

from __future__ import annotations

import pytest

from tests.functions.declarations import ROOT, Declaration, declarations


@pytest.mark.parametrize("declaration", declarations(), ids=lambda each: each.symbol)
def test_every_declared_function_is_in_the_header_that_is_said(declaration: Declaration) -> None:
    assert f" {declaration.symbol}(" in (ROOT / "csrc" / "abi" / declaration.header).read_text()


def test_every_declaration_is_read() -> None:
    text = (ROOT / "configs" / "functions.gsql").read_text()
    statements = [line for line in text.splitlines() if line and not line.startswith("--")]
    assert len(declarations()) == len(statements)
