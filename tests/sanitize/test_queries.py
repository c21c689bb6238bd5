# SPDX-License-Identifier: Apache-2.0
"""Random queries: what the checker passes, the C compiler takes, and it runs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from gigastream.codegen.compiler import find_compiler
from gigastream.codegen.query_set import generate
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.source import SourceFile
from gigastream.paths import include_directory
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from tests.captures import DEMO_CAPTURE, captures
from tests.sanitize.expected import expected
from tests.sanitize.jobs import Job
from tests.sanitize.process import Worker
from tests.sanitize.query_sets import query_sets
from tests.sanitize.random_queries import QueryMaker
from tests.sanitize.turns import SECONDS, SEED, turns
from tests.sanitize.variants import same_rows

COMPILED = 12
SET_SIZE = 10 if SECONDS < 10 else 25
"""Queries that are compiled together: more of them save starts, fewer answer sooner."""
LIMIT_SECONDS = 300.0
_TOKEN = re.compile(r"'[^']*'|\w+|[^\w\s]")


def _is_passed(text: str) -> bool:
    """Whether the checker takes it; whatever it does not must be an error with a place."""
    try:
        check_texts(QueryTexts((SourceFile("random", text),)))
    except GsqlError as error:
        return not error.diagnostics  # then its compilation raises the same
    return True


def _made(random: Random) -> Iterator[str]:
    maker, number = QueryMaker(random), 0
    while True:
        number += 1
        yield maker.query(f"q{number}")


def _mutated(random: Random) -> Iterator[str]:
    """The queries of this folder with words lost, doubled and exchanged."""
    texts = [q for s in query_sets() for q in _uncommented(s.text).split(";\n") if "SELECT" in q]
    words = sorted({word for text in texts for word in _TOKEN.findall(text)})
    while True:
        tokens = _TOKEN.findall(random.choice(texts))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(tokens))
            tokens[at : at + random.randint(0, 2)] = random.sample(words, random.randint(0, 2))
        yield " ".join(tokens)


def _uncommented(text: str) -> str:
    return re.sub(r"(?m)--.*$", "", text)


@pytest.mark.parametrize("make", [_made, _mutated])
def test_what_is_passed_compiles(make: Callable[[Random], Iterator[str]]) -> None:
    passed = filter(_is_passed, make(Random(SEED)))
    for _ in turns(COMPILED):
        _compile(next(passed))


def _compile(text: str) -> None:
    """GCC reads it, without making code of it, which takes ten times longer."""
    plan = plan_queries(check_texts(QueryTexts((SourceFile("random", text),))).queries)
    command = [find_compiler(), "-std=c11", "-D_GNU_SOURCE", "-w", "-fsyntax-only"]
    command += [f"-I{include_directory()}", "-x", "c", "-"]
    done = subprocess.run(
        command, input=generate(plan), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stderr}"


@pytest.mark.long
def test_what_is_passed_runs(sanitized: None, tmp_path: Path) -> None:
    """Sets of random queries over a few captures: no report, and settings change no row."""
    random = Random(SEED)
    for number in turns(1):
        path = tmp_path / f"random{number}.gsql"
        passed = (text for text in _made(random) if _is_passed(text))
        path.write_text(";\n".join(next(passed) for _ in range(SET_SIZE)))
        _run(path, random)


def _run(queries: Path, random: Random) -> None:
    odd = [path for path in captures("good", "hostile") if path.stat().st_size < 50_000]
    with Worker(queries) as worker:
        for capture in (DEMO_CAPTURE, *random.sample(odd, min(10, len(odd)))):
            wanted, number = expected(capture.read_bytes()), random.randrange(1000)
            sources = (("default", str(capture)),)
            jobs = [Job(sources, *same_rows(number)), Job(sources, *same_rows(number * 11 + 5))]
            first, again = (worker.ask(job, LIMIT_SECONDS) for job in jobs)
            wanted.check(jobs[0], first)
            wanted.check(jobs[1], again)
            wanted.check_same(jobs, first, again)
