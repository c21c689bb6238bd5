# SPDX-License-Identifier: Apache-2.0
"""The tables of a daemon's configuration file, a type each: what keys there are, of what kind.

Beside these, the options of `gigastream run` are keys of the file (OPTIONS), and those of live
links keys of each [[link]] (LIVE_OPTIONS).
"""

from __future__ import annotations

from typing import Any

import msgspec

from gigastream.settings import parse_bytes

Word = str | int | float | bool
"""A value that is read as its text would be on the command line."""
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def kinds_text(kinds: str) -> str:
    """What a value should be, of the kinds that msgspec names."""
    named = (kind.strip() for kind in kinds.split("|"))
    return " or ".join(_KINDS.get(kind, kind) for kind in named if kind != "null")


def word_text(value: Word) -> str:
    """Return a value as the command line would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def positive_bytes(text: str) -> int:
    """Of a text. ValueError."""
    size = parse_bytes(text)
    if size == 0:
        raise ValueError("a size above 0, such as 64MiB")
    return size


class _ConfigTable(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """A table."""


class TopTable(_ConfigTable, rename="kebab"):
    """The keys that stand before the first table, and the tables."""

    user: str = "nobody"
    cache: str | None = None
    state: str | None = None
    folders: list[str] = []
    tables: bool = False
    definitions: list[str] = []
    library: str | None = None
    watchdog: Word = "30s"
    log: str = "lines"
    strict: bool = False
    reopen_links: bool = False
    control: dict[str, Any] = {}
    overload: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    link: list[dict[str, Any]] = []
    file: list[dict[str, Any]] = []
    stream: list[dict[str, Any]] = []
    query: list[dict[str, Any]] = []


class LinkTable(_ConfigTable, rename="kebab"):
    """[[link]]."""

    device: str
    name: str | None = None
    liveness: Word | None = None
    on_failure: str | None = None
    properties: dict[str, Word] = {}


class FileTable(_ConfigTable, rename="kebab"):
    """[[file]]."""

    path: str
    name: str
    liveness: Word | None = None
    on_failure: str | None = None
    properties: dict[str, Word] = {}


class StreamTable(_ConfigTable, rename="kebab"):
    """[[stream]]."""

    name: str
    place: str
    format: str | None = None


class QueryTable(_ConfigTable, rename="kebab"):
    """[[query]]."""

    file: str | None = None
    text: str | None = None
    name: str | None = None
    param: dict[str, Word] = {}
    output: list[str] = []
    first_window: str = "edge"
    priority: int = 0
    low_level_only: bool = False
    rotate_bytes: Word | None = None
    rotate_every: Word | None = None
    keep: int | None = None
    cut_column: bool = False


class ControlTable(_ConfigTable, rename="kebab"):
    """[control]."""

    socket: str | None = None
    group: str | None = None


class OverloadTable(_ConfigTable, rename="kebab"):
    """[overload]."""

    policy: str = "drop"
    high_percent: int = 60
    low_percent: int = 10
    calm: Word = "5s"
    most: int = 10


class MetricsTable(_ConfigTable, rename="kebab"):
    """[metrics]."""

    address: str | None = None
