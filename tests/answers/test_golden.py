# SPDX-License-Identifier: Apache-2.0
"""Golden queries: the committed rows, however the packets come and whatever the settings."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pyarrow
import pytest
from cli.command import gigastream

from gigastream.codegen.query_set import generate
from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import run
from tests.answers.golden import Golden, golden_queries
from tests.answers.inputs import INPUTS
from tests.answers.paths import on_every_path
from tests.oracle.rows import assert_same_rows, difference, parse_csv

GOLDEN = golden_queries()
by_name = pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
Inputs = tuple[tuple[str, str], ...]


@by_name
def test_the_reference_gives_the_committed_rows(golden: Golden) -> None:
    expected, found = golden.expected(), golden.answers()
    assert expected.keys() == found.keys()
    for name, answer in found.items():
        header, rows = parse_csv(expected[name])
        assert header == [column.name for column in answer.columns]
        assert_same_rows(answer.shown(), rows)


# How the packets come: each is a context in which a source can be read, once


@contextmanager
def _file(path: Path) -> Iterator[Path]:
    yield path


@contextmanager
def _gzip(path: Path) -> Iterator[Path]:
    yield _made(path, ".gz", gzip.compress)


@contextmanager
def _zstd(path: Path) -> Iterator[Path]:
    yield _made(path, ".zst", lambda data: pyarrow.compress(data, "zstd", asbytes=True))


def _made(path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> Path:
    made = path.with_name(path.name + suffix)
    if not made.exists():
        made.write_bytes(compress(path.read_bytes()))
    return made


@contextmanager
def _pipe(path: Path) -> Iterator[Path]:
    reading, writing = os.pipe()
    writer = threading.Thread(target=_write, args=(writing, path.read_bytes()))
    writer.start()
    yield Path(f"/dev/fd/{reading}")
    os.close(reading)
    writer.join()


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(data)


WAYS = {"file": _file, "mmap": _file, "pipe": _pipe, "gzip": _gzip, "zstd": _zstd}


# What must not change a row


@dataclass(frozen=True)
class Variant:
    """A way in which the packets come, and settings."""

    way: str
    settings: Settings


def _variants(*ways: str) -> list[Variant]:
    choices = (None, *FLUSH_POLICIES), (1, 2, 64, None), (1, 3, 64, 256), (1, None)
    return [
        Variant(way, settings)
        for way, flush, slots, burst, rows in product(ways, *choices)
        for settings in on_every_path(
            Settings(flush=flush, slots=slots, burst=burst, batch_rows=rows, use_mmap=way == "mmap")
        )
    ]


STEP = 331
"""Every so many variants are tried by default; prime to the number of choices of each setting."""
DIVIDED_STEP = 131
"""The same of what threads divide."""


@cache
def _plan(inputs: Inputs) -> Plan:
    """All queries of the same inputs as one set, so that they are compiled once."""
    return _plan_of([golden for golden in GOLDEN if golden.inputs == inputs])


def _plan_of(golden: Sequence[Golden]) -> Plan:
    files = tuple(SourceFile(g.name, g.text) for g in golden)
    interfaces = {interface: {} for interface, _ in golden[0].inputs}
    texts = QueryTexts(files, interfaces=interfaces, is_finite=True)
    return plan_queries(check_texts(texts).queries, is_finite=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("inputs")
    for name, data in INPUTS.items():
        (made / name).write_bytes(data())
    return made


def _check(inputs: Inputs, variant: Variant, folder: Path) -> None:
    with ExitStack() as opened:
        sources = [
            FileSource(interface, str(opened.enter_context(WAYS[variant.way](folder / name))))
            for interface, name in inputs
        ]
        given = run(_plan(inputs), sources, variant.settings)
    expected = {n: rows for g in GOLDEN if g.inputs == inputs for n, rows in _rows(g).items()}
    assert given.rows.keys() == expected.keys()
    for name, rows in expected.items():
        problem = difference(rows, given.rows[name])
        assert problem is None, f"{name} by {variant}:\n{problem}"


@cache
def _rows(golden: Golden) -> dict[str, list[tuple[object, ...]]]:
    return {name: answer.shown() for name, answer in golden.answers().items()}


INPUTS_USED = sorted({golden.inputs for golden in GOLDEN})


@pytest.mark.long
@pytest.mark.parametrize("inputs", INPUTS_USED, ids=str)
def test_nothing_changes_a_row(inputs: Inputs, folder: Path) -> None:
    for variant in _variants(*WAYS)[::STEP]:
        _check(inputs, variant, folder)


@pytest.mark.slow
@pytest.mark.parametrize("inputs", INPUTS_USED, ids=str)
def test_nothing_at_all_changes_a_row(inputs: Inputs, folder: Path) -> None:
    for variant in _variants(*WAYS):
        _check(inputs, variant, folder)


ALONE = (
    Settings(burst=64),
    Settings(slots=2, burst=256, use_mmap=True),
    Settings(slots=1, burst=100, flush="immediate", disorder_bytes=50_000),
    *on_every_path(Settings(slots=16, disorder_bytes=50_000))[1:],
)


def test_those_that_see_packets_alone(folder: Path) -> None:
    """A set of its own for each query whose LFTA takes frames: in a greater set none does."""
    found = 0
    for golden in GOLDEN:
        plan = _plan_of((golden,))
        if ".takes_frames = true" not in generate(plan):
            continue
        found += 1
        sources = [FileSource(interface, str(folder / name)) for interface, name in golden.inputs]
        for settings in ALONE:
            given = run(plan, sources, settings)
            for name, rows in _rows(golden).items():
                problem = difference(rows, given.rows[name])
                assert problem is None, f"{name} by {settings}:\n{problem}"
    assert found > 8


# As a person asks


@by_name
def test_from_the_command_line(golden: Golden, folder: Path, tmp_path: Path) -> None:
    sources = [w for i, n in golden.inputs for w in ("-r", f"{i}={folder / n}")]
    is_one = len(golden.expected()) == 1
    output = "csv" if is_one else f"csv:{tmp_path}"
    done = gigastream("run", "-q", golden.path, *sources, "-o", output)
    assert done.code == 0, done.err
    for name, committed in golden.expected().items():
        given = (done.out if is_one else (tmp_path / f"{name}.csv").read_bytes()).decode()
        assert given.partition("\n")[0] == committed.partition("\n")[0]
        problem = difference(_rows(golden)[name], given)
        assert problem is None, f"{name}:\n{problem}"
