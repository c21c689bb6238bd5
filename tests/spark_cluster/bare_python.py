# SPDX-License-Identifier: Apache-2.0
"""A Python that has PySpark and pyarrow and nothing of ours, for executors.

It is this Python behind a shell script: a `sitecustomize` refuses to import our packages, wherever
they are installed, and the script writes down what it was asked to run.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from spark_sink.programs import worker_python

PACKAGES = ("gigastream", "spark_sink", "pyspark_gigastream")
_CUSTOMIZE = f"""\
import sys


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {PACKAGES!r}:
            raise ModuleNotFoundError("not on this machine: " + name, name=name)


sys.meta_path.insert(0, Refuse())
"""
_SCRIPT = """\
#!/bin/sh
echo "$*" >>{log}
PYTHONPATH={folder}:$PYTHONPATH exec {python} "$@"
"""


@dataclass(frozen=True)
class BarePython:
    """The script's folder."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "python"

    def runs(self) -> list[str]:
        """What it was asked to run so far."""
        return (self.folder / "runs").read_text().splitlines()


def bare_python(folder: Path) -> BarePython:
    """Make one in a new folder."""
    folder.mkdir()
    python = BarePython(folder)
    (folder / "sitecustomize.py").write_text(_CUSTOMIZE)
    # Spark gives a worker ten seconds to start, and out of its archive PySpark is compiled anew.
    words = {"log": folder / "runs", "folder": folder, "python": worker_python()}
    quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
    python.program.write_text(_SCRIPT.format(**quoted))
    python.program.chmod(0o755)
    return python
