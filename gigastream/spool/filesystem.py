# SPDX-License-Identifier: Apache-2.0
"""Filesystems by URI: those that pyarrow opens, and those that fsspec does where it is installed.

Who may use one is said by the environment, as each filesystem's own documents have it, and never by
the URI, which stands among the processes, in logs and in checkpoints.
"""

from __future__ import annotations

import re

import pyarrow
from pyarrow import fs

from gigastream.spool.errors import SpoolReadError, printable

_SECRET = re.compile(
    r"://[^/?#]*:[^/?#]*@|[?&][^=&]*(secret|password|passwd|token|key|sas|sig)[^=&]*=",
    re.IGNORECASE,
)
_OWN_WAYS = (
    "say it in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials "
    "for s3, GOOGLE_APPLICATION_CREDENTIALS for gs, a ticket for hdfs"
)
_OBJECT_STORES = ("s3", "gcs", "abfs")
_CONNECT_SECONDS = 5
_ANSWER_SECONDS = 10
_ATTEMPTS = 3
_UNKNOWN = "Unrecognized filesystem type"


def open_filesystem(uri: str) -> tuple[fs.FileSystem | None, str]:
    """Return the filesystem of a URI, None for this host's, and the path on it.

    Raises SpoolReadError for a URI that cannot be opened, or that holds a secret.
    """
    refuse_secrets(uri)
    try:
        filesystem, root = fs.FileSystem.from_uri(uri)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if _UNKNOWN in str(error):
            return _of_fsspec(uri)
        raise SpoolReadError(f"{uri} cannot be opened: {first_line(error)}") from None
    if filesystem.type_name == "local":
        return None, root
    return _impatient(filesystem), root.rstrip("/")


def refuse_secrets(uri: str) -> None:
    """Raise SpoolReadError, which does not repeat it, for a URI with a password or the like."""
    if _SECRET.search(uri):
        scheme = printable(uri.split("://")[0])
        raise SpoolReadError(
            f"the {scheme}:// URI of a spool holds a password, a key or a token, which everybody "
            "would read among the processes",
            _OWN_WAYS,
        )


def is_object_store(filesystem: fs.FileSystem) -> bool:
    """Whether it shows an object when it is whole, and not before."""
    return filesystem.type_name in _OBJECT_STORES


def first_line(error: Exception) -> str:
    """Return what a filesystem says is wrong, bounded, good to print."""
    return printable(str(error).split("\n")[0][:300])


def _impatient(filesystem: fs.FileSystem) -> fs.FileSystem:
    """S3 as it is, but who does not answer is left within half a minute.

    The URI cannot say so, and without it a server that hangs is waited for without end.
    """
    if filesystem.type_name != "s3":
        return filesystem
    make, (options,) = filesystem.__reduce__()
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
    times = {"connect_timeout": _CONNECT_SECONDS, "request_timeout": _ANSWER_SECONDS}
    return make({**options, **times, "retry_strategy": retries, "allow_delayed_open": True})


def _of_fsspec(uri: str) -> tuple[fs.FileSystem, str]:
    scheme = printable(uri.split("://")[0])
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise SpoolReadError(
            f"{uri} cannot be opened: pyarrow knows no filesystem {scheme}",
            f"fsspec, with its package for {scheme}, may know it: pip install fsspec",
        ) from None
    try:
        filesystem, root = url_to_fs(uri)
    except Exception as error:  # each of its filesystems has errors of its own
        raise SpoolReadError(f"{uri} cannot be opened: {first_line(error)}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), root.rstrip("/")
