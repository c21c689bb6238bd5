# SPDX-License-Identifier: Apache-2.0
"""Queries that were made at random, changed at random where a word, a number or a sign stands.

What the checker still accepts has often types that meet as nobody would write them.
"""

from __future__ import annotations

import re

from tests.answers.query_maker import BEYOND, NUMBERS, PROTOCOLS
from tests.answers.spelling_maker import SpellingMaker

TOKEN = re.compile(
    r"'(?:[^']|'')*'|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e\d+)?|<>|<=|>=|<<|>>|.", re.DOTALL
)
COLUMN = re.compile(r"[wgoa]\d$")
CLASSES: tuple[tuple[str, ...], ...] = (
    ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"),
    ("=", "<>", "<", "<=", ">", ">="),
    ("AND", "OR"),
    ("min", "max", "sum", "avg", "first", "last", "any_value", "count", "mode", "var", "stddev"),
    ("and_aggr", "or_aggr", "xor_aggr", "max"),
    ("array_agg", "histogram", "min", "count_diff", "last"),
    ("upper", "lower", "reverse", "trim", "hex", "text", "length", "printable", "to_base64"),
    ("greatest", "least", "coalesce", "nullif", "UMIN", "UMAX", "concat", "ifnull"),
    ("abs", "INT", "UINT", "LLONG", "ULLONG", "FLOAT", "non_temporal", "sqrt", "floor", "hour"),
    ("TRUE", "FALSE", "NULL"),
    ("CUBE", "ROLLUP"),
    ("ASC", "DESC"),
    ("llong", "ullong", "uint", "int", "ushort", "float"),
)
NAMES = frozenset(column.name for columns in PROTOCOLS.values() for column in columns)


class MutantMaker(SpellingMaker):
    """Each text has up to three changes, all behind its first SELECT."""

    def _text(self, name: str) -> str:
        head, select, body = super()._text(name).partition("SELECT")
        tokens = TOKEN.findall(body)
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randrange(len(tokens))
            for place in (*range(at, len(tokens)), *range(at)):
                others = self._others(tokens[place], tokens)
                if others and not _is_fixed(tokens, place):
                    tokens[place] = self._random.choice(others)
                    break
        return head + select + "".join(tokens)

    def _others(self, token: str, tokens: list[str]) -> list[str]:
        """What may stand in a token's place."""
        if token.isdigit():
            return [*NUMBERS, *BEYOND, "NULL", "0.5"]
        if token in NAMES or COLUMN.match(token):
            return [other for other in tokens if other in NAMES or COLUMN.match(other)]
        return [other for group in CLASSES if token in group for other in group if other != token]


def _is_fixed(tokens: list[str], place: int) -> bool:
    """A name behind AS, a number behind LIMIT, what is in a DEFINE or PARAM."""
    before = [token for token in tokens[:place] if token.strip()][-1:]
    text = "".join(tokens[:place])
    return before in (["AS"], ["LIMIT"]) or text.count("{") > text.count("}")
