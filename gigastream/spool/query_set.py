# SPDX-License-Identifier: Apache-2.0
"""A query set: what is written once for all tracks of a spool, and what names each stream.

A set is made beside its place and renamed into it, so that readers never see half of one.
"""

from __future__ import annotations

import base64
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow

from gigastream.late_dataclass import dataclass
from gigastream.spool import layout
from gigastream.spool.errors import SpoolReadError, printable
from gigastream.spool.files import numbers_in, sync, write_json


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """A stream: its columns, and the hash of all that its rows depend on.

    Only a change of the hash, the columns or the schema begins a new generation of the stream.
    """

    hash: str
    columns: list[dict[str, Any]]
    schema: pyarrow.Schema

    def to_json(self) -> dict[str, Any]:
        """Return what streams.json says of the stream."""
        return {
            "hash": self.identity,
            "columns": self.columns,
            "arrow_schema": encode_schema(self.schema),
        }

    @property
    def identity(self) -> str:
        """The hash with the columns and the schema in it."""
        return layout.hash_of([self.hash, self.columns, encode_schema(self.schema)])


@dataclass(frozen=True)
class StoredQuerySet:
    """What a run writes: the plan, the texts that remake it, and its streams by name.

    All but the schemas is what JSON can hold.
    """

    plan: dict[str, Any]
    queries: dict[str, Any]
    streams: Mapping[str, StreamDescription]

    @cached_property
    def hash(self) -> str:
        """What two spools that may be read together have in common."""
        return layout.hash_of(self.plan)

    @cached_property
    def descriptions(self) -> dict[str, Any]:
        """The content of streams.json."""
        return {
            "format": layout.FORMAT,
            "query_set": self.hash,
            "streams": {name: stream.to_json() for name, stream in self.streams.items()},
        }


def write_set(root: Path, query_set: StoredQuerySet) -> int:
    """Write a query set, durable, and return its number. Raises OSError."""
    folder = root / layout.SETS
    folder.mkdir(exist_ok=True)
    number = max(numbers_in(folder, layout.number_of), default=0) + 1
    making = folder / f"{layout.MAKING}{number}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    write_json(making / layout.DESCRIPTIONS, query_set.descriptions)
    write_json(making / layout.PLAN, query_set.plan)
    write_json(making / layout.QUERIES, query_set.queries)
    sync(making)
    making.rename(folder / layout.number_name(number))
    sync(folder)
    sync(root)
    return number


def encode_schema(schema: pyarrow.Schema) -> str:
    """Return a schema as text, metadata included."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(text: str) -> pyarrow.Schema:
    """Return the schema of `encode_schema`. Raises ValueError, OSError, ArrowException."""
    schema = pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(text, validate=True)))
    if not schema.names:  # whose reading also finds names that are no text
        raise ValueError("a schema without columns")
    return schema


def check_descriptions(value: Mapping[str, Any]) -> None:
    """Raise ValueError where streams.json does not hold what `QuerySet.descriptions` is."""
    layout.check_format(value)
    if not isinstance(value.get("query_set"), str):
        raise ValueError("no query_set")
    streams = value.get("streams")
    if not isinstance(streams, dict):
        raise ValueError("no streams")
    for name, stream in streams.items():
        _check_description(name, stream)


def check_names(where: str, stream: str, names: Iterable[str]) -> None:
    """Raise SpoolReadError where a reader, which finds columns by name, would take one for another.

    Names that differ in case alone are one to Spark.
    """
    counts = Counter(name.lower() for name in names)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise SpoolReadError(
            f"{where} cannot be read: two columns of its stream {stream} are called "
            f"{printable(twice)}, and an earlier version wrote them",
            "write it again with this version, which gives each column a name of its own",
        )


def _check_description(name: object, stream: object) -> None:
    if not layout.is_name(name):
        raise ValueError(f"a stream cannot be called {name!r}")
    if not isinstance(stream, dict):
        raise ValueError(f"{name} is not described")
    for key, kind in (("hash", str), ("columns", list), ("arrow_schema", str)):
        if not isinstance(stream.get(key), kind):
            raise ValueError(f"{name} has no {key}")
    for column in stream["columns"]:
        if not isinstance(column, dict) or not isinstance(column.get("name"), str):
            raise ValueError(f"{name} has a column that is not described")
