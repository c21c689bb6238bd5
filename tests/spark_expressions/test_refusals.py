# SPDX-License-Identifier: Apache-2.0
"""What cannot run on Spark, or could not run anywhere, is said before a job starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.expressions import FunctionCall
from spark_sink.expressions import refusal
from spark_sink.expressions.prefix_files import PrefixFileError, read_table
from tests.functions.test_handles import FILES
from tests.spark_expressions.inputs import checked

REFUSED = [
    ("getlpmid(x_IP, '/no/such/file.csv')", "getlpmid(x_IP, '/no/such/file.csv')",
     "/no/such/file.csv: No such file or directory"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "reason"), REFUSED)
def test_refused(text: str, place: str, reason: str) -> None:
    found = refusal(checked([text])[0])
    assert found is not None
    assert (found[0].text, found[1]) == (place, reason)


def test_a_function_of_your_own() -> None:
    """What is known of it by a spool alone is not run."""
    call = checked(["sqrt(x_float)"])[0]
    assert isinstance(call, FunctionCall)
    found = refusal(replace(call, name="entropy", symbol="gs_function_e", header="sha256:0"))
    assert found == (call.span, "entropy is code of a definition file that is not here")


@pytest.mark.parametrize(("text", "message"), FILES)
def test_files_of_prefixes(tmp_path: Path, text: str, message: str) -> None:
    """The engine's messages."""
    path = tmp_path / "prefixes.csv"
    path.write_text(text)
    with pytest.raises(PrefixFileError) as caught:
        read_table(str(path))
    assert str(caught.value) == f"{path}{message}"


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text("10.0.0.0/8,1\n")
    assert read_table(str(path)).find(10 << 24) == 1
    path.write_text("10.0.0.0/8,22\n")
    assert read_table(str(path)).find(10 << 24) == 22
