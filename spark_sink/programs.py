# SPDX-License-Identifier: Apache-2.0
"""Small programs that stand before Spark's, in our cache: a script for each text, made once."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path

from gigastream.paths import cache_directory
from spark_sink.job_errors import JobError

_PYTHON = """\
#!/bin/sh
# Spark puts an archive of PySpark before the one that is installed, and Python compiles what it
# imports from an archive each time: most of the time in which a worker starts.
IFS=:
set -f
kept=
for path in $PYTHONPATH; do
    case $path in
        */pyspark.zip | */py4j-*-src.zip) ;;
        *) kept=$kept${{kept:+:}}$path ;;
    esac
done
PYTHONPATH=$kept exec {python} "$@"
"""


def worker_python() -> Path:
    """Return a `python` for workers on this machine: this one, with the PySpark that it has."""
    return program("python", _PYTHON.format(python=shlex.quote(sys.executable)))


def program(name: str, text: str) -> Path:
    """Return a script of that text in the cache, as bin/`name` in a folder of its own.

    Raises JobError where there is no place for it.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        path = cache_directory() / f"{name}-{digest}" / "bin" / name
        if not os.access(path, os.X_OK):
            _make(path, text)
    except OSError as error:
        raise JobError(f"no place for a program of ours: {error}") from None
    return path


def _make(path: Path, text: str) -> None:
    """By rename: another process may be about to run it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.chmod(0o755)
    temporary.replace(path)
