# SPDX-License-Identifier: Apache-2.0
"""CSV, JSON lines, Arrow and Parquet as records; what is hostile costs a record or ends a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import ipc, parquet
from records.asked import LINE, START_NS, Answered, answer, row

from gigastream.records import arrow_rows, parquet_rows
from gigastream.records.arrow_rows import ArrowError
from gigastream.records.record_input import RecordInput

TEXTS = {"seen", "at", "four", "six", "either", "name"}


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in rows).encode()


def _table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(rows)


def _stream(rows: list[dict[str, Any]], **options: Any) -> bytes:
    table, sink = _table(rows), pyarrow.BufferOutputStream()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=2)
    return bytes(sink.getvalue())


def _file(rows: list[dict[str, Any]]) -> bytes:
    table, sink = _table(rows), pyarrow.BufferOutputStream()
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(_table(rows), sink, row_group_size=2)
    return bytes(sink.getvalue())


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "csv": _csv,
    "jsonl": _json,
    "arrow": _stream,
    "ipc": _file,
    "parquet": _parquet,
}
GOOD = [row(name=f"n{number}") for number in range(5)]


def _asked(tmp_path: Path, name: str, data: bytes) -> Answered:
    path = tmp_path / name
    path.write_bytes(data)
    return answer(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    found = _asked(tmp_path, f"a.{suffix}", FORMATS[suffix](GOOD))
    assert found.lines == [LINE.replace('"a,b"', f"n{number}") for number in range(5)]
    assert (found.source.read, found.source.decoded, found.source.damage) == (5, 5, None)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_format_is_known_by_its_content(tmp_path: Path, suffix: str) -> None:
    assert len(_asked(tmp_path, "records", FORMATS[suffix](GOOD)).lines) == 5


def test_columns_come_in_any_order_and_others_are_passed_over(tmp_path: Path) -> None:
    turned = {"more": "x", **dict(reversed(row().items()))}
    renamed = {key.upper(): value for key, value in turned.items()}
    for name, rows in (("turned", turned), ("renamed", renamed)):
        for suffix, write in FORMATS.items():
            assert _asked(tmp_path, f"{name}.{suffix}", write([rows])).lines == [LINE]


@pytest.mark.parametrize(
    ("suffix", "reason"),
    [
        ("csv", "line 2: there is no column total"),
        ("jsonl", "line 1: there is no column total"),
        ("arrow", "record 1: there is no column total"),
        ("parquet", "record 1: there is no column total"),
    ],
)
def test_a_record_without_a_column_is_none(tmp_path: Path, suffix: str, reason: str) -> None:
    lacking = [{key: value for key, value in row().items() if key != "total"}] * 2
    found = _asked(tmp_path, f"a.{suffix}", FORMATS[suffix](lacking))
    assert (found.source.read, found.source.undecodable) == (2, 2)
    assert found.source.undecodable_first == f"{tmp_path}/a.{suffix}, {reason}"


@pytest.mark.parametrize("suffix", ["jsonl", "arrow", "parquet"])
def test_null_is_no_value(tmp_path: Path, suffix: str) -> None:
    rows = [row(), row(count=None), row()]
    found = _asked(tmp_path, f"a.{suffix}", FORMATS[suffix](rows))
    assert (found.source.decoded, found.source.undecodable) == (2, 1)
    assert str(found.source.undecodable_first).endswith(" 2: count is NULL")


def test_bad_lines_of_json_cost_what_they_are(tmp_path: Path) -> None:
    lines = [
        _json([row()]),
        b"no json\n",
        b"[1]\n",
        b"\xff\xfe{}\n",
        b"[" * 100_000 + b"\n",
        b'{"at": ' + b"9" * 5000 + b"}\n",
        _json([row(name="\ud800")]),
        b"\n",
        _json([row(name="last")]).rstrip(),
    ]
    found = _asked(tmp_path, "a.json", b"".join(lines))
    assert (found.source.decoded, found.source.undecodable) == (2, 6)
    assert str(found.source.undecodable_first).endswith("line 2: b'no json\\n' is no JSON")


def test_lines_that_are_too_long_are_passed_over(tmp_path: Path) -> None:
    long = b'{"name": "' + b"x" * (3 << 20) + b'"}\n'
    found = _asked(tmp_path, "a.json", long + _json([row()]) + long)
    assert (found.source.decoded, found.source.undecodable) == (1, 2)
    assert str(found.source.undecodable_first).endswith("line 1: it is longer than 1,048,576 bytes")


def test_texts_that_are_too_long_together_are_no_record() -> None:
    """Of one each it may be; a record of six has more than a frame."""
    found = answer([row(), row(name="x" * 65535), row(name="x" * 65536)])
    assert (found.source.decoded, found.source.undecodable) == (2, 1)


def test_csv_as_programs_write_it(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + _csv([row(name="one"), row(name='two\r\n"lines"')])
    found = _asked(tmp_path, "a.csv", data + b"\r\n")
    assert (found.source.decoded, found.source.undecodable) == (2, 0)
    assert "".join(found.lines).count("two") == 1


def test_bad_records_of_csv_cost_what_they_are(tmp_path: Path) -> None:
    head, good = _csv([row()]).split(b"\r\n")[:2]
    lines = [head, good, b"1,2,3", good.replace(b",4,", b",four,"), good + b",more", good]
    found = _asked(tmp_path, "a.csv", b"\n".join(lines))
    assert (found.source.decoded, found.source.undecodable) == (2, 3)
    first = "line 3: 3 cells where the header has 13"
    assert str(found.source.undecodable_first).endswith(first)


def test_a_quote_that_never_ends_is_bounded(tmp_path: Path) -> None:
    head, good = _csv([row()]).split(b"\r\n")[:2]
    endless = b'"' + b"x\n" * (1 << 17)
    found = _asked(tmp_path, "a.csv", b"\n".join([head, good, endless]))
    assert found.source.decoded == 1
    assert found.source.undecodable >= 1
    many = b'"a\n",' * (1 << 18)
    found = _asked(tmp_path, "b.csv", b"\n".join([head, many + b"\n", good, b""]))
    assert found.source.undecodable >= 1


@pytest.mark.parametrize("data", [b"", b"\n\n", b"at,flag\n"])
def test_no_records_are_no_rows(tmp_path: Path, data: bytes) -> None:
    found = _asked(tmp_path, "a.csv", data)
    assert (found.lines, found.source.read, found.source.damage) == ([], 0, None)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "arrow"])
def test_compressed(tmp_path: Path, suffix: str) -> None:
    data = FORMATS[suffix](GOOD)
    found = _asked(tmp_path, f"a.{suffix}.gz", gzip.compress(data))
    assert len(found.lines) == 5
    zstd = pyarrow.compress(data, "zstd", asbytes=True)
    assert _asked(tmp_path, f"a.{suffix}.zst", zstd).lines == found.lines


def test_a_compressed_file_that_is_cut_gives_whole_records(tmp_path: Path) -> None:
    rows = [row(name=str(number * 2_654_435_761 % 2**32)) for number in range(200)]
    data = gzip.compress(_csv(rows))
    found = _asked(tmp_path, "a.csv.gz", data[: len(data) // 2])
    assert "the gzip stream ends too early" in str(found.source.damage)
    assert 0 < found.source.decoded < 200
    assert found.source.undecodable <= 1


def test_times_of_arrow(tmp_path: Path) -> None:
    for unit, ticks in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)):
        table = _table([row()])
        column = pyarrow.array([START_NS // ticks], pyarrow.timestamp(unit, "UTC"))
        table = table.set_column(0, "at", column)
        assert answer(table).lines == [LINE]
        assert answer(table.to_batches()).lines == [LINE]


def test_foreign_types_of_arrow_are_no_values() -> None:
    table = _table([row()]).append_column("x", [[1]])
    at = table.schema.get_field_index("count")
    found = answer(table.set_column(at, "count", [[[1, 2]]]))
    assert str(found.source.undecodable_first).endswith("a value of list<item: int64> is no uint")


# What is declared


def test_compressed_messages_of_arrow_are_refused(tmp_path: Path) -> None:
    found = _asked(tmp_path, "a.arrow", _stream(GOOD, compression="zstd"))
    assert "how much it becomes is not known before" in str(found.source.damage)


@pytest.mark.parametrize("suffix", ["arrow", "ipc", "parquet"])
@pytest.mark.parametrize("kept", [4, 9, 100, 0.4, 0.9])
def test_a_part_of_a_file_ends_it(tmp_path: Path, suffix: str, kept: float) -> None:
    data = FORMATS[suffix](GOOD)
    found = _asked(tmp_path, f"a.{suffix}", data[: int(kept if kept > 1 else kept * len(data))])
    assert found.source.damage is not None or suffix == "ipc"
    assert found.source.decoded <= 5


@pytest.mark.parametrize("suffix", ["arrow", "ipc", "parquet"])
def test_bytes_that_are_changed_are_no_crash(tmp_path: Path, suffix: str) -> None:
    data = FORMATS[suffix](GOOD)
    for at in range(0, len(data), max(1, len(data) // 60)):
        changed = bytearray(data)
        changed[at] ^= 0xFF
        found = _asked(tmp_path, f"a.{suffix}", bytes(changed))
        assert found.source.read <= 1 << 20


def test_a_message_of_arrow_that_declares_much_is_not_allocated(tmp_path: Path) -> None:
    huge = b"\xff\xff\xff\xff" + struct.pack("<I", 0x7FFFFFF0) + b"\0" * 64
    found = _asked(tmp_path, "a.arrow", huge)
    assert "a piece of 2,147,483,632 bytes" in str(found.source.damage)


def test_rows_of_arrow_that_have_no_bytes_are_none(tmp_path: Path) -> None:
    path, (reader, writer) = tmp_path / "a.arrow", os.pipe()
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.nulls(1_000_000)], ["count"])
    with ipc.new_stream(path, batch.schema) as sink:
        sink.write_batch(batch)
    assert path.stat().st_size < 1_000
    with path.open("rb") as file, pytest.raises(ArrowError, match="1,000,000 rows of less than"):
        next(arrow_rows.rows(RecordInput(file.fileno(), writer), ["count"]))
    os.close(reader)
    os.close(writer)


def test_a_page_of_parquet_that_declares_much_is_not_unpacked(tmp_path: Path) -> None:
    rows = [row(name="x" * 60_000)] * 3000
    sink = pyarrow.BufferOutputStream()
    one = pyarrow.table({**{k: [v] * 3000 for k, v in rows[0].items()}})
    parquet.write_table(
        one, sink, compression="zstd", use_dictionary=False, data_page_size=1 << 30,
        write_batch_size=1 << 20, column_encoding=None,
    )  # fmt: skip
    data = bytes(sink.getvalue())
    assert len(data) < 1 << 20
    found = _asked(tmp_path, "a.parquet", data)
    assert "are the most" in str(found.source.damage)


def test_a_page_header_of_lists_within_lists_is_none(tmp_path: Path) -> None:
    path = tmp_path / "deep.parquet"
    numbers = pyarrow.table({"count": pyarrow.array(range(10_000), pyarrow.uint32())})
    parquet.write_table(numbers, path, compression="none", use_dictionary=False)
    at = parquet.read_metadata(path).row_group(0).column(0).data_page_offset
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\x19" * 10_000)  # each a list of one list
        with pytest.raises(ArrowError, match="lists and structs within each other"):
            list(parquet_rows.rows(file.fileno(), ["count"]))


@pytest.mark.parametrize("says", [0, 1, 4, 6, 63])
@pytest.mark.parametrize("which", range(4))
def test_a_footer_of_another_number_of_rows_is_damage(
    which: int, says: int, tmp_path: Path
) -> None:
    """Of the file, of each of two columns, of their group: 21 are meant."""
    path = tmp_path / "rows.parquet"
    table = pyarrow.table({"count": list(range(21)), "other": ["one", "two", "six"] * 7})
    parquet.write_table(table, path, compression="none", write_statistics=False)
    data = bytearray(path.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    written = b"\x16" + bytes([2 * 21])  # a field of 64 bits behind the one before it
    places = [at for at in range(footer, len(data)) if data[at : at + 2] == written]
    assert len(places) == 4
    data[places[which] + 1] = 2 * says
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises(ArrowError, match=r"rows|values"):
        list(parquet_rows.rows(file.fileno(), ["count", "other"]))


def test_rows_of_parquet_without_the_columns_are_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    parquet.write_table(pyarrow.table({"other": list("abcde")}), path)
    with path.open("rb") as file:
        assert len(list(parquet_rows.rows(file.fileno(), ["count"]))) == 5
    nothing = pyarrow.table({"list": [[1], [2]]})
    parquet.write_table(nothing, path)
    with path.open("rb") as file, pytest.raises(ArrowError, match="no column of plain values"):
        list(parquet_rows.rows(file.fileno(), ["count"]))


def test_statistics_of_parquet_that_do_not_fit_end_no_process(tmp_path: Path) -> None:
    """Arrow's library ends it: histograms of levels that the schema has not."""
    data = _parquet(GOOD)
    optional, required = b"\x25\x02\x18\x05count", b"\x25\x00\x18\x05count"
    assert data.count(optional) == 1
    found = _asked(tmp_path, "a.parquet", data.replace(optional, required))
    assert "histogram size mismatch" in str(found.source.damage)


@pytest.mark.parametrize(
    ("footer", "why"),
    [
        (b"\x36\x02\x19\xfc" + b"\xff" * 9 + b"\x7f" + bytes(99), "it does not end"),
        (b"\x49\xfc\x80\x80\x20" + bytes(1 << 19), "more than 262,144 structs"),
        (b"\x16" + b"\xff" * 20, "more than 64 bits"),
        (b"\x1c" * 99, "within each other"),
        (b"\x36\x04\x19\x0c\x00", "says that it has 2 rows: there are 0"),
        (b"\x49\x0c\x00", "its footer lacks something"),
        (b"\x36\x02\x19\x1c\x00\x00", "its footer lacks something"),
        # lists where structs are meant: of a column, of its data; a struct where groups are
        (b"\x36\x02\x19\x1c\x19\x1c\x39\x0c\x00\x26\x02\x00\x00", "its footer lacks something"),
        (b"\x36\x02\x1c\x00\x00", "says that it has 1 rows: there are 0"),
        (b"\x36\x04", "it does not end"),
    ],
)
def test_footers_of_parquet_that_are_none(tmp_path: Path, footer: bytes, why: str) -> None:
    data = b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"
    assert why in str(_asked(tmp_path, "a.parquet", data).source.damage)


def test_parquet_needs_a_plain_file(tmp_path: Path) -> None:
    found = _asked(tmp_path, "a.parquet.gz", gzip.compress(_parquet(GOOD)))
    assert "parquet is read from a plain file alone" in str(found.source.damage)
