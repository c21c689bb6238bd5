# SPDX-License-Identifier: Apache-2.0
"""Iceberg: tables of a folder with a catalog of its own; a key is a table's property.

Rows and property are one commit. A property outlives the snapshots, which people let expire.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import schema_to_pyarrow

from gigastream.sinks import Key, SinkError, check_columns, telling
from gigastream.sinks.columns import Abilities, table_rows, table_schema

_ABILITIES = Abilities()
_ERRORS = (Exception,)
"""pyiceberg's have no class in common."""
_CATALOG = "catalog.db"
_NAMESPACE = "default"
_ATTEMPTS = 10
_RETRIES = "commit.retry.num-retries"


class IcebergTable:
    """A table of a catalog."""

    def __init__(self, catalog: Any, label: str, name: str, schema: pyarrow.Schema) -> None:
        """`name` is NAMESPACE.TABLE, `schema` the table's."""
        self._label = label
        self._schema = schema
        with telling(label, _ERRORS, exit_code=2):
            catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            self._table = catalog.create_table_if_not_exists(name, schema=schema)
            there = schema_to_pyarrow(self._table.schema(), include_field_ids=False)
        check_columns(label, _types(there), _types(schema))

    def last(self, writer: str) -> int | None:
        """Return the writer's property in the newest version."""
        with telling(self._label, _ERRORS, exit_code=1):
            self._table.refresh()
        number = self._table.properties.get(_property(writer))
        return None if number is None else int(number)

    def write(self, rows: pyarrow.Table, key: Key | None) -> bool:
        """Commit rows and property; where another commit came between, look again."""
        typed = table_rows(rows, self._schema)
        for _ in range(_ATTEMPTS):
            last = None if key is None else self.last(key.writer)
            if key is not None and last is not None and last >= key.number:
                return False
            if self._is_committed(typed, key):
                return True
        raise SinkError(f"{self._label}: others commit to it all the time", "fewer writers")

    def close(self) -> None:
        """Nothing is open between commits."""

    def _is_committed(self, rows: pyarrow.Table, key: Key | None) -> bool:
        # in this copy alone: tried again by itself, a commit would not look for its key
        self._table.properties[_RETRIES] = "0"
        with telling(self._label, _ERRORS, exit_code=1):
            try:
                with self._table.transaction() as transaction:
                    transaction.append(rows)
                    if key is not None:
                        transaction.set_properties({_property(key.writer): str(key.number)})
            except CommitFailedException:
                self._table.refresh()
                return False
        return True


def _property(writer: str) -> str:
    return f"gigastream.{writer}"


def _types(schema: pyarrow.Schema) -> dict[str, str]:
    plain = {pyarrow.large_string(): "string", pyarrow.large_binary(): "binary"}
    return {field.name: plain.get(field.type, str(field.type)) for field in schema}


def open_table(place: str, name: str, schema: pyarrow.Schema) -> IcebergTable:
    """Open a table, which may be NAMESPACE.TABLE, of the catalog in a folder. SinkError."""
    folder = Path(place).absolute()
    label = f"table {name} of {place}"
    with telling(place, _ERRORS, exit_code=2):
        folder.mkdir(parents=True, exist_ok=True)
        catalog = SqlCatalog(
            "gigastream", uri=f"sqlite:///{folder / _CATALOG}", warehouse=f"file://{folder}"
        )
    whole = name if "." in name else f"{_NAMESPACE}.{name}"
    return IcebergTable(catalog, label, whole, table_schema(schema, _ABILITIES))
