# SPDX-License-Identifier: Apache-2.0
"""Spools as the low level writes them, and what the engine answers from the same packets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.dataset
from captures import DEMO_CAPTURE
from cli.command import gigastream

QUERY = """SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes
    FROM IPV4 GROUP BY time/60 AS tb, srcIP"""
SETS = f"""DEFINE {{ query_name talkers; }} {QUERY};
    DEFINE {{ query_name resets; }}
    SELECT time, destIP, srcPort, community_id FROM TCP WHERE rst = 1"""


def spool(
    root: Path,
    query: str = QUERY,
    captures: Sequence[str] = (str(DEMO_CAPTURE),),
    words: Sequence[str] = (),
) -> Path:
    """Write a spool of captures, to their end."""
    sources = [word for capture in captures for word in ("-r", capture)]
    done = gigastream("run", "-e", query, *sources, "-o", f"spool:{root}", *words)
    assert done.code == 0, done.err
    return root


@cache
def answered_here(query: str = QUERY, *words: str) -> list[dict[str, Any]]:
    """The rows of the engine alone, sorted."""
    done = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "json", *words)
    assert done.code == 0, done.err
    return in_order(map(json.loads, done.lines))


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a multiset."""
    return sorted(rows, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def parquet(files: Path | Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of a folder, or of files."""
    found = files if isinstance(files, Path) else [str(path) for path in files]
    rows = pyarrow.dataset.dataset(found, format="parquet").to_table().to_pylist()
    return in_order({key: plain(value) for key, value in row.items()} for row in rows)


def plain(value: Any) -> Any:
    """As JSON has it: a decimal is a number, bytes are text."""
    if isinstance(value, bytes):
        return value.decode()
    return value if value is None or isinstance(value, str) else int(value)
