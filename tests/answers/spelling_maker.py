# SPDX-License-Identifier: Apache-2.0
"""Queries at random with what surrounds a query: parameters, #constants, WITH (GSQL section 1).

Some have no window, and so one answer of everything.
"""

from __future__ import annotations

import re

from tests.answers.function_maker import FunctionMaker
from tests.answers.query_maker import BOOL, FLOAT, IP, STRING, WHOLE, Column

PARAMETERS = {
    "few": ("uint", "7"),
    "many": ("llong", "1500"),
    "wide": ("ullong", "100"),
    "narrow": ("ushort", "64"),
    "signed": ("int", "2"),
    "part": ("float", "0.5"),
    "word": ("string", "'GET'"),
    "like": ("string", "'%e%'"),
    "truth": ("bool", "TRUE"),
    "host": ("IP", "IP_VAL'10.0.0.1'"),
    "width": ("uint", "20"),
}
OF_KIND = {
    WHOLE: ("$few", "$many", "$wide", "$narrow", "$signed"),
    FLOAT: ("$part",),
    STRING: ("$word", "#place", "#empty"),
    BOOL: ("$truth",),
    IP: ("$host",),
}
CONSTANTS = {"place": "'Ulm, Donau'", "empty": "''"}
OPTIONS = ("comment 'as any';", "title x;", "real_time;", "select_lfta;", "aggregate_slots 3;",
           "flush lazy;", "flush immediate;", "slow_flush 4;", "max_lfta_disorder 0;")  # fmt: skip


class SpellingMaker(FunctionMaker):
    """What a query needs of these stands before it; inner queries may be those of a WITH."""

    def _text(self, name: str) -> str:
        queries = super()._text(name).split(";\n")
        if len(queries) == 1 or not all("visibility internal" in each for each in queries[:-1]):
            return ";\n".join(map(self._headed, queries))
        if self._random.random() < 0.4:
            return ";\n".join(map(self._headed, queries))
        return self._headed(_in_one(queries))

    def _headed(self, query: str) -> str:
        used = dict.fromkeys(re.findall(r"\$(\w+)", query))
        block = " ".join(f"{each} {' '.join(PARAMETERS[each])};" for each in used)
        named = dict.fromkeys(re.findall(r"#(place|empty)", query))
        options = [f"{each} {CONSTANTS[each]};" for each in named]
        is_ended = "\nGROUP BY " in query and " AS w0" not in query
        options += ["no_temporal_aggr;"] * is_ended
        options += [self._pick(*OPTIONS)] if self._random.random() < 0.3 else []
        query = query.replace("; }", f"; {' '.join(options)} }}", 1) if options else query
        if not block:
            return query
        define, _, body = query.partition("\n")
        blocks = [define, f"PARAM {{ {block} }}"]
        self._random.shuffle(blocks)
        return "\n".join([*blocks, body])

    def _leaf(self, kind: str) -> str:
        if kind in OF_KIND and self._random.random() < 0.15:
            return self._pick(*OF_KIND[kind])
        return super()._leaf(kind)

    def _groups(self) -> tuple[list[str], list[Column]]:
        """Once in a while no window: one answer, at the end."""
        groups, columns = super()._groups()
        if self._random.random() < 0.85 or all(column.is_temporal for column in columns):
            return groups, columns
        pairs = zip(groups, columns, strict=True)
        kept = [(group, column) for group, column in pairs if not column.is_temporal]
        texts = (group.rpartition(" AS ") for group, _ in kept)
        return [f"non_temporal({text}) AS {name}" for text, _, name in texts], [c for _, c in kept]

    def _window(self) -> tuple[str, str]:
        text, kind = super()._window()
        if self._random.random() < 0.3:
            text = re.sub(r"/ ?\d+", "/ $width", text, count=1)
        return text, kind

    def _comparison(self, kind: str, depth: int) -> str:
        text = super()._comparison(kind, depth)
        if self._random.random() < 0.3:
            text = text.replace("LIKE '%e%'", "LIKE $like")
        return text


def _in_one(queries: list[str]) -> str:
    """The last query, and those that it reads in its WITH."""
    parts = [query.partition("}") for query in queries]
    names = [re.search(r"query_name (\w+)", head)[1] for head, _, _ in parts]  # type: ignore[index]
    inner = ",\n".join(
        f"{name} AS ({body.strip()})"
        for name, (_, _, body) in zip(names[:-1], parts[:-1], strict=True)
    )
    head, _, body = parts[-1]
    return f"{head}}}\nWITH {inner}\n{body.lstrip()}"
