# SPDX-License-Identifier: Apache-2.0
"""Whatever the text: no exception, messages within it, and no tree where there is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import MAX_ERRORS, DiagnosticSink
from gigastream.gsql.source import MAX_CHARACTERS, decode
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.parser import parse_expression, parse_queries
from gigastream.gsql.syntax.printer import print_definitions, print_queries

FOLDER = Path(__file__).parent / "parse"
QUERIES = [path.read_text() for path in sorted(FOLDER.rglob("*.gsql"))]
PIECES = (
    *("(", ")", "[", "]", "{", "}", ";", ",", ".", "'", '"', "$", "#", "@", "*", "-", "--", "/*"),
    *("SELECT ", "FROM ", " WHERE ", " AS ", " NOT ", " IN ", " CASE ", " END ", " UNION ", "\0"),
    *(
        " JOIN ",
        " GROUP BY ",
        "DEFINE {",
        "PARAM {",
        "PROTOCOL p {",
        "[RANGE 5 min",
        "\ufffd",
        "日",
    ),
)
RELAXED = settings(max_examples=400)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A good query with pieces cut out, put in, doubled or swapped."""
    text = draw(st.sampled_from(QUERIES))
    for _ in range(draw(st.integers(1, 4))):
        first, last = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        middle = text[first:last]
        other = draw(st.sampled_from(("", draw(st.sampled_from(PIECES)), middle * 2, middle[::-1])))
        text = text[:first] + other + text[last if len(other) < 20 else first :]
    return text


def check(text: str) -> None:
    """Parse a text in every way and hold the promises of the interface."""
    sink = DiagnosticSink()
    queries = parse_queries(text, "fuzz.gsql", sink)
    _check_messages(text, sink)
    if not sink.has_errors:
        printed = print_queries(queries)
        assert print_queries(parse_queries(printed, "fuzz.gsql", DiagnosticSink())) == printed
    for query in parse_queries(text, "fuzz.gsql", DiagnosticSink(), keep_broken=True):
        print_queries([query])
        assert all(isinstance(node, ast.SyntaxNode) for node in ast.walk(query))
    sink = DiagnosticSink()
    print_definitions(parse_definitions(text, "fuzz.def", sink))
    _check_messages(text, sink)
    sink = DiagnosticSink()
    assert (parse_expression(text, "-e", sink) is None) == sink.has_errors
    _check_messages(text, sink)


def _check_messages(text: str, sink: DiagnosticSink) -> None:
    for message in sink.diagnostics:
        assert 0 <= message.span.start <= message.span.end <= len(text)
        assert message.span.line <= text.count("\n") + 1
        assert message.message
    assert all(ord(c) >= 32 or c in "\n\t" for c in sink.render())


@RELAXED
@given(mutated())
def test_mutated_queries(text: str) -> None:
    check(text)


@RELAXED
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check(text)


@RELAXED
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    check(decode(data))


@RELAXED
@given(st.lists(st.sampled_from((*PIECES, "a ", "5 ", "= ", "count(")), max_size=60))
def test_any_tokens(pieces: list[str]) -> None:
    check("".join(pieces))


REPEATED = ("(", "f(", "f[", "-", "NOT ", "CASE WHEN ", "a,", "a+", "a AND ", ";", "'", "/*", "‘")
LEADS = ("", "SELECT ", "SELECT a FROM ", "SELECT a FROM t WHERE ", "DEFINE {", "PROTOCOL p {")


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("piece", REPEATED)
def test_repetition_ends_in_messages(lead: str, piece: str) -> None:
    check(lead + piece * 3000)


@pytest.mark.parametrize("parse", [parse_queries, parse_definitions, parse_expression])
def test_ten_megabytes_are_refused_as_too_long(
    parse: Callable[[str, str, DiagnosticSink], object],
) -> None:
    sink = DiagnosticSink()
    text = "SELECT é \0 " * 1_000_000
    parse(text, "large.gsql", sink)
    assert [message.code for message in sink.diagnostics] == ["too-long"]


def test_garbage_of_the_greatest_size_stops_at_the_greatest_number_of_errors() -> None:
    sink = DiagnosticSink()
    parse_queries("§ " * (MAX_CHARACTERS // 2), "garbage.gsql", sink)
    assert len(sink.diagnostics) == MAX_ERRORS
