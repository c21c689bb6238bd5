# SPDX-License-Identifier: Apache-2.0
"""The worked examples of docs/architecture.md are made in a copy of the project, built and run."""

from __future__ import annotations

import bz2
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE, ROOT
from docs.tables import quoted, tables
from docs.worked import Worked, worked

PAGE = ROOT / "docs" / "architecture.md"
PARTS = ("configs", "csrc", "demo", "docs", "gigastream", "spark_sink", "tests")
FILES = ("setup.py", "pyproject.toml", "CONTRIBUTING.md")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.so", ".hypothesis")
EXAMPLES = {example.title: example for example in worked(PAGE)}
ROWS = {
    "An operator": ("operator", "option in DEFINE"),
    "A source": ("compression",),
    "An aggregate": ("aggregate of accumulators that there are",),
    "An output": ("output format",),
}
"""The rows of CONTRIBUTING's table that an example is one of."""
OF_SANITIZERS = ("LD_PRELOAD", "GIGASTREAM_SANITIZE")
"""Variables under which the tests may run; the copy is built without."""
HOUSE_TESTS = ("plan/test_operator_is_a_file.py", "docs/test_tables.py", "test_architecture.py")
LENGTHS = "SELECT time/60 AS minute, srcPort, len FROM TCP"
SPREADS = "SELECT minute, srcPort, spread(len) AS s FROM TCP GROUP BY time/60 AS minute, srcPort"
PACKETS = "SELECT timestamp, srcIP, len, interface FROM IP"


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """A copy with all examples in it, which everybody may read: as root, cc is somebody else."""
    with tempfile.TemporaryDirectory(prefix="gigastream-worked-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in PARTS:
            shutil.copytree(ROOT / part, folder / part, ignore=NOT_COPIED)
        for file in FILES:
            shutil.copy(ROOT / file, folder)
        for example in EXAMPLES.values():
            example.apply(folder)
        python(folder, "setup.py", "-q", "build_ext", "--inplace")
        yield folder


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy."""
    own = {name: value for name, value in os.environ.items() if name not in OF_SANITIZERS}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env={**own, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def shown(tree: Path, query: str, *options: str, capture: Path = DEMO_CAPTURE) -> str:
    """What `gigastream run` prints; csv where the options say nothing else."""
    words = ("run", "-q", "-o", "csv", "-r", str(capture), *options, "-e", query)
    return python(tree, "-m", "gigastream", *words).stdout


def rows(tree: Path, query: str, *options: str, capture: Path = DEMO_CAPTURE) -> list[list[str]]:
    """The rows of an answer, below its header."""
    return [*csv.reader(shown(tree, query, *options, capture=capture).splitlines())][1:]


def listed() -> dict[str, tuple[set[str], set[str]]]:
    """CONTRIBUTING's table: the folders that get a file, the files that get lines."""
    ((_, *found),) = (t for t in tables(ROOT / "CONTRIBUTING.md") if t[0][0] == "new")
    return {row[0]: (set(quoted(row[1])), set(quoted(row[2]))) for row in found}


def test_there_are_four() -> None:
    assert list(EXAMPLES) == list(ROWS)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda example: example.title)
def test_a_change_touches_what_the_table_says(example: Worked) -> None:
    told = [listed()[name] for name in ROWS[example.title]]
    assert example.folders == set().union(*(folders for folders, _ in told))
    assert example.edited == set().union(*(files for _, files in told))
    assert len(example.new) == len(example.folders)


@pytest.mark.parametrize(
    "path", sorted({path for row in listed().values() for part in row for path in part})
)
def test_what_the_table_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.long
def test_every_tenth_row_passes(tree: Path) -> None:
    every = rows(tree, PACKETS)
    assert len(every) > 1000
    assert rows(tree, f"DEFINE {{ every 10; }} {PACKETS}") == every[9::10]
    assert rows(tree, f"DEFINE {{ every 10; }} {PACKETS}", "--batch-rows", "7") == every[9::10]
    assert rows(tree, f"DEFINE {{ every 3; }} {PACKETS} LIMIT 5") == every[2::3][:5]


def test_a_bzip2_capture_is_read(tree: Path) -> None:
    data = DEMO_CAPTURE.read_bytes()
    half = len(data) // 2
    packed = tree / "demo.pcap.bz2"
    packed.write_bytes(bz2.compress(data[:half]) + bz2.compress(data[half:]))
    assert rows(tree, PACKETS, capture=packed) == rows(tree, PACKETS)


@pytest.mark.parametrize("define", ["", "DEFINE { select_lfta; }", "DEFINE { lfta_aggregation; }"])
def test_a_spread_is_the_greatest_without_the_least(tree: Path, define: str) -> None:
    lengths = defaultdict[tuple[str, str], list[int]](list)
    for minute, port, length in rows(tree, LENGTHS):
        lengths[minute, port].append(int(length))
    spreads = [[*group, str(max(of) - min(of))] for group, of in lengths.items()]
    assert any(spread != "0" for *_, spread in spreads)
    assert sorted(rows(tree, define + SPREADS)) == sorted(spreads)


def test_partial_spreads_are_completed(tree: Path) -> None:
    assert sorted(rows(tree, SPREADS, "--slots", "2")) == sorted(rows(tree, SPREADS))


def test_tsv_is_csv_with_tabs(tree: Path) -> None:
    lines = shown(tree, PACKETS, "-o", "tsv").splitlines()
    assert lines[0].split("\t") == ["timestamp", "srcIP", "len", "interface"]
    assert [line.split("\t") for line in lines[1:]] == rows(tree, PACKETS)
    assert "csv, tsv, arrow" in python(tree, "-m", "gigastream", "run", "--help").stdout


def test_what_is_new_is_in_the_house_s_form(tree: Path) -> None:
    python(tree, "-m", "ruff", "check", "-q", "gigastream", "spark_sink")
    python(tree, "-m", "ruff", "format", "-q", "--check", "gigastream", "spark_sink")
    form = shutil.which("clang-format-14")
    if form is not None:
        c = [str(tree / path) for path in all_touched() if path.endswith((".c", ".h"))]
        style = f"--style=file:{ROOT / '.clang-format'}"
        subprocess.run([form, style, "--dry-run", "-Werror", *c], check=True)


def all_touched() -> set[str]:
    """The files that the examples make or change."""
    return {path for example in EXAMPLES.values() for path in (*example.new, *example.edited)}


@pytest.mark.slow
def test_the_house_s_own_tests_hold(tree: Path) -> None:
    tests = [f"tests/{name}" for name in HOUSE_TESTS]
    python(tree, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


@pytest.mark.slow
def test_types_hold(tree: Path) -> None:
    python(tree, "-m", "mypy", "gigastream", "spark_sink")


@pytest.mark.slow
def test_a_spread_on_spark_is_the_same(tree: Path) -> None:
    pytest.importorskip("pyspark")
    assert sorted(rows(tree, SPREADS, "--on", "spark")) == sorted(rows(tree, SPREADS))
