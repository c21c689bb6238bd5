# SPDX-License-Identifier: Apache-2.0
"""Queries that ship, and are asked for by name: the files of configs/queries."""

from __future__ import annotations

from pathlib import Path

from gigastream.paths import configs_directory

QUERY_SUFFIX = ".gsql"
OBJECT_SUFFIX = ".so"
"""Of a compiled query set."""
DEFAULT_QUERY = "talkers"
"""What `run` answers where no query is named."""


def shipped_queries() -> dict[str, Path]:
    """Return the file of each query by its name."""
    files = sorted((configs_directory() / "queries").glob(f"*{QUERY_SUFFIX}"))
    return {path.stem: path for path in files}


def description_of(text: str) -> str:
    """Return the comment that a query begins with, up to its first line's end."""
    first = text.partition("\n")[0]
    return first.removeprefix("--").strip() if first.startswith("--") else ""


def hint_for(word: str, *, is_alone: bool = True) -> str | None:
    """Say which query is likely meant by a word that is none, nor anything else.

    One with others behind it may be a filter's: then only what is nearly a query is one.
    """
    if Path(word + QUERY_SUFFIX).is_file():
        return f"a query file is named whole: {word}{QUERY_SUFFIX}"
    from gigastream.gsql.diagnostics import closest

    found = closest(word, shipped_queries())
    if found:
        return f"did you mean the query {found}?"
    named = f"a query file ends in {QUERY_SUFFIX}, and the queries that ship are "
    return named + ", ".join(shipped_queries()) if is_alone and word.isidentifier() else None
