# SPDX-License-Identifier: Apache-2.0
"""Files of functions in Python: every type on the command line, spools, and whose a file is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gigastream import EngineError, run
from gigastream.ownership import check_code
from gigastream.spool import Spool
from gigastream.spool.plan import SpooledPlanError, changed_python, plan_of_spools
from tests.captures import DEMO_CAPTURE, ROOT
from tests.cli.command import gigastream
from tests.extensions.python_rows import FUNCTIONS, WORDS, answered, check, of_capture

EXAMPLE = ROOT / "examples" / "extensions" / "words.py"
QUERY = "SELECT tb, half(uint(count(*))) AS h FROM IPV4 GROUP BY time/60 AS tb"
ASKED = ("run", "-q", "-e", QUERY)
FILE = """import pyarrow as pa
import pyarrow.compute as pc
import gigastream

open("{mark}", "w").close()


@gigastream.udf{how}
def half(x: pa.UInt32Array) -> pa.DoubleArray:
    {first}
    return pc.divide(x.cast(pa.float64()), 2.0)
"""


def written(folder: Path, first: str = "", how: str = "") -> Path:
    file = folder / "half.py"
    file.write_text(FILE.format(mark=folder / "mark", first=first, how=how))
    return file


def test_every_type(tmp_path: Path) -> None:
    check(of_capture(tmp_path))


def test_the_example() -> None:
    query = "SELECT network(srcIP) AS n, srcIP FROM IPV4 WHERE entropy('aabb') = 1.0"
    done = gigastream(
        "run", "-q", "-o", "csv", "--python", EXAMPLE, "-e", query, "-r", DEMO_CAPTURE
    )
    rows = done.lines[1:]
    assert len(rows) > 1000
    for row in rows:
        network, address = row.split(",")
        assert network.rpartition(".")[0] == address.rpartition(".")[0]
        assert network.endswith(".0")


def test_a_spool_between_the_levels(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    done = gigastream("run", "-q", *map(str, (*WORDS, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")))
    assert done.code == 0, done.err
    found = answered(tmp_path / "high", "--python", FUNCTIONS, "--spool", spool)
    assert found == of_capture(tmp_path / "both")


def test_where_the_low_level_runs_alone_nothing_of_it_is_run(tmp_path: Path) -> None:
    file, spool = written(tmp_path), tmp_path / "spool"
    done = gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
    assert done.code == 0, done.err
    assert not (tmp_path / "mark").exists()


def test_code_is_never_that_of_a_spool(tmp_path: Path) -> None:
    file, spool = written(tmp_path), tmp_path / "spool"
    gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE, "-o", f"spool:{spool}")
    alone = gigastream("run", "-q", "--spool", spool)
    assert (alone.code, alone.out) == (2, b"")
    assert "half is code of a definition file, which" in alone.err
    (tmp_path / "else").mkdir()
    other = written(tmp_path / "else", first="x = x.slice(0)")
    refused = gigastream("run", "-q", "--spool", spool, "--python", other)
    assert (refused.code, refused.out) == (2, b"")
    assert "is not the half.py that" in refused.err
    assert not (tmp_path / "mark").exists()
    assert not (tmp_path / "else" / "mark").exists()
    assert gigastream("run", "-q", "--spool", spool, "--python", file).code == 0
    assert (tmp_path / "mark").exists()


def test_a_newer_text_stands_for_a_spools_where_that_is_asked_for(tmp_path: Path) -> None:
    """As a daemon's loader does of what was written before a change."""
    file, path = written(tmp_path), tmp_path / "spool"
    gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE, "-o", f"spool:{path}")
    spool = Spool(path)
    assert changed_python([str(file)], spool) == ()
    written(tmp_path, first="x = x.slice(0)")
    assert changed_python([str(file)], spool) == (str(file),)
    with pytest.raises(SpooledPlanError, match=r"is not the half\.py that"):
        plan_of_spools([spool], definitions=[str(file)])
    plan = plan_of_spools([spool], definitions=[str(file)], newer_python=True)
    (call,) = (call for node in plan.nodes for call in node.host_calls)
    assert "slice" in call.code.text


def test_of_two_files_with_one_name_none_has_changed(tmp_path: Path) -> None:
    """Each in a folder of its own, as a daemon's configuration may have them."""
    (tmp_path / "else").mkdir()
    other, path = tmp_path / "else" / "half.py", tmp_path / "spool"
    other.write_text("# nothing\n")
    files = [str(written(tmp_path)), str(other)]
    both = [word for file in files for word in ("--python", file)]
    gigastream(*ASKED, *both, "-r", DEMO_CAPTURE, "-o", f"spool:{path}")
    assert changed_python(files, Spool(path)) == ()
    other.write_text("# something\n")
    assert changed_python(files, Spool(path)) == (str(other),)
    plan = plan_of_spools([Spool(path)], definitions=files, newer_python=True)
    assert any(node.host_calls for node in plan.nodes)


def make_writable(file: Path) -> None:
    file.chmod(0o666)


def make_folder_writable(file: Path) -> None:
    file.parent.chmod(0o777)


def link(file: Path) -> None:
    file.rename(file.with_name("there"))
    file.symlink_to("there")


def give_second_name(file: Path) -> None:
    os.link(file, file.with_name("there"))


@pytest.mark.parametrize("how", [make_writable, make_folder_writable, link, give_second_name])
def test_what_others_may_have_written_is_not_run(tmp_path: Path, how: object) -> None:
    assert callable(how)
    (tmp_path / "own").mkdir()
    file = written(tmp_path / "own")
    how(file)
    done = gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE)
    assert (done.code, done.out) == (2, b"")
    assert "not loaded" in done.err
    assert "hint: copy it to a folder of your own" in done.err
    assert not (tmp_path / "own" / "mark").exists()


def test_what_was_read_is_what_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link on the way to the file is turned from one to the other after it has been read."""
    for name in ("theirs", "own"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, first=f"'{name}'")
    (tmp_path / "way").symlink_to("theirs")

    def check_later(path: Path) -> Path:
        (tmp_path / "way").unlink()
        (tmp_path / "way").symlink_to("own")
        return check_code(path)

    monkeypatch.setattr("gigastream.engine.host_map.check_code", check_later)
    with pytest.raises(EngineError, match="is not what it was when its queries were checked"):
        list(run(QUERY, str(DEMO_CAPTURE), definitions=tmp_path / "way" / "half.py"))
    assert not (tmp_path / "theirs" / "mark").exists()


@pytest.mark.privileged
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_another_has_is_not_run_for_root(tmp_path: Path, whose: str) -> None:
    (tmp_path / "theirs").mkdir()
    file = written(tmp_path / "theirs")
    os.chown(file if whose == "file" else file.parent, 12345, 12345)
    done = gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE)
    assert (done.code, done.out) == (2, b"")
    assert "belongs to user 12345" in done.err
    assert not (tmp_path / "theirs" / "mark").exists()


def test_an_exception_ends_the_query_where_it_is_declared_so(tmp_path: Path) -> None:
    file = written(tmp_path, "raise ValueError('no\\tsuch day')", '(on_error="end")')
    done = gigastream(*ASKED, "--python", file, "-r", DEMO_CAPTURE)
    assert done.code == 1
    assert f"half: {file}, line 10: ValueError: no such day" in done.err


def test_rows_of_an_exception_are_counted(tmp_path: Path) -> None:
    file = written(tmp_path, "raise ValueError")
    done = gigastream("run", "-e", QUERY, "--python", file, "-r", DEMO_CAPTURE)
    assert (done.code, done.out) == (0, b"")
    assert "query (select): 4 rows in, 0 out, no value 4" in done.err


def test_explain_shows_what_is_called(tmp_path: Path) -> None:
    file = written(tmp_path)
    done = gigastream("explain", "--python", file, "-e", QUERY)
    assert "functions in Python query_python" in done.out.decode()
    said = f"half(argument) of {file}: rows of an exception have no value"
    assert said in done.out.decode()
    assert not (tmp_path / "mark").exists()


def test_functions_in_python_are_listed(tmp_path: Path) -> None:
    done = gigastream("functions", "--python", written(tmp_path), "half")
    assert done.code == 0, done.err
    assert b"half(uint) float" in b" ".join(done.out.split())


def test_an_object_carries_none(tmp_path: Path) -> None:
    words = ("--python", written(tmp_path), "-e", QUERY, "-o", tmp_path / "half.so")
    done = gigastream("compile", *words)
    assert done.code == 2
    assert "queries that call functions in Python are no object" in done.err


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    done = gigastream("check", "--python", tmp_path / "half.gsql", "-e", QUERY)
    assert done.code == 2
    assert "is not named as Python: FILE.py" in done.err
