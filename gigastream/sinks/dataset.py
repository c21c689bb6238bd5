# SPDX-License-Identifier: Apache-2.0
"""Parquet files in folders by day and hour, as every engine reads them.

TABLE/date=2026-11-23/hour=09/….parquet, by the first timestamp of the query. A transaction is
staged below TABLE/_gigastream, where no reader looks. A small file there, one for each writer, says
how far it has come and which staged files belong where: that it takes its place is the commit.
Then the files go to their folders; those of a writer that died in between, its next one moves.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from gigastream.sinks import Key, SinkError, check_columns, telling
from gigastream.sinks.columns import Abilities, table_rows, table_schema

_ABILITIES = Abilities(unsigned=True, nanoseconds=True)
_ERRORS = (OSError, ValueError, pa.ArrowException)
_OURS = "_gigastream"
_COLUMNS = "columns.json"
_LOCK = "lock"
_PARTS = ("date", "hour")
_NO_TIME = "date=__HIVE_DEFAULT_PARTITION__/hour=__HIVE_DEFAULT_PARTITION__"
"""What readers take for NULL."""
_SECOND_NS = 10**9


class Dataset:
    """A folder of Parquet files."""

    def __init__(self, root: Path, schema: pa.Schema, time: str) -> None:
        """`schema` is the table's, `time` the column whose hours have folders."""
        self._root = root
        self._ours = root / _OURS
        self._label = f"table {root}"
        self._schema = schema
        self._time = time
        self._once = f"once {secrets.token_hex(16)}"
        self._transactions = 0

    def begin(self) -> None:
        """Make the folder, or see that it is ours. SinkError."""
        types = {field.name: str(field.type) for field in self._schema}
        with telling(self._label, _ERRORS, exit_code=2):
            self._ours.mkdir(parents=True, exist_ok=True)
            with self._locked():
                there = _read(self._ours / _COLUMNS)
                if there is None:
                    _replace(self._ours / _COLUMNS, types)
        check_columns(self._label, there or types, types)

    def last(self, writer: str) -> int | None:
        """Return what the writer's file says."""
        with telling(self._label, _ERRORS, exit_code=1):
            said = _read(self._commit_of(writer))
        return None if said is None else int(said["number"])

    def write(self, rows: pa.Table, key: Key | None) -> bool:
        """Stage, commit, move; one writer at a time."""
        if key is None:
            self._transactions += 1
            key = Key(self._once, self._transactions)
        with telling(self._label, _ERRORS, exit_code=1), self._locked():
            self._finish(key.writer)
            last = self.last(key.writer)
            if last is not None and last >= key.number:
                return False
            files = self._staged(table_rows(rows, self._schema), key)
            said = {"writer": key.writer, "number": key.number, "files": files}
            _replace(self._commit_of(key.writer), said)
            self._move(files)
        return True

    def close(self) -> None:
        """Who never comes again leaves no word behind."""
        with telling(self._label, _ERRORS, exit_code=1):
            self._commit_of(self._once).unlink(missing_ok=True)

    def recover(self) -> None:
        """Move what writers that died have committed. SinkError."""
        with telling(self._label, _ERRORS, exit_code=2), self._locked():
            for path in self._ours.glob("*.commit"):
                self._move((_read(path) or {}).get("files", {}))

    def _finish(self, writer: str) -> None:
        """Move what a writer has committed, and remove what it has not."""
        self._move((_read(self._commit_of(writer)) or {}).get("files", {}))
        for path in self._ours.glob(f"{_short(writer)}-*.parquet"):
            path.unlink()

    def _staged(self, rows: pa.Table, key: Key) -> dict[str, str]:
        """Write the rows of each hour; return the staged names with where they belong."""
        files = {}
        for number, (folder, part) in enumerate(_by_hour(rows, self._time)):
            name = f"{_short(key.writer)}-{key.number}-{number}.parquet"
            pyarrow.parquet.write_table(part, self._ours / name)
            _make_durable(self._ours / name)
            files[name] = f"{folder}/{name}"
        return files

    def _move(self, files: Mapping[str, str]) -> None:
        for name, place in files.items():
            staged, final = self._ours / name, self._root / place
            if staged.exists():
                final.parent.mkdir(parents=True, exist_ok=True)
                staged.rename(final)
                _make_durable(final.parent)

    def _commit_of(self, writer: str) -> Path:
        return self._ours / f"{_short(writer)}.commit"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._ours / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _by_hour(rows: pa.Table, time: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each hour with its folder; those without a time have one, too."""
    hours = pc.floor_temporal(rows.column(time), unit="hour").cast(pa.int64())
    for hour in pc.unique(hours).to_pylist():
        mask = pc.is_null(hours) if hour is None else pc.equal(hours, hour)
        yield _NO_TIME if hour is None else _folder(hour), rows.filter(mask)


def _folder(hour_ns: int) -> str:
    return datetime.fromtimestamp(hour_ns // _SECOND_NS, UTC).strftime("date=%Y-%m-%d/hour=%H")


def _short(writer: str) -> str:
    return hashlib.sha256(writer.encode()).hexdigest()[:16]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return found


def _replace(path: Path, value: Mapping[str, Any]) -> None:
    """Put a file in its place, whole and durable."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(value))
    _make_durable(beside)
    beside.rename(path)
    _make_durable(path.parent)


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_table(place: str, name: str, schema: pa.Schema) -> Dataset:
    """Open the folder of a table below a path. SinkError, also for a query without a timestamp."""
    times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    if not times:
        raise SinkError(
            f"table {name} of {place}: no column is a timestamp by whose hours there are folders",
            "time_bucket('1 min', timestamp) AS minute",
            exit_code=2,
        )
    # names that differ in case alone are one to who reads it: the folder's value would be the row's
    taken = [column for column in schema.names if column.lower() in _PARTS]
    if taken:
        raise SinkError(
            f"table {name} of {place}: its folders are called {taken[0].lower()}=…, as a column is",
            f"another name: {taken[0]} AS …",
            exit_code=2,
        )
    table = Dataset(Path(place).absolute() / name, table_schema(schema, _ABILITIES), times[0])
    table.begin()
    table.recover()
    return table
