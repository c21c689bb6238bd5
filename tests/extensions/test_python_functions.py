# SPDX-License-Identifier: Apache-2.0
"""Functions in Python, of a program and of a file, against the same in plain Python."""

from __future__ import annotations

import json
import re
from collections import Counter
from mmap import mmap
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import gigastream
from gigastream.batch_calls import BatchCall, CallError
from gigastream.gsql.python_code import PythonCode
from spark_sink.python_functions import answering
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream as command

Rows = list[dict[str, object]]
pytestmark = pytest.mark.filterwarnings("ignore:picky raised")


@gigastream.udf
def half(x: pa.UInt32Array) -> pa.DoubleArray:
    return pc.divide(pc.cast(x, pa.float64()), 2.0)


@gigastream.udf
def picky(x: pa.UInt32Array) -> pa.UInt32Array:
    """Raises of every batch that has a multiple of 7."""
    if any(value % 7 == 0 for value in x.to_pylist()):
        raise ValueError("a multiple of 7")
    return x


@gigastream.udf(on_error="end")
def strict(x: pa.UInt32Array) -> pa.UInt32Array:
    raise ValueError("no such\nlength")


@gigastream.udf
def leaves(x: pa.UInt32Array) -> pa.UInt32Array:
    raise SystemExit(0)


@gigastream.udf
def interrupts(x: pa.UInt32Array) -> pa.UInt32Array:
    raise KeyboardInterrupt


@gigastream.udf
def short(x: pa.UInt32Array) -> pa.UInt32Array:
    return x[:0]


@gigastream.udf
def other(x: pa.UInt32Array) -> pa.UInt32Array:
    return pc.cast(x, pa.int64())


def answered(query: str, *functions: object) -> Rows:
    batches = gigastream.run(query, str(DEMO_CAPTURE), functions=functions)  # type: ignore[arg-type]
    return [row for batch in batches for row in batch.to_pylist()]


def lengths() -> list[int]:
    return [int(str(row["len"])) for row in answered("SELECT len FROM IPV4")]


def test_a_selection() -> None:
    found = answered("SELECT half(len) AS h FROM IPV4 WHERE half(len) > 30.0 AND len < 1000", half)
    expected = [n / 2 for n in lengths() if n / 2 > 30 and n < 1000]
    assert [row["h"] for row in found] == expected


def test_calls_within_calls_and_expressions() -> None:
    found = answered("SELECT half(picky(uint(len + 1))) + 1.0 AS h FROM IPV4", half, picky)
    assert [row["h"] for row in found] == [(n + 1) / 2 + 1 for n in lengths() if (n + 1) % 7]


def test_an_exception_is_no_value_of_its_row_alone() -> None:
    assert [row["x"] for row in answered("SELECT picky(len) AS x FROM IPV4", picky)] == [
        n for n in lengths() if n % 7
    ]


def test_no_value_matters_only_where_it_is_read() -> None:
    query = "SELECT len FROM IPV4 WHERE len > 500 OR picky(len) > 0"
    assert [row["len"] for row in answered(query, picky)] == [
        n for n in lengths() if n > 500 or n % 7
    ]


def test_groups_arguments_and_having() -> None:
    query = (
        "SELECT tb, h, count(*) AS n, max(half(len)) AS most, half(uint(count(*))) AS c FROM IPV4 "
        "GROUP BY time/600 AS tb, half(len) AS h HAVING half(uint(count(*))) > 1.0 AND count(*)<99"
    )
    times = answered("SELECT time, len FROM IPV4")
    groups = Counter((int(str(r["time"])) // 600, int(str(r["len"])) / 2) for r in times)
    expected = sorted((tb, h, n, h, n / 2) for (tb, h), n in groups.items() if 2 < n < 99)
    assert sorted(tuple(row.values()) for row in answered(query, half)) == expected


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (strict, "ValueError: no such length"),
        (leaves, "SystemExit: 0"),
        (short, "and answers 0"),
        (other, "an array of int64, and says that it is uint32"),
    ],
)
def test_what_ends_a_query(function: object, said: str) -> None:
    with pytest.raises(gigastream.EngineError, match=said):
        answered(f"SELECT {function.__name__}(len) AS x FROM IPV4", function)  # type: ignore[attr-defined]


@gigastream.udf
def huge(x: pa.UInt32Array) -> pa.BinaryArray:
    """Texts of together more than a GiB, of which nothing is written anywhere."""
    size = (1 << 30) + len(x)
    offsets = pa.array([0] * len(x) + [size], pa.int32()).buffers()[1]
    buffers = [None, offsets, pa.py_buffer(mmap(-1, size))]
    return pa.Array.from_buffers(pa.binary(), len(x), buffers)


def test_more_texts_than_a_batch_may_have_end_a_query() -> None:
    with pytest.raises(gigastream.EngineError, match="is too large: its texts are more than 1 GiB"):
        answered("SELECT huge(len) AS x FROM IPV4", huge)


# ---- what is raised and does not end the query ----


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "raising.py"
    found.write_text(
        "import pyarrow as pa, gigastream\n"
        "@gigastream.udf\ndef f(x: pa.UInt32Array) -> pa.UInt32Array:\n"
        "    raise ValueError('no \\x1b day')\n"
        "@gigastream.udaf\ndef g(x: pa.UInt32Array) -> pa.UInt32Scalar:\n"
        "    return x[len(x)]\n"
    )
    return found


def test_what_is_raised_is_told_once(file: Path) -> None:
    query = "SELECT tb, g(len) AS x FROM IPV4 WHERE f(len) > 0 OR len > 9 GROUP BY time/60 AS tb"
    words = ("run", "--python", file, "-r", DEMO_CAPTURE, "-e", query)
    done = command(*words)
    said = done.err.splitlines()
    assert (done.code, done.out) == (0, b"")
    rows = len(lengths())
    assert (
        said.count(f"f raised {rows:,} times, first {file}, line 4: ValueError: no \ufffd day") == 1
    )
    assert f"{file}, line 7: IndexError: index out of bounds" in done.err
    counted = json.loads(command(*words, "--stats", "json").err)["operators"]
    raised = [each for operator in counted for each in operator["raised"]]
    assert {each["function"]: each["times"] for each in raised}["f"] == rows


def test_what_is_raised_is_a_warning_of_the_library() -> None:
    here = re.escape(__file__)
    expected = rf"picky raised \d+ times, first {here}, line \d+: ValueError: a multiple of 7"
    with pytest.warns(RuntimeWarning, match=expected) as told:
        answered("SELECT picky(len) AS x, picky(uint(len + 1)) AS y FROM IPV4", picky)
    assert len(told) == 1


def test_a_worker_of_spark_tells_it_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = PythonCode(str(file), file.read_text())
    for _ in range(2):
        call = BatchCall("f", pa.uint32(), (False,), False, False, code)
        answering(call, [pa.uint32()])(pa.array([1, 2], pa.int64()))
    assert capsys.readouterr().err == (
        f"gigastream: f raises, first {file}, line 4: ValueError: no \ufffd day\n"
    )


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        answered("SELECT interrupts(len) AS x FROM IPV4", interrupts)


def test_an_interrupt_between_two_lines_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("gigastream.engine.host_map.HostMap.give", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answered("SELECT half(len) AS x FROM IPV4", half)


def test_a_join_calls_none_in_its_condition() -> None:
    query = (
        "DEFINE { query_name a; visibility internal; } SELECT time, len FROM TCP; "
        "DEFINE { query_name b; visibility internal; } SELECT time, len FROM UDP; "
        "DEFINE { query_name c; } SELECT S.time AS t FROM a S, b T "
        "WHERE S.time = T.time AND half(uint(S.len + T.len)) > 3.0"
    )
    with pytest.raises(gigastream.GsqlError, match="which a join cannot call"):
        answered(query, half)


def test_batches_do_not_matter() -> None:
    call = BatchCall("picky", pa.uint32(), (False,), False, False, PythonCode("here", "", picky))
    values, given = call.answer([pa.array([1, 7, None, 3, 14], pa.uint32())])
    assert values.to_pylist() == [1, None, None, 3, None]
    assert given.to_pylist() == [True, False, True, True, False]


def test_infinities_are_no_value() -> None:
    code = PythonCode("here", "", lambda x: pc.divide(1.0, x))
    call = BatchCall("inverse", pa.float64(), (False,), True, False, code)
    values, given = call.answer([pa.array([2.0, 0.0, None])])
    assert given.to_pylist() == [True, False, True]
    assert values.to_pylist()[0] == 0.5


def test_a_file_is_run_once_and_its_errors_are_sentences() -> None:
    call = BatchCall("f", pa.uint32(), (False,), False, False, PythonCode("f.py", "\n1/0\n"))
    with pytest.raises(CallError, match=r"f\.py, line 2: ZeroDivisionError: division by zero"):
        call.load()


class LeavingError(BaseException):
    """As those of asyncio and of greenlets are: no Exception."""

    def __str__(self) -> str:
        raise ValueError("it cannot say what")


def leave(x: pa.UInt32Array) -> pa.UInt32Array:
    raise LeavingError


def test_what_is_no_exception_ends_the_query_with_its_line() -> None:
    call = BatchCall("leave", pa.uint32(), (False,), False, False, PythonCode(__file__, "", leave))
    with pytest.raises(CallError, match=r"line \d+: LeavingError"):
        call.answer([pa.array([1, 2], pa.uint32())])


def with_wild_offsets(count: int) -> pa.BinaryArray:
    """Of which the first and the last are right: Arrow looks at no others where it is made."""
    offsets = pa.array([0, *[1 << 28] * (count - 1), 0], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(b"")])


@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_array_that_lies_ends_the_query(is_chunked: bool) -> None:
    made = pa.chunked_array([with_wild_offsets(4)]) if is_chunked else with_wild_offsets(4)
    code = PythonCode("here", "", lambda x: made)
    call = BatchCall("f", pa.binary(), (False,), False, False, code)
    with pytest.raises(CallError, match="f of here gives a damaged array"):
        call.answer([pa.array([1, None, 1, 1, 1], pa.uint32())])


def test_a_file_that_is_interrupted_is_run_anew(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = (
        "import pathlib, gigastream\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        "if not mark.exists():\n    mark.touch()\n    raise KeyboardInterrupt\n"
        "@gigastream.udf\ndef f(x): return x\n"
    )
    call = BatchCall("f", pa.uint32(), (False,), False, False, PythonCode("f.py", text))
    with pytest.raises(KeyboardInterrupt):
        call.load()
    assert call.load()(1) == 1


FILE = """
import pyarrow as pa
import gigastream

print("it has run")

@gigastream.udf
def half(x: pa.UInt32Array) -> "pa.DoubleArray | None":
    return x.cast(pa.float64()).to_numpy() and None
"""


def test_a_check_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "half.py"
    file.write_text(FILE)
    result = command("check", "--python", file, "-e", "SELECT half(len) AS h FROM IPV4")
    assert (result.code, result.out) == (0, b"query: h float\n"), result.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "1:7: error: no Python"),
        ("@udf\ndef f(x) -> BooleanArray: ...", "2:7: error: the type of the argument x"),
        ("@udf\ndef f(x: IntArray) -> BooleanArray: ...", "2:10: error: the type of the argument"),
        ("@udf\ndef f(x: Int32Array): ...", "2:5: error: the type of what f gives"),
        ("@udf\ndef f(*x: Int32Array) -> Int32Array: ...", "2:5: error: the arguments of f"),
        ("@udaf\ndef f(x: Int32Array) -> Int32Array: ...", "2:25: error: the type of what f gives"),
        ("@udaf\ndef f(x: Int32Array) -> int: ...", "a scalar of Arrow's"),
        (
            "@udaf(max_bytes=0)\ndef f(x: Int32Array) -> Int32Scalar: ...",
            "1:2: error: udaf is told on_error, 'no value' or 'end', and max_bytes, a number",
        ),
        ("@udf(max_bytes=9)\ndef f(x: Int32Array) -> Int32Array: ...", "1:2: error: udf is told"),
        ("@udf\ndef f() -> Int32Array: ...", "2:5: error: f has no argument"),
        ("@udf(on_error=1)\ndef f(x: Int32Array) -> Int32Array: ...", "1:2: error: udf is told"),
        (
            "@udf\ndef length(x: Int32Array) -> Int32Array: ...",
            "there is a function length already",
        ),
    ],
)
def test_what_is_wrong_in_a_file(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text(text)
    with pytest.raises(gigastream.GsqlError) as error:
        gigastream.explain("SELECT len FROM IPV4", definitions=file)
    assert said in str(error.value)
