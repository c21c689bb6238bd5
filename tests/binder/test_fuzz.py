# SPDX-License-Identifier: Apache-2.0
"""Queries with words lost, doubled and exchanged: messages, never a traceback, never for ever."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from binder.cases import HERE
from binder.catalogs import shipped
from hypothesis import given, settings
from hypothesis import strategies as st

from gigastream.gsql.binder.binder import check
from gigastream.gsql.catalog.build import DefinitionFile, build_catalog
from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink, GsqlError
from gigastream.gsql.source import SourceFile

TEXTS = [path.read_text() for path in sorted(HERE.glob("[eg]*/*.gsql"))]
QUERIES = [query for text in TEXTS for query in text.split(";") if "SELECT" in query]
_TOKEN = re.compile(r"'[^']*'|\w+|[^\w\s]")
WORDS = sorted({word for query in QUERIES for word in _TOKEN.findall(query)})


@st.composite
def mutilated(draw: st.DrawFn) -> str:
    words = _TOKEN.findall(draw(st.sampled_from(QUERIES)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words)))
        until = at + draw(st.integers(0, 2))
        words[at:until] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    return " ".join(words)


@pytest.mark.long
@settings(max_examples=600)
@given(st.lists(mutilated(), min_size=1, max_size=3))
def test_whatever_is_asked_is_answered_or_refused(queries: list[str]) -> None:
    text = ";\n".join(queries)
    sink = DiagnosticSink()
    width = {"width": "5"}
    with suppress(GsqlError):
        check([(text, "fuzz")], catalog=shipped(), parameters=width, interfaces=["e"], sink=sink)
    for item in sink.diagnostics:
        assert isinstance(item.span.file, SourceFile)
        assert 0 <= item.span.start <= item.span.end <= len(item.span.file.text)
        assert "None" not in f"{item.message} {item.hint or ''}"


DEFINITIONS = [path.read_text() for path in sorted((HERE / "definitions").glob("*.gsql"))]


@settings(max_examples=200)
@given(st.sampled_from(DEFINITIONS), st.data())
def test_whatever_is_defined_is_read_or_refused(text: str, data: st.DataObject) -> None:
    words = _TOKEN.findall(text)
    at = data.draw(st.integers(0, len(words) - 1))
    words[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(words)))
    sink = DiagnosticSink()
    definitions = parse_definitions(" ".join(words), "fuzz", sink)
    build_catalog([DefinitionFile(definitions, False, "fuzz.h")], sink)


@pytest.mark.parametrize("depth", [10, 60, 140])
def test_deep_expressions_are_checked(depth: int) -> None:
    text = "SELECT " + " + ".join(["time"] * depth) + " AS x FROM PKT"
    found = check([(text, "deep")], catalog=shipped())
    assert found[0].schema.columns[0].temporal.value == "increasing"
