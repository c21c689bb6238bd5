# SPDX-License-Identifier: Apache-2.0
"""From a path or URI to the place that it is: a spool, one that was shipped, or one that is served.

Loaded with the tasks that travel to executors, but for what asks servers.
"""

from __future__ import annotations

import os

from gigastream.spool.access import NO_ACCESS, Access
from gigastream.spool.errors import SpoolReadError
from gigastream.spool.filesystem import first_line, open_filesystem
from gigastream.spool.place import Place
from gigastream.spool.protocol import SCHEMES
from gigastream.spool.shipped_files import FAILURES
from gigastream.spool.shipped_place import known_shipped, shipped_at


def open_place(path: str | os.PathLike[str], access: Access = NO_ACCESS) -> Place:
    """Return the place of a path or URI. Raises SpoolReadError for a URI that cannot be opened."""
    text = os.fspath(path)
    if not text:
        raise SpoolReadError("the path of a spool is empty", "a folder, or a URI")
    if text.split("://")[0] in SCHEMES:
        return _open_served(text, access)
    known = known_shipped(text)
    if known is not None:
        return known
    store = open_store(text)
    try:
        return shipped_at(text, store) or store
    except FAILURES as error:
        if store.files is None:
            return store  # what is wrong with the folder is said by who reads it
        raise SpoolReadError(f"{text} cannot be opened: {first_line(error)}") from None


def open_store(text: str) -> Place:
    """Return the folder at a path or URI, whatever is in it. Raises SpoolReadError."""
    if "://" not in text:
        return Place(None, os.path.realpath(text))
    filesystem, root = open_filesystem(text)
    return Place(filesystem, os.path.realpath(root) if filesystem is None else root)


def _open_served(url: str, access: Access) -> Place:
    """Loaded late: it brings gRPC, and does not travel to executors with the tasks."""
    try:
        from gigastream.spool.served_place import open_served
    except ImportError:
        raise SpoolReadError(
            f"{url} is served by another host, which only the package itself reads",
            "install gigastream on the executors, too",
        ) from None
    return open_served(url, access)
