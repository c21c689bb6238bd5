# SPDX-License-Identifier: Apache-2.0
"""Where windows wait: in the spool by default, and as a checkpoint began."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from spark_sink.checkpoint import FILE
from spark_sink.job_errors import JobError
from spark_sink.sinks import parse_sink
from spark_sink.state_choice import is_without_state, output_name, outputs_begun

TABLE = parse_sink("duckdb:/rows.db")
IN_STORE, IN_SPOOL = TABLE.text, f"{TABLE.text} (--state spool)"


def begun(folder: Path, part: str) -> str:
    (folder / part).mkdir(parents=True)
    (folder / part / "0").write_text("{}")
    return str(folder)


def test_a_new_table_waits_in_the_spool_and_an_old_one_as_it_began() -> None:
    assert output_name(TABLE, None, ()) == output_name(TABLE, "spool", ()) == IN_SPOOL
    assert output_name(TABLE, None, [IN_STORE]) == output_name(TABLE, "rocksdb", ()) == IN_STORE
    assert output_name(TABLE, None, [IN_SPOOL]) == IN_SPOOL
    assert output_name(parse_sink("json"), None, ()) == "json"


@pytest.mark.parametrize(("state", "was"), [("spool", IN_STORE), ("memory", IN_SPOOL)])
def test_a_tables_state_cannot_be_changed(state: str, was: str) -> None:
    """Its keys are numbers of micro-batches: rows of the one would be taken for the other's."""
    with pytest.raises(JobError, match=f"cannot go on with --state {state}"):
        output_name(TABLE, state, [was])


def test_what_is_printed_waits_as_it_began(tmp_path: Path) -> None:
    store, spool = begun(tmp_path / "a", "offsets"), begun(tmp_path / "b", "planned")
    new = str(tmp_path / "c")
    assert [is_without_state("json", None, at) for at in (new, store, spool)] == [True, False, True]
    assert is_without_state("json", "spool", new)
    assert not is_without_state("json", "rocksdb", store)
    for state, at in (("spool", store), ("memory", spool)):
        with pytest.raises(JobError, match="cannot go on with --state"):
            is_without_state("json", state, at)


def test_outputs_of_all_runs_are_known(tmp_path: Path) -> None:
    assert outputs_begun(str(tmp_path)) == frozenset()
    said = {"outputs": ["b"], "parts": [["q", "a", "0-q-a"], ["q", "b", "1-q-b"]]}
    (tmp_path / FILE).write_text(json.dumps(said))
    assert outputs_begun(str(tmp_path)) == frozenset()
    (tmp_path / "0-q-a" / "offsets").mkdir(parents=True)
    (tmp_path / "0-q-a" / "offsets" / "0").touch()
    assert outputs_begun(str(tmp_path)) == {"a", "b"}
