# SPDX-License-Identifier: Apache-2.0
"""A stream as a table of Spark's catalog: CREATE TABLE low USING gigastream LOCATION '/spool'.

Spark shows a source the options of a table once, when it asks for the columns. To who reads the
table it gives the columns and none of the options (Java: PythonTable has no properties, and its
scan gets the options of the SELECT alone). So they are kept where the catalog keeps columns: in the
metadata of the first one.

A table has its spool's path as its location, so that Spark takes it for external: DROP TABLE
forgets it and deletes nothing. One without a location would get a folder of Spark's, which Spark
deletes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from spark_sink.errors import SpoolSourceError

_KEPT = "gigastream"
"""The metadata of a table's heartbeat, in which its options are."""
_OPTION = "option."
"""What Spark puts before the names of a table's options, among its properties."""
MAKE_AGAIN = "make the table again: DROP TABLE leaves the spool as it is"


def table_options(given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the options of a table that is being made; None: what is asked for is no table.

    Raises SpoolSourceError where it would not be the table of one spool.
    """
    names = {name.lower(): text for name, text in given.items()}
    if "provider" not in names:
        return None
    options = {
        name.removeprefix(_OPTION): text
        for name, text in names.items()
        if name.startswith(_OPTION) and name != f"{_OPTION}path"
    }
    # A path may be any TBLPROPERTY, which makes no table external; a location Spark alone says.
    if "paths" in options or "location" not in names:
        raise SpoolSourceError(
            "a table is of one spool, which is its LOCATION",
            "CREATE TABLE … USING gigastream LOCATION '/var/spool/…'; several spools are a view: "
            "CREATE TEMPORARY VIEW … USING gigastream OPTIONS (paths 'a,b')",
        )
    return {"path": _path(names["location"]), **options}


def keep_options(schema: Any, options: Mapping[str, str]) -> Any:
    """Return the columns of a table, in which its options are kept."""
    heartbeat, *columns = schema.fields
    stream = f"the stream {options['stream']}" if "stream" in options else "the stream"
    heartbeat.metadata = {
        _KEPT: json.dumps(options),
        "comment": f"heartbeat; {stream} of {options['path']}",  # DESCRIBE shows it
    }
    return type(schema)([heartbeat, *columns])


def with_kept_options(schema: Any, given: Mapping[str, str]) -> Mapping[str, str]:
    """Return what a table was made with, behind what is `given` for this time."""
    if not is_of_table(schema) or not {"path", "paths"}.isdisjoint(name.lower() for name in given):
        return given
    kept: dict[str, str] = json.loads(schema.fields[0].metadata[_KEPT])
    return kept | {name.lower(): text for name, text in given.items()}


def is_of_table(schema: Any) -> bool:
    """Whether the columns are those of a table."""
    return bool(schema.fields) and _KEPT in (schema.fields[0].metadata or {})


def _path(location: str) -> str:
    """Spark makes a URI of a folder; a folder from where it is now, it looks for elsewhere.

    It puts `file:` before text and quotes none of it: who gives a URI has quoted it.
    """
    path = location.removeprefix("file:")
    if path != location and not Path(path).is_dir():
        path = unquote(path)
    if "://" not in path and not path.startswith("/"):
        raise SpoolSourceError(
            f"the LOCATION {location} is relative, and a table is read from any folder",
            "give the whole path of the spool, from / on",
        )
    return f"/{path.lstrip('/')}" if path.startswith("/") else path
