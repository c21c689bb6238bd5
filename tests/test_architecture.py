# SPDX-License-Identifier: Apache-2.0
"""Imports go one way: what each part of the package may use of the others."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import ROOT

PACKAGE = ROOT / "gigastream"
SPARK = ROOT / "spark_sink"
SPARK_MAY_IMPORT = {"arrow_schema", "gsql", "outputs", "paths", "plan", "query_texts"}
SPARK_MAY_IMPORT |= {"spool", "spooled"}
LEAVES = {"destination", "ownership", "paths", "settings", "decompress", "sources", "live"}
LEAVES |= {"bpf", "libpcap", "memory", "packets", "words"}
MAY_IMPORT: dict[str, set[str]] = {
    "ownership": set(),
    "destination": {"ownership"},
    "paths": {"ownership"},
    "settings": set(),
    "decompress": set(),
    "libpcap": set(),
    "memory": set(),
    "words": set(),
    "bpf": {"libpcap", "shipped_queries"},
    "shipped_queries": {"gsql", "paths"},
    "sources": {"decompress"},
    "packets": {"sources", "words"},
    "live": {"libpcap", "settings", "sources"},
    "outputs": {"destination", "words"},
    "gsql": {"paths"},
    "plan": {"gsql", "words"},
    "codegen": {"gsql", "ownership", "plan", "paths"},
    "arrow_schema": {"gsql"},
    "engine": {"gsql", "plan", "codegen", "arrow_schema", "outputs"} | LEAVES,
    "config": {"gsql", "live", "settings"},
    "query_texts": {"gsql"},
    "compiled": {
        "gsql",
        "__version__",
        "codegen",
        "destination",
        "ownership",
        "paths",
        "plan",
        "query_texts",
    },
    "spool": set(),
    "spool_account": {"spool"},
    "spooled": {"arrow_schema", "gsql", "plan", "query_texts", "spool"},
    "to_spool": {
        *("arrow_schema", "codegen", "engine", "gsql", "live", "plan", "query_texts"),
        *("settings", "spool", "spool_account", "spooled", "sources"),
    },
    "from_spool": {"engine", "plan", "settings", "spool", "spool_account"},
    "library": {"compiled", "gsql", "plan", "codegen", "engine", "query_texts"} | LEAVES,
    "cli": {
        "gsql",
        "plan",
        "codegen",
        "compiled",
        "engine",
        "outputs",
        "arrow_schema",
        "config",
        "query_texts",
        "shipped_queries",
        "library",
        "spool",
        "spool_account",
        "spooled",
        "to_spool",
        "from_spool",
        "live",
        "__version__",
    }
    | LEAVES,
    "__init__": {"library"},
    "__main__": {"cli"},
}


def part_of(path: Path) -> str:
    """Return the part that a file belongs to: a folder of the package, or a module beside them."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> Iterator[str]:
    """Yield the parts of the package that a file names in its imports, late ones too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, *rest = name.split(".")
            if package == "gigastream" and rest:
                yield rest[0]


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"{part} has no place in the table"
    assert set(imported_parts(path)) - {part} <= MAY_IMPORT[part]


@pytest.mark.parametrize("path", sorted(SPARK.rglob("*.py")), ids=lambda path: path.name)
def test_spark_knows_the_front_end_and_the_spool_alone(path: Path) -> None:
    """Never the engine: a driver or an executor has no compiler, and its Python may have no cffi.

    As a program the job is the command line's.
    """
    program = {"cli"} if path.name == "job.py" else set()
    assert set(imported_parts(path)) <= SPARK_MAY_IMPORT | program


HEAVY = ("pyarrow", "pyspark", "numpy", "ctypes", "subprocess", "tomllib")


@pytest.mark.parametrize("module", HEAVY)
def test_the_command_line_loads_nothing_heavy(module: str) -> None:
    program = f"import gigastream, gigastream.cli.run, sys; sys.exit('{module}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
