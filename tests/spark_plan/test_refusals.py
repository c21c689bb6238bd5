# SPDX-License-Identifier: Apache-2.0
"""What Spark cannot run, as data: each file's messages are beside it, with place and hint.

The expected files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.gsql.diagnostics import GsqlError, render_all
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from spark_sink.refusals import check
from tests.answers import engine
from tests.answers.golden import NOT_STREAMED, Golden, golden_queries

FOLDER = Path(__file__).parent / "refused"
FILES = sorted(FOLDER.glob("*.gsql"))
by_name = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def plan_of(path: Path) -> Plan:
    """NAME.definitions beside NAME.gsql, if it is there, goes with it."""
    definitions = path.with_suffix(".definitions")
    texts = QueryTexts(
        (SourceFile(path.name, path.read_text()),),
        definitions=(str(definitions),) if definitions.exists() else (),
        interfaces={"default": {}},
    )
    return plan_queries(check_texts(texts).queries)


@by_name
def test_what_spark_cannot_run_gets_the_expected_messages(path: Path) -> None:
    with pytest.raises(GsqlError) as refused:
        check(plan_of(path))
    found = render_all(refused.value.diagnostics) + "\n"
    expected = path.with_suffix(".expected")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_every_expected_file_has_its_query() -> None:
    assert {path.with_suffix(".expected") for path in FILES} == set(FOLDER.glob("*.expected"))


@pytest.mark.parametrize("golden", golden_queries(on_spark=True), ids=lambda golden: golden.name)
def test_golden_queries_are_not_refused(golden: Golden) -> None:
    plan = engine.plan_of(golden.text, golden.name, golden.interfaces)
    check(plan, streaming=not golden.is_marked(NOT_STREAMED), on_driver=True)


def test_the_command_refuses_before_a_job_starts() -> None:
    """Java is not asked for: there is none where it is said to be."""
    query = FOLDER / "no_inverse.gsql"
    command = ("run", "--on", "spark", query, "-r", DEMO_CAPTURE)
    done = gigastream(*command, env={**os.environ, "JAVA_HOME": "/nowhere"})
    assert (done.code, done.out) == (2, b"")
    assert f"{query}:4:43: error: Spark cannot tell when w is over" in done.err
