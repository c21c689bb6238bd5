# SPDX-License-Identifier: Apache-2.0
"""The compile helper's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from gigastream.compiled import read_object
from gigastream.daemon.compiling import CompileRequest, answer
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import AddSet, QuerySetSpec, Request
from gigastream.daemon.python_files import called_code, has_changed
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from tests.room import files_no_larger_than

TEXT = (
    "DEFINE { query_name q; } PARAM { least uint 5; } SELECT time, len FROM PKT WHERE len > $least"
)


def request(text: str, folder: Path | None = None, **parameters: str) -> CompileRequest:
    """What a supervisor asks."""
    spec = QuerySetSpec(name="set", text=text, file="a.gsql", parameters=parameters)
    where = None if folder is None else str(folder)
    return CompileRequest(spec=spec, interfaces={"eth0": {}}, folder=where)


def test_an_object_for_each_text_and_value(tmp_path: Path) -> None:
    """It carries its plan; another value is another object, and the same is the same."""
    paths = [answer(request(TEXT, tmp_path, least=value)).object_path for value in "117"]
    assert paths[0] == paths[1] != paths[2]
    plan, _ = read_object(Path(paths[0]))
    assert plan.outputs[0].name == "q"


def test_a_check_compiles_nothing() -> None:
    """Columns with their types, and the plan."""
    result = answer(request(TEXT))
    assert result.check.ok
    assert [(c.name, c.type) for c in result.check.columns["q"]] == [
        ("time", "uint"),
        ("len", "uint"),
    ]
    assert "LFTA" in result.check.explain
    assert result.object_path == ""


def test_what_is_wrong_is_said_with_its_place() -> None:
    """As `gigastream check` says it."""
    result = answer(request("SELECT tme FROM PKT"))
    assert not result.check.ok
    assert result.check.message.startswith("a.gsql:1:8: error:")
    assert "^~~" in result.check.message


@pytest.mark.parametrize(
    "text",
    [
        "uint FUN own(uint);\nSELECT own(len) FROM PKT",
        "PROTOCOL own (PKT) { uint a gs_a; }\nSELECT a FROM own",
        "uint FUN [HEADER own] own(uint); SELECT len FROM PKT",
    ],
)
def test_a_text_brings_no_code(tmp_path: Path, text: str) -> None:
    """What is C is declared in definition files, which the configuration alone can name."""
    result = answer(request(text, tmp_path))
    assert not result.check.ok
    assert "expected SELECT, MERGE, WITH, DEFINE or PARAM" in result.check.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["definitions", "library", "include"])
def test_a_client_names_no_definitions(key: str) -> None:
    """The messages have no place for them: one that tries is no request."""
    asked = AddSet(query_set=request(TEXT).spec)
    line = msgspec.json.decode(msgspec.json.encode(asked))
    line["query_set"][key] = ["/srv/own.gsql"]
    with pytest.raises(msgspec.ValidationError, match=f"unknown field `{key}`"):
        msgspec.json.decode(msgspec.json.encode(line), type=Request)


def test_where_the_object_cannot_be_written(tmp_path: Path) -> None:
    """A file in the folder's place is said, and is no fault of ours."""
    (tmp_path / "file").write_text("")
    result = answer(request(TEXT, tmp_path / "file"))
    assert not result.check.ok
    assert "fault" not in result.check.message


def test_a_cache_without_room_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    answer(request(TEXT, tmp_path / "first"))  # fills the compiler's own cache, not meant here
    with files_no_larger_than(1000):
        result = answer(request(TEXT, tmp_path))
    assert result.check.message.startswith(f"{tmp_path}/")
    assert "ulimit -f" in (result.hint or "")


def test_what_no_loader_can_write_is_refused(tmp_path: Path) -> None:
    """Rows whose windows no column ends; files of this host."""
    (tmp_path / "list").write_text("10.0.0.0/8,1\n")
    timeless = "DEFINE { query_name q; } SELECT srcIP FROM IP"
    names_file = (
        "DEFINE { query_name q; } SELECT tb, srcIP, count(*) AS n FROM IP "
        f"GROUP BY time AS tb, srcIP HAVING getlpmid(srcIP, '{tmp_path}/list') > 0"
    )
    for text, said in ((timeless, "says when a window is over"), (names_file, "reads the file")):
        asked = request(text)
        assert answer(asked).check.ok
        tables = msgspec.structs.replace(asked.spec, outputs=("spool:/s", "duckdb:/t.db"))
        result = answer(msgspec.structs.replace(asked, spec=tables))
        assert said in result.check.message
        assert result.hint


# ---- functions in Python ----

PYTHON = """import pyarrow as pa
import gigastream

@gigastream.udf
def same(x: pa.UInt32Array) -> pa.UInt32Array:
    return x{}
"""
CALLING = "DEFINE { query_name q; } SELECT time, same(len) AS len FROM PKT"


def in_python(file: Path, folder: Path | None = None, **more: Any) -> CompileRequest:
    """Of a set that calls a function of a file, which is there then."""
    file.write_text(PYTHON.format(""))
    return structs.replace(
        request(CALLING, folder),
        spec=QuerySetSpec(name="set", text=CALLING, file="a.gsql", **more),
        definitions=(str(file),),
    )


def test_where_packets_are_read_no_function_in_python_is_called(tmp_path: Path) -> None:
    result = answer(in_python(tmp_path / "own.py"))
    assert not result.check.ok
    assert result.check.message.startswith("a.gsql:1:39: error: same is in Python, and where")
    assert 'low-level-only, output = ["spool:/FOLDER", "duckdb:/FILE"]' in result.check.message


def test_below_the_border_its_object_is_one_of_each_text(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    asked = in_python(file, tmp_path, low_level_only=True)
    first, again = answer(asked), answer(asked)
    assert first.check.ok
    assert first.object_path == again.object_path
    assert not has_changed(first.python)
    file.write_text(PYTHON.format("  # another"))
    assert has_changed(first.python)
    other = answer(asked)
    assert other.object_path != first.object_path
    assert list(other.python) == [str(file)]
    assert other.python != first.python
    plan, _ = read_object(Path(first.object_path))
    assert any(node.host_calls for node in plan.nodes)
    file.unlink()
    assert has_changed(first.python)


def test_a_file_that_is_changed_while_a_set_is_compiled_is_told(tmp_path: Path) -> None:
    """Its loaders would wait for a reload, and the reload would find nothing new."""
    file = tmp_path / "own.py"
    definitions = in_python(file).definitions
    texts = QueryTexts((SourceFile("a.gsql", CALLING),), definitions=definitions)
    plan = plan_queries(check_texts(texts).queries)
    assert not has_changed(called_code(plan))
    file.write_text(PYTHON.format("  # another"))
    with pytest.raises(DaemonError, match=r"own\.py was changed while it was read"):
        called_code(plan)


def test_a_file_that_others_can_write_is_not_taken(tmp_path: Path) -> None:
    asked = in_python(tmp_path / "own.py", low_level_only=True)
    (tmp_path / "own.py").chmod(0o666)
    result = answer(asked)
    assert not result.check.ok
    assert "own.py can be written by others: it is not loaded" in result.check.message
