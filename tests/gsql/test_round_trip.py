# SPDX-License-Identifier: Apache-2.0
"""Any tree, printed and parsed, is itself again."""

from __future__ import annotations

import pytest
from gsql.trees import expressions, queries
from hypothesis import given, settings

from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.parser import parse_expression, parse_queries
from gigastream.gsql.syntax.printer import print_expression, print_queries

RELAXED = settings(max_examples=150)


@RELAXED
@given(expressions)
def test_expression(tree: ast.SyntaxExpression) -> None:
    text = print_expression(tree)
    sink = DiagnosticSink()
    again = parse_expression(text, "printed", sink)
    assert not sink.has_errors, f"{text}\n{sink.render()}"
    assert again == tree, text
    assert print_expression(again) == text


@pytest.mark.long
@RELAXED
@given(queries())
def test_query(tree: ast.Query) -> None:
    text = print_queries([tree])
    sink = DiagnosticSink()
    again = parse_queries(text, "printed", sink)
    assert not sink.has_errors, f"{text}\n{sink.render()}"
    assert again == [tree], text
    assert print_queries(again) == text
