# SPDX-License-Identifier: Apache-2.0
"""Empty places for tables, one kind for each sink, and what is in them as the sink's own reader."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from ipaddress import IPv4Address, IPv6Address
from itertools import count
from pathlib import Path
from typing import Any

from tests.sinks.postgres_server import PASSWORD

Rows = list[dict[str, Any]]
_number = count()


@dataclass(frozen=True)
class Place:
    """Where tables may be, and how they are read."""

    output: str
    """For -o."""
    rows: Callable[[str], Rows]
    """Gives a table's rows, in order."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def in_order(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows as a multiset, whatever a reader makes of numbers and addresses."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return sorted(plain, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def without_times(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows without their `at`: a time is text in JSON, and differs in digits."""
    return in_order({k: v for k, v in row.items() if k != "at"} for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, IPv6Address) and value.ipv4_mapped is not None:
        return f"::ffff:{value.ipv4_mapped}"
    return str(value) if isinstance(value, IPv4Address | IPv6Address) else value


def duckdb(folder: Path, _server: str | None) -> Place:
    path = folder / f"{next(_number)}" / "tables.duckdb"

    def rows(table: str) -> Rows:
        with import_module("duckdb").connect(str(path), read_only=True) as connection:
            found = connection.execute(f'FROM "{table}"')
            names = [column[0] for column in found.description]
            return in_order(dict(zip(names, row, strict=True)) for row in found.fetchall())

    return Place(f"duckdb:{path}", rows)


def postgres(_folder: Path, server: str | None) -> Place:
    assert server is not None
    psycopg = import_module("psycopg")
    name = f"place_{next(_number)}"
    with psycopg.connect(server, autocommit=True, password=PASSWORD) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    place = server.replace("/postgres?", f"/{name}?")

    def rows(table: str) -> Rows:
        dicts = import_module("psycopg.rows").dict_row
        with psycopg.connect(place, password=PASSWORD, row_factory=dicts) as connection:
            return in_order(connection.execute(f'SELECT * FROM "{table}"').fetchall())

    return Place(f"postgres:{place}", rows, {**os.environ, "PGPASSWORD": PASSWORD})


def delta(folder: Path, _server: str | None) -> Place:
    path = folder / f"{next(_number)}"

    def rows(table: str) -> Rows:
        deltalake = import_module("deltalake")
        return in_order(deltalake.DeltaTable(path / table).to_pyarrow_table().to_pylist())

    return Place(f"delta:{path}", rows)


def iceberg(folder: Path, _server: str | None) -> Place:
    path = folder / f"{next(_number)}"

    def rows(table: str) -> Rows:
        sql = import_module("pyiceberg.catalog.sql")
        catalog = sql.SqlCatalog("gigastream", uri=f"sqlite:///{path / 'catalog.db'}")
        return in_order(catalog.load_table(f"default.{table}").scan().to_arrow().to_pylist())

    return Place(f"iceberg:{path}", rows)


def dataset(folder: Path, _server: str | None) -> Place:
    path = folder / f"{next(_number)}"

    def rows(table: str) -> Rows:
        files = import_module("pyarrow.dataset").dataset(path / table, format="parquet")
        return in_order(_of_microseconds(files.to_table()).to_pylist())

    return Place(f"dataset:{path}", rows)


def _of_microseconds(rows: Any) -> Any:
    """Timestamps as Python can have them."""
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    for index, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type):
            cut = pc.floor_temporal(rows.column(index), unit="microsecond")
            rows = rows.set_column(index, column.name, cut.cast(pa.timestamp("us", "UTC")))
    return rows


PLACES = {
    "duckdb": duckdb,
    "postgres": postgres,
    "delta": delta,
    "iceberg": iceberg,
    "dataset": dataset,
}
