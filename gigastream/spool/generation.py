# SPDX-License-Identifier: Apache-2.0
"""A generation: the runs of one query set over one stream and interface, as far as it goes on.

A new one is made beside its place and renamed into it, so that readers never see half of one.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow

from gigastream.spool import layout
from gigastream.spool.files import sync, write_json


@dataclass(frozen=True, slots=True)
class Description:
    """What a generation is of: the content of its stream.json, plan.json and queries.json."""

    stream: str
    interface: str
    schema: pyarrow.Schema
    columns: list[dict[str, Any]]
    plan: dict[str, Any]
    queries: dict[str, Any]

    def stream_json(self, generation: int) -> dict[str, Any]:
        """Return the content of stream.json."""
        return {
            "format": layout.FORMAT,
            "stream": self.stream,
            "interface": self.interface,
            "generation": generation,
            "query_set": layout.query_set_hash(self.plan),
            "columns": self.columns,
            "arrow_schema": encode_schema(self.schema),
            "made_ns": time.time_ns(),
        }

    def is_of(self, folder: Path) -> bool:
        """Whether a generation that exists is of the same schema and query set."""
        there = _read_object(folder / layout.STREAM)
        mine = json.loads(json.dumps(self.stream_json(0)))
        return all(
            there.get(name) == mine[name]
            for name in ("format", "query_set", "columns", "arrow_schema")
        )


def encode_schema(schema: pyarrow.Schema) -> str:
    """Return a schema as text, metadata included."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(text: str) -> pyarrow.Schema:
    """Return the schema of `encode_schema`. Raises ValueError, OSError, ArrowException."""
    schema = pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(text, validate=True)))
    if not schema.names:  # whose reading also finds names that are no text
        raise ValueError("a schema without columns")
    return schema


def generations(track_folder: Path) -> list[int]:
    """Return the numbers of a track's generations, the newest last."""
    numbers = (layout.generation_of(name) for name in os.listdir(track_folder))
    return sorted(number for number in numbers if number is not None)


def make_generation(track_folder: Path, number: int, description: Description) -> Path:
    """Make an empty generation, durable, and return its folder. Raises OSError."""
    making = track_folder / f"{layout.MAKING}{number}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    write_json(making / layout.STREAM, description.stream_json(number))
    write_json(making / layout.PLAN, description.plan)
    write_json(making / layout.QUERIES, description.queries)
    (making / layout.MANIFEST).touch()
    sync(making)
    folder = track_folder / layout.generation_name(number)
    making.rename(folder)
    sync(track_folder)
    return folder


def _read_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file, an empty one if the file holds no such thing."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
