# SPDX-License-Identifier: Apache-2.0
"""Imports go one way: what each part of the package may use of the others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from captures import ROOT

PACKAGE = ROOT / "gigastream"
SPARK = ROOT / "spark_sink"
GSQL = {
    *("gsql", "gsql.binder", "gsql.catalog", "gsql.operations", "gsql.order"),
    *("gsql.regular_expressions", "gsql.syntax"),
}
FRONT_END = {*GSQL, "query_texts"}
LEAVES = {
    *(
        "destination",
        "flush_policy",
        "liveness",
        "memory",
        "options",
        "ownership",
        "paths",
        "settings",
        "link_types",
        "timestamps",
        "words",
    )
}
EVERYWHERE = {"late_dataclass"}
SPARK_MAY_IMPORT = {
    *EVERYWHERE,
    *FRONT_END,
    *(
        "arrow_calls",
        "arrow_schema",
        "batch_calls",
        "codegen",
        "group_calls",
        "new_file",
        "opaque",
        "outputs",
        "ownership",
        "paths",
        "plan",
    ),
    *("sinks", "spool"),
}
MAY_IMPORT: dict[str, set[str]] = {
    "ipc_messages": set(),
    "late_dataclass": set(),
    "memory": set(),
    "new_file": set(),
    "opaque": set(),
    "ownership": set(),
    "flush_policy": set(),
    "punctuation": set(),
    "liveness": set(),
    "timestamps": set(),
    "link_types": set(),
    "settings": {"flush_policy", "link_types", "liveness", "timestamps"},
    "options": {"flush_policy", "link_types", "liveness", "settings", "timestamps"},
    "udf_mark": set(),
    "version": set(),
    "words": set(),
    "destination": {"ownership"},
    "paths": {"ownership"},
    "gsql": {"flush_policy", "opaque"},
    "gsql.regular_expressions": set(),
    "gsql.syntax": {"gsql"},
    "gsql.catalog": {"gsql", "gsql.syntax", "opaque", "paths", "udf_mark"},
    "gsql.order": {"gsql"},
    "gsql.operations": {"gsql", "gsql.catalog", "gsql.order"},
    "gsql.binder": {*GSQL, "flush_policy", "timestamps"} - {"gsql.binder"},
    "arrow_schema": {"gsql"},
    "batch_calls": {"gsql", "udf_mark"},
    "group_calls": {"batch_calls"},
    "arrow_calls": {"arrow_schema", "batch_calls", "group_calls", "gsql"},
    "live_functions": {"gsql", "gsql.catalog", "udf_mark"},
    "query_texts": {"gsql", "gsql.binder", "gsql.catalog"},
    "shipped_queries": {"gsql", "paths"},
    "plan": {"flush_policy", "gsql", "gsql.order", "words"},
    "codegen": {
        "flush_policy",
        "gsql",
        "gsql.order",
        "gsql.regular_expressions",
        "ownership",
        "paths",
        "plan",
    },
    "sources": {"link_types", "options", "settings", "shipped_queries", "timestamps", "words"},
    "records": {"gsql", "gsql.catalog", "ipc_messages", "sources", "timestamps", "words"},
    "outputs": {"destination", "words"},
    "sinks": {"new_file", "outputs", "words"},
    "spool": {
        *("arrow_schema", "gsql", "gsql.catalog", "ipc_messages", "plan", "punctuation"),
        *("query_texts", "words"),
    },
    "serving": {"spool"},
    "shipping": {"spool"},
    "engine": {
        *("arrow_calls", "arrow_schema", "batch_calls", "codegen", "flush_policy", "group_calls"),
        "gsql",
        *(
            "liveness",
            "memory",
            "ownership",
            "plan",
            "punctuation",
            "records",
            "settings",
            "sources",
            "timestamps",
            "words",
        ),
    },
    "sessions": {
        "liveness",
        "punctuation",
        "timestamps",
        *("codegen", "engine", "gsql", "plan", "query_texts", "records", "settings", "sources"),
        "spool",
    },
    "config": {"gsql", "options", "settings", "sources"},
    "compiled": {*FRONT_END, *LEAVES, "codegen", "plan", "version"},
    "daemon": {
        *FRONT_END,
        *LEAVES,
        *("arrow_schema", "codegen", "compiled", "config", "engine", "outputs", "plan"),
        *("records", "sessions", "sinks", "shipped_queries", "sources", "spool", "version"),
    },
    "console": {"daemon", "engine"},
    "library": {
        *FRONT_END,
        *LEAVES,
        "codegen",
        "compiled",
        "engine",
        "live_functions",
        "plan",
        "records",
        "sessions",
        "sources",
    },
    "cli": {
        *FRONT_END,
        *LEAVES,
        *("arrow_schema", "codegen", "compiled", "config", "engine", "library", "outputs", "plan"),
        *("console", "daemon", "records"),
        *(
            "serving",
            "sessions",
            "shipped_queries",
            "shipping",
            "sinks",
            "sources",
            "spool",
            "version",
        ),
    },
    "__init__": {"library", "udf_mark", "version"},
    "__main__": {"cli"},
}


def part_of(path: Path) -> str:
    """Return the part that a file belongs to: a folder, or a module beside them."""
    return _part(path.relative_to(PACKAGE).with_suffix("").parts)


def _part(parts: Sequence[str]) -> str:
    """Return the first name of a module's, or the first two where they are a folder's of gsql."""
    first_two = ".".join(parts[:2])
    return first_two if first_two in GSQL else parts[0]


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
                yield _part(rest)


def test_no_part_reaches_itself_by_way_of_others() -> None:
    for part in MAY_IMPORT:
        reached, waiting = set[str](), list(MAY_IMPORT[part])
        while waiting:
            other = waiting.pop()
            if other not in reached:
                reached.add(other)
                waiting += MAY_IMPORT[other]
        assert part not in reached


def test_a_class_name_stands_once() -> None:
    """Who reads a name knows which class it is."""
    found = Counter(
        node.name
        for folder in (PACKAGE, SPARK)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"{part} has no place in the table"
    assert set(imported_parts(path)) - {part} <= MAY_IMPORT[part] | EVERYWHERE


def test_dataclasses_are_the_ones_that_are_cheap_to_declare() -> None:
    """One that is not costs the start of every command a millisecond, and the module ten."""
    with_theirs = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^(from|import) dataclasses\b", path.read_text(), re.MULTILINE)
    ]
    assert with_theirs == []


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


UNUSED_BY_A_SMALL_RUN = {
    *("asyncio", "concurrent.futures", "csv", "dataclasses", "fractions", "http", "inspect"),
    *("logging", "msgspec", "numpy", "pandas", "pyarrow", "pyspark", "secrets", "socket", "ssl"),
    *("subprocess", "tempfile", "tomllib", "traceback", "urllib.request", "xml"),
    *("gigastream.cli.run_on_spark", "gigastream.cli.run_spool", "gigastream.codegen.compiler_run"),
    *("gigastream.gsql.catalog.python_files", "gigastream.records.open_stream"),
    *("gigastream.spool", "spark_sink"),
}
SMALL_RUN = """
import sys
from gigastream.cli.main import run_command_line
words = ["run", sys.argv[1], "-r", sys.argv[2], "-q", "-o", "csv:/dev/null"]
assert run_command_line(words) == 0
print(*sys.modules)
"""


def test_a_run_of_a_query_that_was_compiled_loads_what_it_uses() -> None:
    query, capture = ROOT / "demo" / "refused.gsql", ROOT / "demo" / "demo.pcap"
    words = [sys.executable, "-c", SMALL_RUN, str(query), str(capture)]
    subprocess.run(words, check=True, capture_output=True)  # compiled from here on
    loaded = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert "gigastream.sessions.session" in loaded
    assert set(loaded) & UNUSED_BY_A_SMALL_RUN == set()
