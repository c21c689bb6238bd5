# SPDX-License-Identifier: Apache-2.0
"""What golden files do not show: places, names, literals' values, what is kept when broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.parser import default_name, parse_expression, parse_queries

GOOD = [
    path
    for path in sorted((Path(__file__).parent / "parse").rglob("*.gsql"))
    if path.parent.name != "definitions"
]
CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.gsql"))


def parsed(text: str, file: str = "t.gsql") -> list[ast.Query]:
    sink = DiagnosticSink()
    queries = parse_queries(text, file, sink)
    sink.raise_if_errors()
    return queries


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_place_of_an_operand_holds_its_text(path: Path) -> None:
    kinds = (ast.Name, ast.Literal, ast.Call, ast.PredicateCall, ast.Parameter, ast.CastExpression)
    for query in parsed(path.read_text(), path.name):
        for node in ast.walk(query):
            if isinstance(node, kinds):
                assert parse_expression(node.span.text, "span", DiagnosticSink()) == node


def test_extract_as_sql_writes_it() -> None:
    written, meant = (
        parse_expression(f"extract({inside})", "test", DiagnosticSink())
        for inside in ("hour FROM a + 1", "'hour', a + 1")
    )
    assert written == meant


def test_places_of_names() -> None:
    text = "SELECT f(a) FROM eth0.TCP AS t, [s].lib/q x, A UNION B AS u WHERE p[a] OR count (*) > 1"
    body = parsed(text)[0].body
    assert isinstance(body, ast.SelectStatement)
    tcp, library, union = body.sources
    assert isinstance(tcp, ast.Table)
    assert (tcp.span.text, tcp.name_span.text) == ("eth0.TCP AS t", "TCP")
    assert (tcp.interface_span.text, tcp.alias_span.text) == ("eth0", "t")
    assert isinstance(library, ast.Table)
    assert (library.name_span.text, library.interface_span.text) == ("lib/q", "s")
    assert isinstance(union, ast.UnionItem)
    assert (union.span.text, union.alias_span.text) == ("A UNION B AS u", "u")
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call | ast.PredicateCall)]
    assert [call.name_span.text for call in calls] == ["f", "p", "count"]
    assert body.where is not None
    assert body.where.span.text == "p[a] OR count (*) > 1"


def test_equality_ignores_places() -> None:
    assert parsed("SELECT a FROM b") == parsed("select  a\nfrom -- x\n b ;")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("flows.gsql", "flows"),
        ("a/b/top-talkers.v2.gsql", "top_talkers_v2"),
        ("<command line>", "command_line"),
        ("9lives.gsql", "q_9lives"),
        (".gsql", "gsql"),
        ("日本.gsql", "query"),
        ("", "query"),
    ],
)
def test_default_name(file: str, name: str) -> None:
    assert default_name(file) == name
    assert parsed("SELECT a FROM b", file)[0].name == name


def test_the_option_names_the_query_in_any_case() -> None:
    query = parsed("define { QUERY_NAME 'flows'; Flush lazy; } select a from b")[0]
    assert query.name == "flows"
    flush = query.option("flush")
    assert flush is not None
    assert (flush.value, flush.value_span.text) == ("lazy", "lazy")
    assert query.option("title") is None


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("35", "int", 35),
        ("35UL", "uint", 35),
        ("35ULL", "ullong", 35),
        ("HEX'7fff'", "hex", 0x7FFF),
        ("lhex 'FFFFFFFFFFFFFFFF'", "lhex", 2**64 - 1),
        ("1e3", "float", 1000.0),
        (".5", "float", 0.5),
        ("'it''s'", "string", "it's"),
        ("''''", "string", "'"),
        ("IP_VAL'1.2.3.4'", "ip", 0x01020304),
        ("IPV6_VAL'::1'", "ipv6", 1),
        ("IP_VAL'10.0.0.0/8'", "ip_prefix", (10 << 24, 8)),
        ("IPV6_VAL'2001:db8::/32'", "ipv6_prefix", (0x20010DB8 << 96, 32)),
        ("TRUE", "bool", True),
        ("null", "null", None),
    ],
)
def test_literal_values(text: str, kind: str, value: object) -> None:
    literal = parse_expression(text, "t", DiagnosticSink())
    assert isinstance(literal, ast.Literal)
    assert (literal.kind, literal.value) == (kind, value)
    assert type(literal.value) is type(value)


def test_what_can_be_read_of_a_broken_query_is_kept_on_demand() -> None:
    text = "SELECT a, b +, c FROM TCP WHERE x = AND y = 1 GROUP BY, HAVING p;;SELECT d FROM e"
    assert parse_queries(text, "t.gsql", DiagnosticSink()) == []
    sink = DiagnosticSink()
    first, second = parse_queries(text, "t.gsql", sink, keep_broken=True)
    body = first.body
    assert isinstance(body, ast.SelectStatement)
    kinds = [type(item.expression) for item in body.items]
    assert kinds == [ast.Name, ast.Broken, ast.Name]
    assert body.sources == (ast.Table("TCP"),)
    assert body.group_by == (ast.GroupItem(ast.Broken()),)
    assert body.having == ast.Name((), "p")
    assert second.name == ""


def test_good_queries_beside_a_broken_one_are_given() -> None:
    sink = DiagnosticSink()
    text = "SELECT a FROM b; DEFINE { query_name bad; } SELECT FROM; "
    text += "DEFINE { query_name c; } SELECT d FROM e"
    assert [query.name for query in parse_queries(text, "a.gsql", sink)] == ["a", "c"]
    assert sink.error_count == 2


def test_definitions_add_up() -> None:
    one = parse_definitions("PROTOCOL a { }", "one.gsql", DiagnosticSink())
    two = parse_definitions("PROTOCOL b { } s : f[x];", "two.gsql", DiagnosticSink())
    both = one + two
    assert [protocol.name for protocol in both.protocols] == ["a", "b"]
    assert [interface_set.name for interface_set in both.interface_sets] == ["s"]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_the_definitions_that_are_shipped_parse(path: Path) -> None:
    sink = DiagnosticSink()
    definitions = parse_definitions(path.read_text(), path.name, sink)
    assert not sink.diagnostics, sink.render()
    declared = (definitions.protocols, definitions.functions, definitions.aggregates)
    assert any((*declared, definitions.streams))
