# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: rows by COPY and their key by an upsert, in one transaction.

The upsert comes first and locks the key's row: of two that write the same, as a job that was taken
for dead and the one in its place, the second waits, and finds the number there.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import psycopg
import pyarrow
import pyarrow.csv

from gigastream.sinks import COMMITS, Key, check_columns, telling
from gigastream.sinks.columns import Abilities, address_kind, table_rows, table_schema
from gigastream.sinks.sql import listed, quoted, quoted_table

_ABILITIES = Abilities()
_TYPES = {
    pyarrow.bool_(): "boolean",
    pyarrow.int32(): "integer",
    pyarrow.int64(): "bigint",
    pyarrow.decimal128(20, 0): "numeric(20,0)",
    pyarrow.float64(): "double precision",
    pyarrow.string(): "text",
    pyarrow.binary(): "bytea",
    pyarrow.timestamp("us", "UTC"): "timestamp with time zone",
}
_OF_ADDRESSES = {"ipv4": "inet", "ipv6": "inet", "inet": "inet", "mac": "macaddr"}
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('gigastream'))"
"""Of two that make a table at once the second would fail."""
_IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_COMMITS = """
    writer text, target text, number bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (writer, target)"""
_LAST = f"SELECT number FROM {COMMITS} WHERE writer = %s AND target = %s"
_REMEMBER = f"""
    INSERT INTO {COMMITS} VALUES (%s, %s, %s) ON CONFLICT (writer, target)
    DO UPDATE SET number = excluded.number, at = excluded.at
    WHERE {COMMITS}.number < excluded.number RETURNING number"""
_CSV = pyarrow.csv.WriteOptions(include_header=False)


class PostgresTable:
    """A table, through a connection of its own."""

    def __init__(self, connection: Any, label: str, name: str, schema: pyarrow.Schema) -> None:
        """`schema` is that of the engine's batches."""
        self._connection = connection
        self._label = label
        self._name = name
        self._table = quoted_table(name)
        self._schema = table_schema(schema, _ABILITIES)
        self._types = _types(schema)
        self._copy = f"COPY {self._table} ({listed(schema.names)}) FROM STDIN (FORMAT csv)"

    def begin(self) -> None:
        """Make the table, or see that it is ours. SinkError."""
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in self._types.items())
        with telling(self._label, (psycopg.Error,), exit_code=2), self._connection.transaction():
            self._connection.execute(_LOCK)
            self._make(COMMITS, _COMMITS)
            self._make(self._table, columns)
            found = self._connection.execute(_COLUMNS, [self._table]).fetchall()
        check_columns(self._label, dict(found), self._types, may_have_more=True)

    def last(self, writer: str) -> int | None:
        """Return what the commits say."""
        with telling(self._label, (psycopg.Error,), exit_code=1):
            found = self._connection.execute(_LAST, [writer, self._name]).fetchone()
        return None if found is None else int(found[0])

    def write(self, rows: pyarrow.Table, key: Key | None) -> bool:
        """Remember the key and copy the rows; neither, where the key is there."""
        with telling(self._label, (psycopg.Error,), exit_code=1), self._connection.transaction():
            is_new = key is None or self._remember(key)
            if is_new:
                self._put(table_rows(rows, self._schema))
        return is_new

    def close(self) -> None:
        """Leave the server."""
        self._connection.close()

    def _make(self, table: str, columns: str) -> None:
        """Not by IF NOT EXISTS, which wants the right to make tables where there is one, too."""
        (is_there,) = self._connection.execute(_IS_THERE, [table]).fetchone()
        if not is_there:
            self._connection.execute(f"CREATE TABLE {table} ({columns})")

    def _remember(self, key: Key) -> bool:
        cursor = self._connection.execute(_REMEMBER, [key.writer, self._name, key.number])
        return cursor.fetchone() is not None

    def _put(self, rows: pyarrow.Table) -> None:
        text = io.BytesIO()
        pyarrow.csv.write_csv(_bytes_as_text(rows), text, _CSV)
        with self._connection.cursor() as cursor, cursor.copy(self._copy) as copy:
            copy.write(text.getbuffer())


def _types(schema: pyarrow.Schema) -> Mapping[str, str]:
    """Return the types of the columns of a table, by name."""
    ours = table_schema(schema, _ABILITIES)
    return {
        field.name: _OF_ADDRESSES.get(address_kind(theirs) or "", _TYPES[field.type])
        for field, theirs in zip(ours, schema, strict=True)
    }


def _bytes_as_text(rows: pyarrow.Table) -> pyarrow.Table:
    """Return rows with bytes in hexadecimal, as a bytea is read."""
    for place, field in enumerate(rows.schema):
        if pyarrow.types.is_binary(field.type):
            values = rows.column(place).to_pylist()
            texts = [None if value is None else f"\\x{value.hex()}" for value in values]
            rows = rows.set_column(place, field.name, pyarrow.array(texts, pyarrow.string()))
    return rows


def open_table(place: str, name: str, schema: pyarrow.Schema) -> PostgresTable:
    """Open a table of the database that a URI or libpq's words name. SinkError.

    What they do not say, the password first of all, libpq knows: PGPASSWORD, ~/.pgpass, service=.
    """
    with telling(place, (psycopg.Error,), exit_code=2):
        connection = psycopg.connect(place, autocommit=True, application_name="gigastream")
    table = PostgresTable(connection, f"table {name} of {place}", name, schema)
    table.begin()
    return table
