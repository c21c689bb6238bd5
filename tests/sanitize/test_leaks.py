# SPDX-License-Identifier: Apache-2.0
"""`make sanitize` counts leaks: what the engine loses is seen, what is CPython's is passed over."""

from __future__ import annotations

import subprocess
import sys

from tests.captures import DEMO_CAPTURE, ROOT
from tests.sanitize.tree import environment

SUPPRESSIONS = ROOT / "tests" / "sanitize" / "leaks.supp"
OPTIONS = ROOT / "tests" / "sanitize" / "options"
LEAKED = 23
QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
LOSES_A_SET = f"""
from gigastream.engine.attached_set import AttachedSet
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
texts = QueryTexts(inline_queries(({QUERY!r},)))
AttachedSet(plan_queries(check_texts(texts).queries))
"""


def python(*words: object) -> subprocess.CompletedProcess[str]:
    surroundings = environment()
    leaks = f'detect_leaks=0:include_if_exists="{OPTIONS}/%b"'
    options = f"{leaks}:malloc_context_size=2:allocator_may_return_null=1"
    surroundings["ASAN_OPTIONS"] = f"{options}:exitcode={LEAKED}"
    surroundings["LSAN_OPTIONS"] = f'suppressions="{SUPPRESSIONS}":print_suppressions=0'
    command = [sys.executable, "-P", *map(str, words)]
    return subprocess.run(
        command, env=surroundings, capture_output=True, text=True, timeout=900, check=False
    )


def test_what_the_engine_loses_is_seen(sanitized: None) -> None:
    done = python("-c", LOSES_A_SET)
    assert done.returncode == LEAKED, done.stderr
    assert "csrc/runtime/attached_set.c" in done.stderr


def test_a_run_loses_nothing(sanitized: None) -> None:
    done = python("-m", "gigastream", "run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
