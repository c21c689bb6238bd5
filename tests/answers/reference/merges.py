# SPDX-License-Identifier: Apache-2.0
"""MERGE (GSQL §6, item 6): all rows of all inputs; SLACK drops none of inputs that were sorted.

Of packets it requires the fields that its readers name, all of them: it is one stream. Put out
itself, or read by the places of its columns, it is SELECT *.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.answers.reference.inputs import Captures, InputReader, met_column
from tests.answers.reference.sources import Answer, Column, Row
from tests.answers.reference.syntax import Input, Name, Query, inputs_of
from tests.answers.reference.typed import has_time


def readers_of(name: str, queries: Sequence[Query]) -> list[tuple[Query, Input]]:
    """The queries that read a query, each with the source that does."""
    return [
        (query, item)
        for query in queries
        for item in inputs_of(query.source)
        if any(table.name == name for table in item.tables)
    ]


def is_by_names(query: Query, readers: Sequence[tuple[Query, Input]]) -> bool:
    """Whether a merge has the columns that its readers name, and no others."""
    is_shown = query.options.get("visibility", "external") == "external"
    return not is_shown and all(
        reader.items and not reader.merged and len(item.tables) == 1 for reader, item in readers
    )


def merge(
    query: Query, captures: Captures, found: Mapping[str, Answer], required: set[str] | None
) -> Answer:
    """The columns of the first input, and the rows of all by position.

    `required`: the fields that readers name; they add to it. None: it is SELECT *.
    """
    inputs = [InputReader(item, captures, found) for item in inputs_of(query.source)]
    queries = [answer for reader in inputs for answer in reader.queries]
    stars = [_columns(reader, queries) for reader in inputs]
    columns = list(stars[0])
    for star in stars[1:]:
        pairs = zip(columns, star, strict=True)
        columns = [Column(a.name, met_column(a.typed, b.typed)) for a, b in pairs]
    merged = query.merged[0].name
    order = [column.name for column in columns].index(merged)
    all_rows: list[Row] = [
        tuple(column.typed.read(item.row) for column in star)
        for reader, star in zip(inputs, stars, strict=True)
        for item in reader.tuples()
    ]
    rows = [row for row in all_rows if has_time(columns[order].typed, row[order])]
    tables = tuple(table for reader in inputs for table in reader.tables)
    is_of_packets = not queries and required is not None
    if not is_of_packets:
        return Answer(tuple(columns), rows, ordered_by=order)
    return Answer(tuple(columns), rows, packets=tables, required=required, ordered_by=order)


def _columns(reader: InputReader, queries: Sequence[Answer]) -> tuple[Column, ...]:
    """Beside queries packets give the fields that are named as the first one's columns."""
    if reader.queries or not queries:
        return reader.star()
    names = [column.name for column in queries[0].columns]
    return tuple(Column(name, reader.column(Name(name))) for name in names)
