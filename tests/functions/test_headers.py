# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from gigastream.codegen.function_headers import FUNCTION_HEADERS, header_of
from tests.functions.declarations import ROOT, declarations


def test_every_declared_function_is_in_the_header_that_is_said() -> None:
    for declaration in declarations():
        assert header_of(declaration.name) == declaration.header, declaration.name


def test_no_header_is_given_for_an_unknown_function() -> None:
    assert set(FUNCTION_HEADERS) <= {d.name.lower() for d in declarations()}


def test_every_declaration_is_read() -> None:
    text = (ROOT / "configs" / "functions.gsql").read_text()
    statements = [line for line in text.splitlines() if line and not line.startswith("--")]
    assert len(declarations()) == len(statements)
