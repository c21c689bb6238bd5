# SPDX-License-Identifier: Apache-2.0
"""Delta: a table's log keeps, with each commit, the number that its writer has reached (`txn`)."""

from __future__ import annotations

from pathlib import Path

import pyarrow
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from gigastream.sinks import Key, check_columns, telling
from gigastream.sinks.columns import Abilities, table_rows, table_schema

_ABILITIES = Abilities()
_ERRORS = (DeltaError, OSError, pyarrow.ArrowException)


class DeltaSinkTable:
    """A folder, local or remote, with a table's files and its log."""

    def __init__(self, path: str, schema: pyarrow.Schema) -> None:
        """`schema` is the table's."""
        self._label = f"table {path}"
        self._schema = schema
        with telling(self._label, _ERRORS, exit_code=2):
            self._table = DeltaTable.create(path, schema=schema, mode="ignore")
            there = pyarrow.schema(self._table.schema())
        check_columns(self._label, _types(there), _types(schema))

    def last(self, writer: str) -> int | None:
        """Return the writer's `txn` in the newest version."""
        with telling(self._label, _ERRORS, exit_code=1):
            self._table.update_incremental()
            number = self._table.transaction_version(writer)
        return None if number is None else int(number)

    def write(self, rows: pyarrow.Table, key: Key | None) -> bool:
        """Commit rows and `txn` as one version; of two with the same writer one commit fails."""
        if key is not None and _reaches(self.last(key.writer), key):
            return False
        marks = [] if key is None else [Transaction(key.writer, key.number)]
        with telling(self._label, _ERRORS, exit_code=1):
            write_deltalake(
                self._table,
                table_rows(rows, self._schema),
                mode="append",
                commit_properties=CommitProperties(app_transactions=marks),
            )
        return True

    def close(self) -> None:
        """Nothing is open between commits."""


def _reaches(last: int | None, key: Key) -> bool:
    return last is not None and last >= key.number


def _types(schema: pyarrow.Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def open_table(place: str, name: str, schema: pyarrow.Schema) -> DeltaSinkTable:
    """Open the table in a folder of its name, below a path or URI. SinkError."""
    remote = "://" in place
    path = f"{place.rstrip('/')}/{name}" if remote else str(Path(place).absolute() / name)
    return DeltaSinkTable(path, table_schema(schema, _ABILITIES))
