# SPDX-License-Identifier: Apache-2.0
"""Expressions (GSQL.md §4), by operator precedence."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.gsql.other_sql import TYPED_TEXTS
from gigastream.gsql.syntax.ast import (
    Between,
    Binary,
    Broken,
    Call,
    CaseExpression,
    CastExpression,
    Comparison,
    Define,
    InList,
    InPrefix,
    InterfaceProperty,
    IsNull,
    Literal,
    Logical,
    Name,
    Parameter,
    PatternTest,
    PredicateCall,
    SyntaxExpression,
    Unary,
    When,
)
from gigastream.gsql.syntax.cursor import CLAUSES, Cursor, ParseError
from gigastream.gsql.syntax.lexer import Token
from gigastream.gsql.syntax.literals import at_literal, parse_literal
from gigastream.gsql.syntax.sql_calls import cast_behind, typed_text, worded_call

SUBQUERY_HINT = "a query inside a query is written as a query of its own, read by its name"

# Binding powers, GSQL.md §4 from low to high; `^`, which its list leaves out, stands as in C.
OR, AND, NOT, COMPARISON, ADDITION, UNARY = 1, 2, 3, 4, 9, 11
POWERS = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "IN", "BETWEEN"), COMPARISON),
    "|": 5,
    "^": 6,
    "&": 7,
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys("+-", ADDITION),
    **dict.fromkeys("*/%", 10),
}


def parse_expression(cursor: Cursor, power: int = 0) -> SyntaxExpression:
    """Read an expression of operators that bind tighter than `power`."""
    cursor.enter()
    try:
        mark = cursor.mark()
        left = _operand(cursor, power)
        length = 0
        while (found := _power_here(cursor)) > power:
            left = _OPERATIONS[found](cursor, left, mark)
            length += 1
            cursor.refuse_chain(mark, length)
            if found == COMPARISON:
                _refuse_second_comparison(cursor)
        return left
    finally:
        cursor.leave()


def _power_here(cursor: Cursor) -> int:
    """Return the binding power of the operator at the current token, 0 if it is none."""
    token = cursor.token
    if token.kind in POWERS:
        return POWERS[token.kind]
    if token.kind == "NOT" and cursor.peek().kind in ("IN", "BETWEEN"):
        return COMPARISON
    if cursor.is_word("IS") and cursor.peek().kind in ("NULL", "NOT"):
        return 0 if cursor.peek(2).kind == "DISTINCT" else COMPARISON
    if _at_pattern_test(cursor):
        return COMPARISON
    return 0


def _at_pattern_test(cursor: Cursor) -> bool:
    """True at `LIKE`, `ILIKE`, `~`, and at what turns them round."""
    if cursor.token.kind == "~" or (cursor.token.kind == "!" and cursor.peek().kind == "~"):
        return True
    return cursor.is_word(*_LIKES, ahead=1 if cursor.token.kind == "NOT" else 0)


_LIKES = ("LIKE", "ILIKE")


# Operators with two operands


def _logical(cursor: Cursor, left: SyntaxExpression, mark: int) -> SyntaxExpression:
    op = cursor.token.kind
    operands = [*_flat(op, left)]
    joins_texts = False
    while (token := cursor.accept(op)) is not None:
        operands += _flat(op, parse_expression(cursor, POWERS[op]))
        joins_texts |= token.text == "||"
    if joins_texts and not any(isinstance(each, _CONDITIONS) for each in operands):
        return Broken(span=cursor.since(mark))
    return Logical(op, tuple(operands), span=cursor.since(mark))


_CONDITIONS = (Comparison, Logical, Unary, Between, InList, InPrefix, IsNull, PatternTest)
"""What can be meant by an operand of OR where `||` is written, and no text."""


def _flat(op: str, operand: SyntaxExpression) -> tuple[SyntaxExpression, ...]:
    if isinstance(operand, Logical) and operand.op == op:
        return operand.operands
    return (operand,)


def _arithmetic(cursor: Cursor, left: SyntaxExpression, mark: int) -> SyntaxExpression:
    op = cursor.advance().kind
    right = parse_expression(cursor, POWERS[op])
    return Binary(op, left, right, span=cursor.since(mark))


def _comparison(cursor: Cursor, left: SyntaxExpression, mark: int) -> SyntaxExpression:
    negated = cursor.accept("NOT") is not None or cursor.accept("!") is not None
    is_pattern_test = _at_pattern_test(cursor)
    token = cursor.advance()
    op = token.kind
    result: SyntaxExpression
    if is_pattern_test:
        result = _pattern_test(cursor, left, token.text.upper(), mark)
    elif op == "IN":
        result = _membership(cursor, left, mark)
    elif op == "BETWEEN":
        result = _between(cursor, left, mark)
    elif op == "name":
        negated = cursor.accept("NOT") is not None
        cursor.expect("NULL")
        result = IsNull(left, span=cursor.since(mark))
    else:
        right = parse_expression(cursor, COMPARISON)
        return Comparison(op, left, right, span=cursor.since(mark))
    return Unary("NOT", result, span=result.span) if negated else result


def _refuse_second_comparison(cursor: Cursor) -> None:
    if _power_here(cursor) == COMPARISON:
        span = cursor.span_of(cursor.token)
        message = "comparisons do not chain"
        raise cursor.error("syntax", message, span, "write a < b AND b < c, or use parentheses")


def _between(cursor: Cursor, operand: SyntaxExpression, mark: int) -> Between:
    low = parse_expression(cursor, COMPARISON)
    cursor.expect("AND", "AND and the upper end of BETWEEN")
    high = parse_expression(cursor, COMPARISON)
    return Between(operand, low, high, span=cursor.since(mark))


def _pattern_test(cursor: Cursor, operand: SyntaxExpression, op: str, mark: int) -> PatternTest:
    pattern = parse_expression(cursor, COMPARISON)
    escape = None
    if op in _LIKES and cursor.accept_word("ESCAPE"):
        escape = parse_expression(cursor, COMPARISON)
    return PatternTest(op, operand, pattern, escape, span=cursor.since(mark))


def _membership(cursor: Cursor, operand: SyntaxExpression, mark: int) -> SyntaxExpression:
    """Behind IN: a list in brackets (parentheses are taken too), or a prefix."""
    closing = {"[": "]", "(": ")"}.get(cursor.token.kind)
    if closing is not None:
        items = _listed(cursor, cursor.advance(), closing, _list_item)
        return InList(operand, items, span=cursor.since(mark))
    if not at_literal(cursor) and cursor.token.kind not in ("$", "#"):
        raise cursor.unexpected("a list in brackets or a prefix behind IN", _IN_HINT)
    prefix = _operand(cursor, UNARY)
    if isinstance(prefix, Literal) and not prefix.kind.endswith("_prefix"):
        raise cursor.error("syntax", "IN takes a list or a prefix", prefix.span, _IN_HINT)
    return InPrefix(operand, prefix, span=cursor.since(mark))


_IN_HINT = "x IN [1, 2, 3], or x IN IP_VAL'10.0.0.0/8'"


def _list_item(cursor: Cursor) -> SyntaxExpression:
    item = parse_expression(cursor)
    plain = item.operand if isinstance(item, Unary) and item.op == "-" else item
    if not isinstance(plain, Literal | Parameter | Define | Broken):
        message = "a list behind IN holds literals, parameters and defines only"
        hint = "compare with = and OR instead"
        cursor.error("syntax", message, item.span, hint)
    return item


_OPERATIONS: dict[int, Callable[[Cursor, SyntaxExpression, int], SyntaxExpression]] = {
    OR: _logical,
    AND: _logical,
    COMPARISON: _comparison,
    **dict.fromkeys(range(5, UNARY), _arithmetic),
}


# Operands


def _operand(cursor: Cursor, power: int) -> SyntaxExpression:
    kind = cursor.token.kind
    mark = cursor.mark()
    if kind == "NOT":
        return _not(cursor, power)
    read = parse_literal if at_literal(cursor) else _OPERANDS.get(kind)
    if read is None:
        raise _no_operand(cursor)
    operand = read(cursor)
    return cast_behind(cursor, operand, mark) if cursor.token.kind == ":" else operand


def _no_operand(cursor: Cursor) -> ParseError:
    hint = _NO_OPERAND_HINTS.get(cursor.token.kind)
    if cursor.token.kind == "=" and (cursor.is_behind("<<") or cursor.is_behind(">>")):
        hint = "x IN IP_VAL'10.0.0.0/8'"
    if cursor.token.kind == "*" and cursor.is_behind("*"):
        hint = "pow(x, y)"
    if cursor.is_behind(",") and cursor.token.kind in (*CLAUSES, ")", "]", ";", "end"):
        hint = "leave out the comma before it"
    return cursor.unexpected("an expression", hint)


_NO_OPERAND_HINTS = {
    "*": "* stands alone: SELECT *, count(*)",
    "SELECT": SUBQUERY_HINT,
    "[": "a list stands behind IN alone: x IN [1, 2]",
}


def _not(cursor: Cursor, power: int) -> SyntaxExpression:
    mark = cursor.mark()
    token = cursor.advance()
    if power >= COMPARISON:
        message = "NOT binds weaker than the operator before it"
        raise cursor.error("syntax", message, cursor.span_of(token), "write (NOT …)")
    return Unary("NOT", parse_expression(cursor, NOT), span=cursor.since(mark))


def _sign(cursor: Cursor) -> SyntaxExpression:
    mark = cursor.mark()
    op = cursor.advance().kind
    operand = parse_expression(cursor, UNARY)
    return operand if op == "+" else Unary(op, operand, span=cursor.since(mark))


def _parenthesised(cursor: Cursor) -> SyntaxExpression:
    opening = cursor.advance()
    if cursor.token.kind == "SELECT":
        return _subquery(cursor, opening, ")")
    try:
        inner = parse_expression(cursor)
        _close(cursor, opening, ")", "an operator or ")
        return inner
    except ParseError:
        return _resume(cursor, opening, ")", ",")


def _subquery(cursor: Cursor, opening: Token, closing: str) -> Broken:
    """Step over a query in brackets, whose clauses are not those of the query around it."""
    span = cursor.span_of(opening)
    cursor.error("syntax", "a query cannot stand inside an expression", span, SUBQUERY_HINT)
    cursor.skip_to({closing})
    cursor.accept(closing)
    return Broken(span=cursor.since(opening.start))


def _close(cursor: Cursor, opening: Token, closing: str, otherwise: str = "") -> None:
    if cursor.accept(closing):
        return
    line, column = cursor.source.position(opening.start)
    hint = "rows are in the order of time there already"
    if cursor.token.kind != "ORDER":
        hint = f"the {opening.text} that it closes stands at {line}:{column}"
    raise cursor.unexpected(f"{otherwise}'{closing}'", hint)


def _resume(cursor: Cursor, opening: Token, closing: str, *stops: str) -> Broken:
    """After a failure in brackets: go on behind them, or give the enclosing list its turn."""
    is_order = cursor.token.kind == "ORDER" and cursor.closing_bracket() is not None
    cursor.skip_to({closing, *stops}, hard=() if is_order else CLAUSES)
    if cursor.accept(closing) is None:
        raise ParseError
    return Broken(span=cursor.since(opening.start))


def _listed(
    cursor: Cursor, opening: Token, closing: str, read: Callable[[Cursor], SyntaxExpression]
) -> tuple[SyntaxExpression, ...]:
    """Read a list and its closing bracket; the opening one has been read."""
    if cursor.token.kind == "SELECT":
        return (_subquery(cursor, opening, closing),)
    try:
        items = cursor.separated(lambda: read(cursor))
        _close(cursor, opening, closing, "',' or ")
        return items
    except ParseError:
        return (_resume(cursor, opening, closing),)


def _arguments(cursor: Cursor, opening: Token, closing: str) -> tuple[SyntaxExpression, ...]:
    if cursor.accept(closing):
        return ()
    return _listed(cursor, opening, closing, parse_expression)


def _parameter(cursor: Cursor) -> Parameter:
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of a parameter behind $").text
    return Parameter(name, span=cursor.since(mark))


def _define(cursor: Cursor) -> Define:
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of a DEFINE constant behind #").text
    return Define(name, span=cursor.since(mark))


def _property(cursor: Cursor, source: str | None = None) -> InterfaceProperty:
    mark = cursor.mark()
    cursor.advance()
    name = cursor.name("the name of an interface property behind @").text
    return InterfaceProperty(name, source, span=cursor.since(mark))


# Names and what begins with one


def _named(cursor: Cursor) -> SyntaxExpression:
    following = cursor.peek().kind
    if following in ("string", "number") and cursor.is_word(*TYPED_TEXTS):
        return typed_text(cursor)
    if following == "(" and cursor.is_word("CAST"):
        return _cast(cursor)
    if following == "(" or (following == "$" and cursor.peek(2).kind == "("):
        return _call(cursor)
    if following == "[" and not at_window(cursor, 1):
        return _predicate(cursor)
    return _column(cursor)


def at_window(cursor: Cursor, ahead: int = 0) -> bool:
    """True if a window's bracket begins so many tokens ahead, not a predicate's arguments."""
    if cursor.peek(ahead).kind != "[":
        return False
    following = cursor.peek(ahead + 2).kind
    if cursor.is_word("RANGE", "SLIDE", ahead=ahead + 1):
        return following == "number"
    return cursor.is_word("WA", ahead=ahead + 1) and following == "name"


def _column(cursor: Cursor) -> SyntaxExpression:
    """Read a name with its qualifiers, or `source.@property`."""
    mark = cursor.mark()
    parts = [cursor.advance().text]
    while cursor.accept("."):
        if cursor.token.kind == "@":
            return _property(cursor, ".".join(parts))
        parts.append(cursor.name("a column behind '.'").text)
    return Name(tuple(parts[:-1]), parts[-1], span=cursor.since(mark))


def parse_name(cursor: Cursor, what: str) -> Name:
    """Read a column's name with its qualifiers, and nothing else."""
    mark = cursor.mark()
    parts = [cursor.name(what).text]
    while cursor.accept("."):
        parts.append(cursor.name("a column behind '.'").text)
    return Name(tuple(parts[:-1]), parts[-1], span=cursor.since(mark))


def _call(cursor: Cursor) -> SyntaxExpression:
    name = cursor.advance()
    superaggregate = cursor.accept("$") is not None
    opening = cursor.advance()
    try:
        worded = worded_call(cursor, name.text, parse_expression, COMPARISON)
        if worded is not None:
            _close(cursor, opening, ")")
    except ParseError:
        return _resume(cursor, opening, ")")
    if worded is not None:
        return Call(*worded, name_span=cursor.span_of(name), span=cursor.since(name.start))
    star = cursor.peek().kind == ")" and cursor.accept("*") is not None
    distinct = cursor.accept("DISTINCT") is not None
    read = _arguments if not distinct else _distinct_arguments
    args = read(cursor, opening, ")")
    flags = {"star": star, "distinct": distinct, "superaggregate": superaggregate}
    condition = _filter(cursor)
    span, name_span = cursor.since(name.start), cursor.span_of(name)
    return Call(name.text, args, **flags, filter=condition, name_span=name_span, span=span)


def _filter(cursor: Cursor) -> SyntaxExpression | None:
    """Read `FILTER (WHERE p)` behind a call; the word is none of the language's elsewhere."""
    is_filter = cursor.is_word("FILTER") and cursor.peek().kind == "("
    if not is_filter or cursor.peek(2).kind != "WHERE":
        return None
    cursor.advance()
    opening = cursor.advance()
    cursor.advance()
    try:
        condition = parse_expression(cursor)
        _close(cursor, opening, ")")
    except ParseError:
        return _resume(cursor, opening, ")")
    return condition


def _distinct_arguments(
    cursor: Cursor, opening: Token, closing: str
) -> tuple[SyntaxExpression, ...]:
    return _listed(cursor, opening, closing, parse_expression)


def _predicate(cursor: Cursor) -> SyntaxExpression:
    name = cursor.advance()
    args = _arguments(cursor, cursor.advance(), "]")
    span, name_span = cursor.since(name.start), cursor.span_of(name)
    return PredicateCall(name.text, args, name_span=name_span, span=span)


def _cast(cursor: Cursor) -> SyntaxExpression:
    mark = cursor.mark()
    cursor.advance()
    opening = cursor.advance()
    try:
        operand = parse_expression(cursor)
        cursor.expect("AS", "AS and a type", "CAST(x AS type)")
        type_name = cursor.type_name()
        _close(cursor, opening, ")")
    except ParseError:
        return _resume(cursor, opening, ")")
    return CastExpression(operand, type_name, span=cursor.since(mark))


# CASE


def _case(cursor: Cursor) -> CaseExpression:
    mark = cursor.mark()
    cursor.advance()
    subject = None if cursor.token.kind == "WHEN" else parse_expression(cursor)
    whens = [_when(cursor, subject)]
    while cursor.token.kind == "WHEN":
        whens.append(_when(cursor, subject))
    default = parse_expression(cursor) if cursor.accept("ELSE") else None
    what = "END" if default is not None else "WHEN, ELSE or END"
    cursor.expect("END", what, "CASE WHEN … THEN … ELSE … END")
    return CaseExpression(tuple(whens), default, span=cursor.since(mark))


def _when(cursor: Cursor, subject: SyntaxExpression | None) -> When:
    mark = cursor.mark()
    cursor.expect("WHEN", hint="CASE WHEN … THEN … ELSE … END")
    condition = parse_expression(cursor)
    if subject is not None:
        condition = Comparison("=", subject, condition, span=condition.span)
    cursor.expect("THEN", hint="CASE WHEN … THEN … ELSE … END")
    result = parse_expression(cursor)
    return When(condition, result, span=cursor.since(mark))


_OPERANDS: dict[str, Callable[[Cursor], SyntaxExpression]] = {
    "name": _named,
    "(": _parenthesised,
    "-": _sign,
    "+": _sign,
    "~": _sign,
    "!": _sign,
    "$": _parameter,
    "#": _define,
    "@": _property,
    "CASE": _case,
}
