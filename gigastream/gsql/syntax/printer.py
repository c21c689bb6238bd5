# SPDX-License-Identifier: Apache-2.0
"""Trees to GSQL text: one spelling for each tree, which parses to the same tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gigastream.gsql.syntax import ast, declarations
from gigastream.gsql.syntax.expressions import AND, COMPARISON, NOT, OR, POWERS, UNARY
from gigastream.gsql.syntax.lexer import KEYWORDS
from gigastream.gsql.syntax.literals import format_address
from gigastream.late_dataclass import fields

_LINE_LENGTH = 96
_OPERAND = UNARY + 1


def print_query(query: ast.Query) -> str:
    """Return a query with its blocks, without the `;` behind it."""
    parts = [
        _block("PARAM", [_parameter_declaration(item) for item in query.parameters]),
        _block("DEFINE", [f"{item.name} {_quoted(item.value)}" for item in query.defines]),
        _with(query.tables),
        print_body(query.body),
    ]
    return "\n".join(part for part in parts if part)


def _with(tables: tuple[ast.CommonTable, ...]) -> str:
    named = (f"{table.name} AS (\n{print_body(table.body)}\n)" for table in tables)
    return "WITH " + ",\n".join(named) if tables else ""


def print_queries(queries: Iterable[ast.Query]) -> str:
    """Return the text of a query file."""
    return ";\n\n".join(print_query(query) for query in queries) + ";\n"


def print_body(body: ast.SelectStatement | ast.MergeStatement) -> str:
    """Return a query's body, a clause a line."""
    lines = _select(body) if isinstance(body, ast.SelectStatement) else _merge(body)
    return "\n".join(lines)


def print_expression(expression: ast.SyntaxExpression) -> str:
    """Return an expression, with the parentheses that it needs and no others."""
    return _at_least(0, expression)


def print_definitions(definitions: declarations.Definitions) -> str:
    """Return the text of a definition file, kind by kind."""
    texts: list[str] = []
    for item in fields(definitions):
        nodes = getattr(definitions, item.name)
        if item.name == "unpack_functions" and nodes:
            texts.append(_block("UNPACK_FCNS", [_unpack_function(node) for node in nodes]))
        else:
            texts += [_DEFINITIONS[type(node)](node) for node in nodes]
    return "".join(text + "\n" for text in texts)


# Expressions


def _at_least(power: int, node: ast.SyntaxExpression) -> str:
    """Return a node's text, in parentheses if it binds weaker than `power`."""
    text = _EXPRESSIONS[type(node)](node)
    return text if _power(node) >= power else f"({text})"


def _power(node: ast.SyntaxExpression) -> int:
    if isinstance(node, ast.Logical):
        return OR if node.op == "OR" else AND
    if isinstance(node, ast.Unary):
        return NOT if node.op == "NOT" else UNARY
    if isinstance(node, ast.Binary):
        return POWERS[node.op]
    if isinstance(node, _COMPARISONS):
        return COMPARISON
    if isinstance(node, ast.Literal) and isinstance(node.value, int | float) and node.value < 0:
        return UNARY
    return _OPERAND


_COMPARISONS = (
    *(ast.Comparison, ast.InList, ast.InPrefix, ast.Between, ast.IsNull),
    ast.PatternTest,
)


def _tight(node: ast.SyntaxExpression) -> str:
    return _at_least(COMPARISON + 1, node)


def _all(nodes: Iterable[ast.SyntaxExpression]) -> str:
    return ", ".join(print_expression(node) for node in nodes)


def _unary(node: ast.Unary) -> str:
    if node.op == "NOT":
        return f"NOT {_at_least(NOT, node.operand)}"
    text = _at_least(UNARY, node.operand)
    if text.startswith("-") and node.op == "-":  # -- begins a comment
        text = f"({text})"
    return node.op + text


def _binary(node: ast.Binary) -> str:
    power = POWERS[node.op]
    return f"{_at_least(power, node.left)} {node.op} {_at_least(power + 1, node.right)}"


def _logical(node: ast.Logical) -> str:
    return f" {node.op} ".join(_at_least(_power(node), operand) for operand in node.operands)


def _case(node: ast.CaseExpression) -> str:
    arms = [
        f"WHEN {print_expression(when.condition)} THEN {print_expression(when.result)}"
        for when in node.whens
    ]
    if node.default is not None:
        arms.append(f"ELSE {print_expression(node.default)}")
    return " ".join(("CASE", *arms, "END"))


def _call(node: ast.Call) -> str:
    dollar = "$" if node.superaggregate else ""
    inside = "*" if node.star else ("DISTINCT " if node.distinct else "") + _all(node.args)
    call = f"{node.name}{dollar}({inside})"
    if node.filter is None:
        return call
    return f"{call} FILTER (WHERE {print_expression(node.filter)})"


def _pattern_test(node: ast.PatternTest) -> str:
    escape = "" if node.escape is None else f" ESCAPE {_tight(node.escape)}"
    return f"{_tight(node.operand)} {node.op} {_tight(node.pattern)}{escape}"


def _dotted(qualifier: tuple[str, ...], name: str) -> str:
    return ".".join((*qualifier, name))


def _property(node: ast.InterfaceProperty) -> str:
    return f"@{node.name}" if node.source is None else f"{node.source}.@{node.name}"


_EXPRESSIONS: dict[type, Callable[[Any], str]] = {
    ast.Literal: lambda node: _LITERALS[node.kind](node.value),
    ast.Name: lambda node: _dotted(node.qualifier, node.name),
    ast.Star: lambda node: _dotted(node.qualifier, "*"),
    ast.Parameter: lambda node: f"${node.name}",
    ast.Define: lambda node: f"#{node.name}",
    ast.InterfaceProperty: _property,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Comparison: lambda node: f"{_tight(node.left)} {node.op} {_tight(node.right)}",
    ast.Logical: _logical,
    ast.InList: lambda node: f"{_tight(node.operand)} IN [{_all(node.items)}]",
    ast.InPrefix: lambda node: f"{_tight(node.operand)} IN {print_expression(node.prefix)}",
    ast.Between: lambda node: (
        f"{_tight(node.operand)} BETWEEN {_tight(node.low)} AND {_tight(node.high)}"
    ),
    ast.IsNull: lambda node: f"{_tight(node.operand)} IS NULL",
    ast.PatternTest: _pattern_test,
    ast.CaseExpression: _case,
    ast.CastExpression: lambda node: f"CAST({print_expression(node.operand)} AS {node.type.name})",
    ast.Call: _call,
    ast.PredicateCall: lambda node: f"{node.name}[{_all(node.args)}]",
    ast.Broken: lambda node: "/* not understood */",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _prefix(word: str, kind: str, value: tuple[int, int]) -> str:
    return f"{word}'{format_address(kind, value[0])}/{value[1]}'"


_LITERALS: dict[str, Callable[[Any], str]] = {
    "int": str,
    "uint": lambda value: f"{value}UL",
    "ullong": lambda value: f"{value}ULL",
    "hex": lambda value: f"HEX'{value:x}'",
    "lhex": lambda value: f"LHEX'{value:x}'",
    "float": repr,
    "bool": lambda value: str(value).upper(),
    "null": lambda _: "NULL",
    "string": _quoted,
    "ip": lambda value: f"IP_VAL'{format_address('ip', value)}'",
    "ipv6": lambda value: f"IPV6_VAL'{format_address('ipv6', value)}'",
    "ip_prefix": lambda value: _prefix("IP_VAL", "ip", value),
    "ipv6_prefix": lambda value: _prefix("IPV6_VAL", "ipv6", value),
}


# Bodies


def _select(body: ast.SelectStatement) -> list[str]:
    word = "SELECT DISTINCT" if body.distinct else "SELECT"
    window = "" if body.window is None else " " + _window(body.window)
    behind_from = len(body.sources) == 1 and not isinstance(body.sources[0], ast.JoinedSource)
    select = _clause(word, [_aliased(item) for item in body.items])
    source = _clause(_from_word(body.join), [_source(item) for item in body.sources])
    lines = [select, source + window] if behind_from else [select + window, source]
    clauses = (
        _clause("WHERE", _conditions(body.where), " AND"),
        _clause("GROUP BY", [_group_element(item) for item in body.group_by]),
        _clause("SUPERGROUP", [print_expression(name) for name in body.supergroup]),
        _clause("HAVING", _conditions(body.having), " AND"),
        _clause("CLEANING_WHEN", _conditions(body.cleaning_when), " AND"),
        _clause("CLEANING_BY", _conditions(body.cleaning_by), " AND"),
        _clause("CLOSING_WHEN", _conditions(body.closing_when), " AND"),
        _clause("ORDER BY", [_order_item(item) for item in body.order_by]),
        _clause("LIMIT", [] if body.limit is None else [_limit(body.limit)]),
    )
    return lines + [clause for clause in clauses if clause]


def _limit(limit: ast.LimitClause) -> str:
    count = print_expression(limit.count)
    return f"{count} PER {_all(limit.per)}" if limit.per else count


def _conditions(expression: ast.SyntaxExpression | None) -> list[str]:
    """Return the conditions that a clause joins with AND, none for a clause that is missing."""
    if expression is None:
        return []
    if isinstance(expression, ast.Logical) and expression.op == "AND":
        return [_at_least(AND, operand) for operand in expression.operands]
    return [print_expression(expression)]


def _clause(word: str, parts: list[str], separator: str = ",") -> str:
    """Return a clause on one line if it is short, else a part a line; nothing without parts."""
    if not parts:
        return ""
    line = f"{word} {f'{separator} '.join(parts)}"
    if len(line) > _LINE_LENGTH:
        line = f"{word} " + f"{separator}\n    ".join(parts)
    return line


def _merge(body: ast.MergeStatement) -> list[str]:
    head = "MERGE " + " : ".join(print_expression(column) for column in body.columns)
    if body.slack is not None:
        head += f" SLACK {print_expression(body.slack)}"
    return [head, _clause("FROM", [_source(item) for item in body.sources])]


def _aliased(item: ast.SelectItem | ast.GroupItem) -> str:
    text = print_expression(item.expression)
    return text if item.alias is None else f"{text} AS {item.alias}"


def _order_item(item: ast.OrderItem) -> str:
    return print_expression(item.expression) + (" DESC" if item.descending else "")


def _group_element(item: ast.GroupElement) -> str:
    if isinstance(item, ast.GroupItem):
        return _aliased(item)
    if isinstance(item, ast.GroupingSets):
        return f"GROUPING_SETS({', '.join(_group_list(group) for group in item.sets)})"
    return ("CUBE" if isinstance(item, ast.Cube) else "ROLLUP") + _group_list(item.items)


def _group_list(items: tuple[ast.GroupItem, ...]) -> str:
    return f"({', '.join(_aliased(item) for item in items)})"


# FROM


def _from_word(join: ast.JoinClause | None) -> str:
    if join is None:
        return "FROM"
    if join.column is None or join.ticks is None:
        return f"{join.kind}_JOIN FROM"
    column, ticks = print_expression(join.column), print_expression(join.ticks)
    return f"{join.kind}_JOIN({column}, {ticks}) FROM"


def _source(item: ast.FromItem) -> str:
    if isinstance(item, ast.JoinedSource):
        return _joined(item)
    assert isinstance(item, ast.Table | ast.UnionItem)
    branches = item.branches if isinstance(item, ast.UnionItem) else (item,)
    text = " UNION ".join(_table_name(branch) for branch in branches)
    if item.alias is not None:
        text += f" AS {item.alias}"
    return text if item.window is None else f"{text} {_window(item.window)}"


def _joined(item: ast.JoinedSource) -> str:
    text = f"{_source(item.left)} {_JOIN_WORDS[item.kind]} {_source(item.right)}"
    return text if item.condition is None else f"{text} ON {print_expression(item.condition)}"


_JOIN_WORDS = {
    "INNER": "JOIN",
    "LEFT_OUTER": "LEFT JOIN",
    "RIGHT_OUTER": "RIGHT JOIN",
    "OUTER": "FULL JOIN",
}


def _table_name(table: ast.Table) -> str:
    if table.interface_set is not None:
        return f"[{table.interface_set}].{table.name}"
    if table.is_file:
        return _quoted(table.name)
    parts = [part for part in (table.host, table.interface) if part is not None]
    return ".".join((*(_word_or_quoted(part) for part in parts), table.name))


def _word_or_quoted(text: str) -> str:
    is_word = text.isascii() and text.isidentifier() and text.upper() not in KEYWORDS
    return text if is_word else _quoted(text)


def _window(window: ast.Window) -> str:
    parts = []
    if window.range is not None:
        parts.append(f"RANGE {_duration(window.range)}")
    if window.slide is not None:
        parts.append(f"SLIDE {_duration(window.slide)}")
    if window.attribute is not None:
        parts.append(f"WA {print_expression(window.attribute)}")
    return f"[{', '.join(parts)}]"


def _duration(duration: ast.Duration) -> str:
    unit = "ROWS" if duration.unit == "rows" else duration.unit
    return str(duration.value) if unit is None else f"{duration.value} {unit}"


# Blocks and definitions


def _block(word: str, entries: list[str]) -> str:
    lines = [f"    {entry};" for entry in entries]
    return "\n".join((word + " {", *lines, "}")) if lines else ""


def _parameter_declaration(item: ast.ParameterDeclaration) -> str:
    text = f"{item.name} {item.type.name}"
    return text if item.default is None else f"{text} {print_expression(item.default)}"


def _in_brackets(names: Iterable[ast.Name], opening: str, closing: str) -> str:
    inside = ", ".join(name.name for name in names)
    return f" {opening}{inside}{closing}" if inside else ""


def _field(item: declarations.FieldDeclaration) -> str:
    text = f"{item.type.name} {item.name}"
    text += "" if item.accessor is None else f" {item.accessor}"
    attributes = ", ".join(_attribute(attribute) for attribute in item.attributes)
    text += f" ({attributes})" if attributes else ""
    return text + _in_brackets(item.unpack, "[", "]")


def _attribute(item: declarations.Attribute) -> str:
    if item.value is None:
        return item.name
    value = item.value if item.value.isdigit() else _word_or_quoted(item.value)
    return f"{item.name} {value}"


def _protocol(item: declarations.ProtocolBlock) -> str:
    head = f"PROTOCOL {item.name}" + _in_brackets(item.bases, "(", ")")
    head += _in_brackets(item.unpack, "[", "]")
    return _block(head, [_field(field) for field in item.fields]) or head + " {\n}"


def _stream(item: declarations.Stream) -> str:
    head = f"STREAM {item.name}"
    return _block(head, [_field(field) for field in item.fields]) or head + " {\n}"


def _unpack_function(item: declarations.UnpackFunction) -> str:
    return f"{item.name} {item.function} {item.cost}"


def _modifiers(item: declarations.Declaration) -> str:
    texts = [m.name if m.value is None else f"{m.name} {m.value}" for m in item.modifiers]
    return f" [{', '.join(texts)}]" if texts else ""


def _parameter_types(item: declarations.Declaration) -> str:
    return ", ".join(_parameter_type(parameter) for parameter in item.parameters)


def _parameter_type(item: declarations.ParameterType) -> str:
    mode = " HANDLE" if item.handle else " CONST" if item.const else ""
    return item.type.name + mode


def _declaration(word: str, *between: str) -> Callable[[Any], str]:
    """Return a printer of `result WORD [mods] name … (types);` with these fields between."""

    def printed(item: Any) -> str:
        names = "".join(f" {getattr(item, field).name}" for field in between)
        head = f"{item.result.name} {word}{_modifiers(item)} {item.name}{names}"
        return f"{head} ({_parameter_types(item)});"

    return printed


_DEFINITIONS: dict[type, Callable[[Any], str]] = {
    declarations.ProtocolBlock: _protocol,
    declarations.Stream: _stream,
    declarations.FunctionDeclaration: _declaration("FUN"),
    declarations.AggregateDeclaration: _declaration("UDAF", "storage"),
    declarations.ExtractorDeclaration: _declaration("EXTR", "aggregate", "extractor"),
    declarations.StatefulFunctionDeclaration: _declaration("SFUN", "state"),
    declarations.PredicateDeclaration: lambda item: (
        f"PRED{_modifiers(item)} {item.name} [{_parameter_types(item)}];"
    ),
    declarations.StateDeclaration: lambda item: f"{item.storage.name} STATE {item.name};",
    declarations.InterfaceSet: lambda item: f"{item.name} : {print_expression(item.predicate)};",
}
