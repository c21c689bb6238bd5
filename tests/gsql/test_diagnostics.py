# SPDX-License-Identifier: Apache-2.0
"""Messages: what they look like, what they suggest, how many are kept."""

from __future__ import annotations

import pytest

from gigastream.gsql.diagnostics import (
    MAX_ERRORS,
    Diagnostic,
    DiagnosticSink,
    GsqlError,
    closest,
    edit_distance,
    printable,
)
from gigastream.gsql.source import SourceFile, Span, decode
from gigastream.gsql.syntax.parser import parse_queries


def rendered(text: str, start: int, end: int) -> str:
    sink = DiagnosticSink()
    sink.error("code", "what", Span(SourceFile("f.gsql", text), start, end))
    return sink.render()


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        ("abc", 1, 2, "f.gsql:1:2: error: what\n    abc\n     ^"),
        ("abc", 0, 3, "f.gsql:1:1: error: what\n    abc\n    ^~~"),
        ("abc\ndef", 4, 5, "f.gsql:2:1: error: what\n    def\n    ^"),
        ("abc\r\ndef\r\n", 1, 3, "f.gsql:1:2: error: what\n    abc\n     ^~"),
        ("\tx = 1", 1, 2, "f.gsql:1:2: error: what\n    \tx = 1\n    \t^"),
        ("日本 x", 3, 4, "f.gsql:1:4: error: what\n    日本 x\n         ^"),
        ("e\u0301 x", 3, 4, "f.gsql:1:4: error: what\n    e\u0301 x\n      ^"),
        ("ab\ncd", 1, 5, "f.gsql:1:2: error: what\n    ab\n     ^"),
        ("a\x1b[31mb", 0, 1, "f.gsql:1:1: error: what\n    a\ufffd[31mb\n    ^"),
        ("", 0, 0, "f.gsql:1:1: error: what"),
        ("a", 9, 12, "f.gsql:1:2: error: what\n    a\n     ^"),
    ],
)
def test_rendering(text: str, start: int, end: int, expected: str) -> None:
    assert rendered(text, start, end) == expected


def test_a_long_line_is_cut_around_the_caret() -> None:
    rows = rendered("a " * 5000 + "here" + " b" * 5000, 10000, 10004).splitlines()
    assert rows[0] == "f.gsql:1:10001: error: what"
    assert len(rows[1]) < 130
    caret = rows[2].index("^")
    assert rows[1][caret : caret + 4] == "here"
    assert rows[2][caret:] == "^~~~"


def test_what_a_message_quotes_is_one_line_without_control_characters() -> None:
    sink = DiagnosticSink()
    query = "SELECT (x = '\x1b[31m'\n OR y)::int FROM IPV4"
    parse_queries(query, "a.gsql", sink)
    assert "hint: CAST((x = '\ufffd[31m'  OR y) AS int)" in sink.render()
    span = Span(SourceFile("a.gsql", query), 0, 6)
    told = Diagnostic("error", "no-order", "\x1b[31m of\nrows", span).render()
    assert told.startswith("a.gsql:1:1: error: \ufffd[31m of rows\n")


def test_messages_come_in_the_order_of_their_places() -> None:
    one, two = SourceFile("one", "abc"), SourceFile("two", "abc")
    sink = DiagnosticSink()
    for file, at in ((two, 2), (one, 1), (two, 0), (one, 0)):
        sink.error("code", f"at {at}", Span(file, at, at + 1))
    places = [(m.span.file.name, m.span.start) for m in sink.diagnostics]
    assert places == [("two", 0), ("two", 2), ("one", 0), ("one", 1)]


def test_a_place_gets_one_message_of_a_code() -> None:
    file = SourceFile("f", "abc")
    sink = DiagnosticSink()
    for code in ("a", "a", "b"):
        sink.error(code, "what", Span(file, 0, 1))
    assert [message.code for message in sink.diagnostics] == ["a", "b"]


def test_too_many_errors_are_counted_and_warnings_do_not_crowd_them_out() -> None:
    file = SourceFile("f", "x" * 1000)
    sink = DiagnosticSink()
    for at in range(MAX_ERRORS + 5):
        sink.warning("w", "what", Span(file, at, at + 1))
    assert not sink.is_full
    for at in range(MAX_ERRORS + 5):
        sink.error("e", "what", Span(file, at, at + 1))
    assert sink.is_full
    assert sink.error_count == MAX_ERRORS
    assert sink.suppressed == 10
    assert sink.render().endswith("\n10 further messages are not shown")


def test_raising_carries_all_messages_and_warnings_alone_do_not_raise() -> None:
    file = SourceFile("f.gsql", "abc")
    sink = DiagnosticSink()
    sink.warning("w", "odd", Span(file, 0, 1), "mend it")
    sink.raise_if_errors()
    sink.error("e", "wrong", Span(file, 1, 2))
    with pytest.raises(GsqlError, match="wrong") as caught:
        sink.raise_if_errors()
    assert [message.severity for message in caught.value.diagnostics] == ["warning", "error"]
    assert "f.gsql:1:1: warning: odd" in str(caught.value)


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("flow", "flow", 0),
        ("flwo", "flow", 1),
        ("sclae", "scale", 1),
        ("aggregat_slot", "aggregate_slots", 2),
        ("abc", "xyz", 3),
        ("a", "abcdef", 3),
    ],
)
def test_edit_distance(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right, 2) == distance
    assert edit_distance(right, left, 2) == distance


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("srcip", "srcIP"),
        ("scrIP", "srcIP"),
        ("DSC", "DESC"),
        ("ts", None),
        ("flags_and_more", None),
        ("", None),
    ],
)
def test_closest(name: str, found: str | None) -> None:
    assert closest(name, ("srcIP", "destIP", "id", "ASC", "DESC", "flags")) == found


def test_printable_cuts_and_cleans() -> None:
    assert printable("a\nb") == "a\ufffdb"
    assert printable("x" * 100, 10) == "xxxxx…xxxxx"


def test_decode() -> None:
    assert decode(b"\xef\xbb\xbfSELECT") == "SELECT"
    # As code points: a lone surrogate in a report of pytest's would not get out of its process.
    assert [ord(character) for character in decode(b"a\xff")] == [ord("a"), 0xDCFF]
