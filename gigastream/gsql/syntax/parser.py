# SPDX-License-Identifier: Apache-2.0
"""GSQL text to trees (GSQL.md §1).

All independent errors of a text are reported in one run: a failure is caught at the next item of
a list, at the closing bracket, at the next clause, or at the next `;`, whichever comes first.
"""

from __future__ import annotations

from gigastream.gsql.diagnostics import DiagnosticSink, printable
from gigastream.gsql.other_sql import STATEMENTS
from gigastream.gsql.source import MAX_CHARACTERS, UNDECODED, SourceFile, Span
from gigastream.gsql.syntax.ast import (
    DefineEntry,
    MergeStatement,
    Query,
    SelectStatement,
    SyntaxExpression,
    SyntaxNode,
    children,
)
from gigastream.gsql.syntax.blocks import at_block, parse_blocks
from gigastream.gsql.syntax.cursor import MAX_DEPTH, Cursor, ParseError
from gigastream.gsql.syntax.expressions import parse_expression as _parse_expression
from gigastream.gsql.syntax.select import parse_merge, parse_select
from gigastream.gsql.syntax.with_clause import at_with, parse_with


def parse_queries(
    text: str, file: str, sink: DiagnosticSink, *, keep_broken: bool = False
) -> list[Query]:
    """Read a query file; `file` names it in messages and is the name of its first query.

    Errors and warnings go to the sink, nothing is raised. Queries with syntax errors are left
    out, unless `keep_broken` asks for what could be read of them: then `Broken` stands where
    something is missing, and an empty tuple where a whole list is.
    """
    cursor = open_text(text, file, sink)
    if cursor is None:
        return []
    queries: list[Query] = []
    first = True
    while _more(cursor):
        errors = sink.error_count
        query = _query(cursor, default_name(file) if first else None)
        first = False
        if query is not None and (keep_broken or sink.error_count == errors):
            queries.append(query)
    if first and not sink.has_errors:
        span = cursor.span_of(cursor.token)
        sink.error("no-query", "there is no query here", span, "SELECT * FROM IPV4")
    return queries


def parse_expression(text: str, file: str, sink: DiagnosticSink) -> SyntaxExpression | None:
    """Read a single expression; return None after an error, which went to the sink."""
    errors = sink.error_count
    cursor = open_text(text, file, sink)
    if cursor is None:
        return None
    try:
        expression = _parse_expression(cursor)
        cursor.expect("end", "an operator or the end of the text")
    except ParseError:
        return None
    shallow = demand_shallow(cursor, expression)
    return expression if shallow and sink.error_count == errors else None


def open_text(text: str, file: str, sink: DiagnosticSink) -> Cursor | None:
    """Return a cursor at the first token; None, after an error, for a text that is too long."""
    source = SourceFile(file, UNDECODED.sub(lambda found: "\ufffd" * len(found[0]), text))
    if len(text) <= MAX_CHARACTERS:
        for found in UNDECODED.finditer(text):
            what = "a byte that is" if len(found[0]) == 1 else "bytes that are"
            span = Span(source, found.start(), found.end())
            sink.error("bad-character", f"{what} not UTF-8", span, "save the text as UTF-8")
        return Cursor(source, sink)
    hint = "a long list of values belongs in a file that is joined"
    message = f"the text has more than {MAX_CHARACTERS} characters"
    sink.error("too-long", message, Span(source, 0, 0), hint)
    return None


def default_name(file: str) -> str:
    """Return the name of a file's first query: the base name, made a word."""
    base = file.replace("\\", "/").rsplit("/", 1)[-1]
    stem = base.rsplit(".", 1)[0] if "." in base[1:] else base
    letters = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in stem)
    word = letters.strip("_") or "query"
    return f"q_{word}" if word[0].isdigit() else word


def demand_shallow(cursor: Cursor, root: SyntaxNode) -> bool:
    """Report a tree that is too deep; return False for it."""
    if cursor.at < MAX_DEPTH:
        return True
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            cursor.too_deep(node.span)
            return False
        stack.extend((child, depth + 1) for child in children(node))
    return True


# One query


def _more(cursor: Cursor) -> bool:
    while cursor.accept(";"):
        pass
    return cursor.token.kind != "end" and not cursor.sink.is_full


def _query(cursor: Cursor, name: str | None) -> Query | None:
    """Read up to and with the `;`, whatever is there; return None if there is no body."""
    mark = cursor.mark()
    # a ';' that is missing has been told of: it may have been meant as a part of the one before
    is_apart = cursor.at == 0 or cursor.is_behind(";")
    parameters, defines = parse_blocks(cursor)
    try:
        tables = parse_with(cursor, _body)
        body_mark = cursor.mark()
        body = _body(cursor)
    except ParseError:
        cursor.skip_to(())
        return None
    span = cursor.since(mark)
    _end_query(cursor)
    place = Span(cursor.source, body_mark, body_mark + 6)
    named, name_span = _named(cursor, defines, name if is_apart else "", place)
    query = Query(named, body, parameters, defines, name_span, tables, span=span)
    return query if demand_shallow(cursor, query) else None


def _body(cursor: Cursor) -> SelectStatement | MergeStatement:
    if cursor.token.kind == "SELECT":
        return parse_select(cursor)
    if cursor.is_word("MERGE"):
        return parse_merge(cursor)
    if cursor.token.kind == "(" and cursor.peek().kind == "SELECT":
        raise cursor.unexpected("SELECT or MERGE", "a query stands without parentheses")
    known = STATEMENTS.get(cursor.token.text.upper())
    meant = None if known else cursor.misspelt(("SELECT", "MERGE", "DEFINE", "PARAM", "WITH"))
    hint = f"did you mean {meant}?" if meant else known
    failure = cursor.unexpected("SELECT, MERGE, WITH, DEFINE or PARAM", hint)
    if meant == "SELECT":
        return parse_select(cursor)
    if meant == "MERGE":
        return parse_merge(cursor)
    raise failure


def _end_query(cursor: Cursor) -> None:
    """A query ends with `;` or the text; a new one that begins without it is read all the same."""
    if cursor.token.kind in (";", "end"):
        return
    begins = cursor.token.kind == "SELECT" or at_block(cursor) or at_with(cursor)
    begins |= cursor.is_word("MERGE")
    cursor.unexpected("';'", "queries are separated by ';'" if begins else None)
    if not begins:
        cursor.skip_to(())


def _named(
    cursor: Cursor, defines: tuple[DefineEntry, ...], default: str | None, place: Span
) -> tuple[str, Span]:
    entry = next((item for item in defines if item.name.lower() == "query_name"), None)
    if entry is None:
        if default is None:
            hint = "DEFINE { query_name flows; } before it; only a file's first needs none"
            cursor.error("missing-name", "this query has no name", place, hint)
        return default or "", place
    if not (entry.value.isascii() and entry.value.isidentifier()):
        message = f"'{printable(entry.value)}' cannot be the name of a query"
        hint = "letters, digits and _, with a letter first"
        cursor.error("bad-name", message, entry.value_span, hint)
    return entry.value, entry.value_span
