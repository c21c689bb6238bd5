# SPDX-License-Identifier: Apache-2.0
"""Places that must lie apart: what a run writes comes into nothing that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gigastream.late_dataclass import dataclass
from gigastream.spool.errors import SpoolReadError

_HADOOP_S3 = ("s3a", "s3n")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A path here, or a URI, and what a person is told that it is."""

    what: str
    path: str
    is_whole: bool = True
    """Whether all that lies in it is its own; else files are put there beside others."""


def check_apart(written: NamedPlace, others: Iterable[NamedPlace]) -> None:
    """Raise SpoolReadError where what is written is, lies in, or holds one of the others."""
    for other in others:
        if _holds(written, other) or _holds(other, written):
            raise SpoolReadError(
                f"{written.what} and {other.what} are one in the other", "another place"
            )


def _holds(outer: NamedPlace, inner: NamedPlace) -> bool:
    way, its = _way(outer.path), _way(inner.path)
    return way == its or (outer.is_whole and its[: len(way)] == way)


def _way(path: str) -> tuple[str, ...]:
    """Return the names that lead to a place, links followed; of a URI without its user."""
    if path.startswith("file:"):  # Spark writes one slash, others three
        path = unquote(urlsplit(path).path)
    if "://" not in path:
        return Path(os.path.realpath(path)).parts
    parts = urlsplit(path)
    scheme = "s3" if parts.scheme in _HADOOP_S3 else parts.scheme
    names = (name for name in parts.path.split("/") if name)
    return (f"{scheme}://{parts.netloc.rpartition('@')[2]}", *names)
