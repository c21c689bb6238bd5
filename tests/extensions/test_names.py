# SPDX-License-Identifier: Apache-2.0
"""Functions whose name is another's: a call would not reach them, and nobody would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

import gigastream
from tests.cli.command import gigastream as command

PYTHON = {
    "@udaf\ndef avg(x: Int32Array) -> DoubleScalar: ...": "2:5: error: avg is of the language",
    "@udf\ndef coalesce(x: Int32Array) -> Int32Array: ...": "error: coalesce is of the language",
    "@udf\ndef IF(x: Int32Array) -> Int32Array: ...": "error: IF is of the language",
    "@udf\ndef rsample(x: Int32Array) -> Int32Array: ...": "rsample is a function of another kind",
}
IN_C = {
    "float UDAF avg fstring16 (uint);": "1:12: error: avg is of the language",
    "uint FUN grouping (uint);": "1:10: error: grouping is of the language",
    "uint FUN rsample (uint);": "rsample is a function of another kind",
    "uint UDAF length fstring16 (uint);": "length is a function of another kind",
    "fstring8 STATE s; bool SFUN length s (uint);": "length is a function of another kind",
}


def refused(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(gigastream.GsqlError) as error:
        gigastream.explain("SELECT len FROM IPV4", definitions=file)
    return str(error.value)


@pytest.mark.parametrize("text", PYTHON)
def test_of_functions_in_python(text: str, tmp_path: Path) -> None:
    assert PYTHON[text] in refused(tmp_path / "f.py", text)


@pytest.mark.parametrize("text", IN_C)
def test_of_functions_in_c(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.h").write_text("")
    assert IN_C[text] in refused(tmp_path / "f.gsql", text)


@pytest.mark.parametrize("text", PYTHON)
def test_they_are_not_listed(text: str, tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text(text)
    done = command("functions", "--python", file)
    assert (done.code, done.out) == (2, b"")
    assert PYTHON[text] in done.err


def test_a_predicate_is_called_otherwise(tmp_path: Path) -> None:
    (tmp_path / "f.h").write_text("")
    (tmp_path / "f.gsql").write_text("PRED avg[uint];")
    assert gigastream.explain(
        "SELECT len FROM IPV4 WHERE avg[len]", definitions=tmp_path / "f.gsql"
    )
