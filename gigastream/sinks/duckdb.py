# SPDX-License-Identifier: Apache-2.0
"""DuckDB: a file with the tables and, in the same transactions, the keys of what is in them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow

from gigastream.new_file import take_name
from gigastream.sinks import COMMITS, Key, SinkError, check_columns, telling
from gigastream.sinks.columns import Abilities, table_rows, table_schema
from gigastream.sinks.sql import listed, quoted, quoted_table

_MAGIC = slice(8, 12)
_ABILITIES = Abilities(unsigned=True, nanoseconds=True)
_TYPES = {
    pyarrow.bool_(): "BOOLEAN",
    pyarrow.uint16(): "USMALLINT",
    pyarrow.uint32(): "UINTEGER",
    pyarrow.int32(): "INTEGER",
    pyarrow.uint64(): "UBIGINT",
    pyarrow.int64(): "BIGINT",
    pyarrow.float64(): "DOUBLE",
    pyarrow.string(): "VARCHAR",
    pyarrow.binary(): "BLOB",
    pyarrow.timestamp("ns", "UTC"): "TIMESTAMP_NS",
}
_CREATE_COMMITS = (
    f"CREATE TABLE IF NOT EXISTS {COMMITS} (writer VARCHAR, target VARCHAR, number BIGINT)"
)
_LAST = f"SELECT max(number) FROM {COMMITS} WHERE writer = ? AND target = ?"
_FORGET = f"DELETE FROM {COMMITS} WHERE writer = ? AND target = ?"
_REMEMBER = f"INSERT INTO {COMMITS} VALUES (?, ?, ?)"


class DuckdbTable:
    """A table of a file that this process has open."""

    def __init__(self, connection: Any, label: str, name: str, schema: pyarrow.Schema) -> None:
        self._connection = connection
        self._label = label
        self._name = name
        self._schema = schema
        self._rows = f"rows of {name}"  # longer than the table's name, and so never that
        columns = listed(schema.names)
        self._insert = (
            f"INSERT INTO {quoted_table(name)} ({columns}) SELECT * FROM {quoted(self._rows)}"
        )

    def begin(self) -> None:
        """Make the table, or see that it is ours. SinkError."""
        types = {field.name: _TYPES[field.type] for field in self._schema}
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        table = quoted_table(self._name)
        with telling(self._label, (duckdb.Error,), exit_code=2):
            self._connection.execute(_CREATE_COMMITS)
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            found = self._connection.execute(f"DESCRIBE {table}").fetchall()
        there = {name: kind for name, kind, *_ in found}
        check_columns(self._label, there, types, may_have_more=True)

    def last(self, writer: str) -> int | None:
        """Return what the commits say."""
        with telling(self._label, (duckdb.Error,), exit_code=1):
            (number,) = self._connection.execute(_LAST, [writer, self._name]).fetchone()
        return None if number is None else int(number)

    def write(self, rows: pyarrow.Table, key: Key | None) -> bool:
        """Insert rows; nobody else has the file, so nobody commits in between."""
        with telling(self._label, (duckdb.Error,), exit_code=1):
            self._connection.begin()
            try:
                is_new = key is None or self._remember(key)
                if is_new:
                    self._put(table_rows(rows, self._schema))
                self._connection.commit()
            except BaseException:
                with suppress(duckdb.Error):  # a commit that failed has left nothing to roll back
                    self._connection.rollback()
                raise
        return is_new

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _remember(self, key: Key) -> bool:
        last = self.last(key.writer)
        if last is not None and last >= key.number:
            return False
        self._connection.execute(_FORGET, [key.writer, self._name])
        self._connection.execute(_REMEMBER, [key.writer, self._name, key.number])
        return True

    def _put(self, rows: pyarrow.Table) -> None:
        self._connection.register(self._rows, _without_zones(rows))
        self._connection.execute(self._insert)
        self._connection.unregister(self._rows)


def _without_zones(rows: pyarrow.Table) -> pyarrow.Table:
    """Timestamps without a zone are in UTC; with one DuckDB would shift them into its own."""
    fields = [
        field.with_type(pyarrow.timestamp("ns"))
        if pyarrow.types.is_timestamp(field.type)
        else field
        for field in rows.schema
    ]
    return rows.cast(pyarrow.schema(fields))


def _make(path: Path) -> None:
    """Make a database whole before it has its name: half of one, as of a full disk, opens never.

    Raises OSError, duckdb.Error.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with duckdb.connect(str(beside)) as connection:
            connection.execute(_CREATE_COMMITS)
        with suppress(FileExistsError):  # somebody else was as quick
            take_name(beside, path)
    finally:
        for left in (beside, beside.with_name(f"{beside.name}.wal")):
            left.unlink(missing_ok=True)


def _is_database(path: Path) -> bool:
    """Whether a file begins as databases of DuckDB do, encrypted ones, too."""
    with path.open("rb") as file:
        return file.read(_MAGIC.stop)[_MAGIC] == b"DUCK"


def open_table(place: str, name: str, schema: pyarrow.Schema) -> DuckdbTable:
    """Open a table of the file at a path, made where it is not there. SinkError."""
    path = Path(place).absolute()
    try:
        str(path).encode()  # what DuckDB cannot be given it tells in C++
        path.parent.mkdir(parents=True, exist_ok=True)
        with telling(place, (duckdb.Error,), exit_code=2):
            if not path.exists():
                _make(path)
            elif not path.is_file():  # a FIFO would be waited for
                raise SinkError(f"{place}: it is no regular file", "another path", exit_code=2)
            elif not _is_database(path):  # of csv, json or Parquet DuckDB makes one in memory
                raise SinkError(f"{place}: it is no DuckDB database", "another path", exit_code=2)
            connection = duckdb.connect(str(path))
    except OSError as error:
        raise SinkError(f"{place}: {error.strerror}", exit_code=2) from None
    except UnicodeEncodeError:
        raise SinkError(f"{place!a}: DuckDB takes names in UTF-8", "another path", 2) from None
    label = f"table {name} of {place}"
    table = DuckdbTable(connection, label, name, table_schema(schema, _ABILITIES))
    table.begin()
    return table
