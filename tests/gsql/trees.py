# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for the parser's trees, in the one form that the parser gives each."""

from __future__ import annotations

from hypothesis import strategies as st

from gigastream.gsql.syntax import ast
from gigastream.gsql.syntax.lexer import KEYWORDS

WORDS = ("a", "b", "tb", "srcIP", "len", "TCP", "window", "range", "left", "merge", "is", "x_1")
names = st.one_of(
    st.sampled_from(WORDS),
    st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z").filter(lambda w: w.upper() not in KEYWORDS),
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=8)
qualifiers = st.lists(names, max_size=2).map(tuple)
columns = st.builds(ast.Name, qualifiers, names)


def _masked(bits: int) -> st.SearchStrategy[tuple[int, int]]:
    pair = st.tuples(st.integers(0, (1 << bits) - 1), st.integers(0, bits))
    return pair.map(lambda p: (p[0] >> (bits - p[1]) << (bits - p[1]), p[1]))


prefixes = st.one_of(
    st.builds(ast.Literal, st.just("ip_prefix"), _masked(32)),
    st.builds(ast.Literal, st.just("ipv6_prefix"), _masked(128)),
)
numbers = st.builds(ast.Literal, st.just("int"), st.integers(0, 2**64 - 1))
literals = st.one_of(
    numbers,
    st.builds(ast.Literal, st.sampled_from(("uint", "hex")), st.integers(0, 2**32 - 1)),
    st.builds(ast.Literal, st.sampled_from(("ullong", "lhex")), st.integers(0, 2**64 - 1)),
    st.builds(ast.Literal, st.just("float"), st.floats(0, allow_infinity=False)),
    st.builds(ast.Literal, st.just("bool"), st.booleans()),
    st.builds(ast.Literal, st.just("null"), st.none()),
    st.builds(ast.Literal, st.just("string"), texts),
    st.builds(ast.Literal, st.just("ip"), st.integers(0, 2**32 - 1)),
    st.builds(ast.Literal, st.just("ipv6"), st.integers(0, 2**128 - 1)),
)
references = st.one_of(st.builds(ast.Parameter, names), st.builds(ast.Define, names))
leaves = st.one_of(
    literals,
    columns,
    references,
    st.builds(ast.InterfaceProperty, names, st.one_of(st.none(), names)),
)
listed = st.one_of(literals, references, st.builds(ast.Unary, st.just("-"), numbers))


def _grown(
    inner: st.SearchStrategy[ast.SyntaxExpression],
) -> st.SearchStrategy[ast.SyntaxExpression]:
    arguments = st.lists(inner, max_size=3).map(tuple)
    comparison = st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
    arithmetic = st.sampled_from(("+", "-", "*", "/", "%", "|", "^", "&", "<<", ">>"))
    return st.one_of(
        st.builds(ast.Unary, st.sampled_from(("-", "~", "!", "NOT")), inner),
        st.builds(ast.Binary, arithmetic, inner, inner),
        st.builds(ast.Comparison, comparison, inner, inner),
        st.builds(_logical, st.sampled_from(("AND", "OR")), st.lists(inner, min_size=2)),
        st.builds(ast.InList, inner, st.lists(listed, min_size=1, max_size=4).map(tuple)),
        st.builds(ast.InPrefix, inner, st.one_of(prefixes, references)),
        st.builds(ast.Between, inner, inner, inner),
        st.builds(ast.IsNull, inner),
        st.builds(ast.PatternTest, st.sampled_from(("LIKE", "ILIKE")), inner, inner),
        st.builds(ast.PatternTest, st.sampled_from(("LIKE", "ILIKE")), inner, inner, inner),
        st.builds(ast.PatternTest, st.just("~"), inner, inner),
        st.builds(ast.CastExpression, inner, st.builds(ast.TypeName, names)),
        st.builds(ast.CaseExpression, _whens(inner), st.one_of(st.none(), inner)),
        st.builds(ast.Call, names, arguments, superaggregate=st.booleans()).filter(_not_a_cast),
        st.builds(ast.Call, names, star=st.just(True)).filter(_not_a_cast),
        st.builds(ast.PredicateCall, names, arguments),
    )


def _not_a_cast(call: ast.Call) -> bool:
    return call.name.upper() != "CAST"


def _whens(
    inner: st.SearchStrategy[ast.SyntaxExpression],
) -> st.SearchStrategy[tuple[ast.When, ...]]:
    return st.lists(st.builds(ast.When, inner, inner), min_size=1, max_size=3).map(tuple)


def _logical(op: str, operands: list[ast.SyntaxExpression]) -> ast.Logical:
    """Join conditions flatly, as the parser does."""
    flat: list[ast.SyntaxExpression] = []
    for operand in operands:
        same = isinstance(operand, ast.Logical) and operand.op == op
        flat.extend(operand.operands if same else (operand,))
    return ast.Logical(op, tuple(flat))


expressions = st.recursive(leaves, _grown, max_leaves=12)

durations = st.builds(
    ast.Duration,
    st.integers(1, 10**18 - 1),
    st.sampled_from((None, "ms", "s", "min", "hour", "day", "rows")),
)
windows = st.builds(
    ast.Window,
    durations,
    st.one_of(st.none(), durations),
    st.one_of(st.none(), columns),
)
tables = st.one_of(
    st.builds(ast.Table, names),
    st.builds(ast.Table, names, interface=st.one_of(names, texts)),
    st.builds(ast.Table, names, interface=names, host=st.one_of(names, texts)),
    st.builds(ast.Table, names, interface_set=names),
    st.builds(ast.Table, st.lists(names, min_size=2, max_size=3).map("/".join)),
)
aliases = st.one_of(st.none(), names)


@st.composite
def sources(draw: st.DrawFn) -> ast.FromItem:
    """A table or a union, with a name or without."""
    branches = draw(st.lists(tables, min_size=1, max_size=3))
    alias = draw(aliases)
    if len(branches) > 1:
        return ast.UnionItem(tuple(branches), alias)
    only = branches[0]
    return ast.Table(only.name, only.interface, only.interface_set, only.host, alias)


joined = st.builds(
    ast.JoinedSource,
    st.sampled_from(("INNER", "LEFT_OUTER", "RIGHT_OUTER", "OUTER")),
    sources(),
    sources(),
    expressions,
)
group_items = st.builds(ast.GroupItem, expressions, aliases).filter(
    lambda item: not isinstance(item.expression, ast.Call)  # cube(…) is CUBE(…)
)
group_lists = st.lists(group_items, min_size=1, max_size=3).map(tuple)
group_elements = st.one_of(
    group_items,
    st.builds(ast.Cube, group_lists),
    st.builds(ast.Rollup, group_lists),
    st.builds(ast.GroupingSets, st.lists(group_lists, min_size=1, max_size=3).map(tuple)),
)
select_items = st.one_of(
    st.builds(ast.SelectItem, expressions, aliases),
    st.builds(ast.SelectItem, st.builds(ast.Star, qualifiers)),
)
joins = st.one_of(
    st.none(),
    st.builds(
        ast.JoinClause,
        st.sampled_from(("INNER", "LEFT_OUTER", "RIGHT_OUTER", "OUTER")),
    ),
    st.builds(ast.JoinClause, st.just("FILTER"), columns, expressions),
)
conditions = st.one_of(st.none(), expressions)
selects = st.builds(
    ast.SelectStatement,
    st.lists(select_items, min_size=1, max_size=4).map(tuple),
    st.lists(st.one_of(sources(), joined), min_size=1, max_size=3).map(tuple),
    st.booleans(),
    joins,
    st.one_of(st.none(), windows),
    conditions,
    st.lists(group_elements, max_size=3).map(tuple),
    st.lists(columns, max_size=2).map(tuple),
    *[conditions] * 4,
    st.lists(st.builds(ast.OrderItem, expressions, st.booleans()), max_size=2).map(tuple),
    st.one_of(
        st.none(),
        st.builds(
            ast.LimitClause,
            st.one_of(numbers, st.builds(ast.Parameter, names)),
            st.lists(expressions, max_size=2).map(tuple),
        ),
    ),
)
merges = st.builds(
    ast.MergeStatement,
    st.lists(columns, min_size=2, max_size=4).map(tuple),
    st.lists(sources(), min_size=1, max_size=3).map(tuple),
    conditions,
)
common_tables = st.builds(ast.CommonTable, names, st.one_of(selects, merges))
parameters = st.lists(
    st.builds(
        ast.ParameterDeclaration,
        names,
        st.builds(ast.TypeName, names),
        st.one_of(st.none(), literals, st.builds(ast.Unary, st.just("-"), numbers)),
    ),
    max_size=3,
    unique_by=lambda item: item.name.lower(),
).map(tuple)


@st.composite
def queries(draw: st.DrawFn) -> ast.Query:
    """A query that has its name from a DEFINE block."""
    name = draw(names)
    others = st.builds(ast.DefineEntry, names.filter(lambda n: n.lower() != "query_name"), texts)
    entries = draw(st.lists(others, max_size=3, unique_by=lambda entry: entry.name.lower()))
    defines = (ast.DefineEntry("query_name", name), *entries)
    tables = draw(st.lists(common_tables, max_size=2)) if draw(st.booleans()) else ()
    body = draw(st.one_of(selects, merges))
    return ast.Query(name, body, draw(parameters), defines, tables=tuple(tables))
