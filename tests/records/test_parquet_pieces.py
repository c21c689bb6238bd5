# SPDX-License-Identifier: Apache-2.0
"""Columns of Parquet that are larger than what may be held: they are unpacked a piece at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from gigastream.records import parquet_pages, parquet_rows
from gigastream.records.parquet_rows import BoundedFile

ROWS = 300


def written(path: Path, texts: list[str], **options: Any) -> Path:
    """One group of rows, a page for every few values."""
    small = {"data_page_size": 1, "write_batch_size": 1, "write_statistics": False}
    parquet.write_table(pyarrow.table({"name": texts}), path, compression="none", **small | options)
    return path


def batches(path: Path) -> list[pyarrow.RecordBatch]:
    with path.open("rb") as file:
        return list(parquet_rows._batches(BoundedFile(file.fileno()), ["name"]))


def test_a_column_may_be_larger_than_a_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a group of a million rows with texts is: no page of it is."""
    monkeypatch.setattr(parquet_rows, "MAX_PIECE_BYTES", 1 << 17)
    monkeypatch.setattr(parquet_rows, "_BUFFER_BYTES", 1 << 14)
    texts = [f"{number:04}" + "x" * 1000 for number in range(ROWS)]
    path = written(tmp_path / "large.parquet", texts, use_dictionary=False)
    with path.open("rb") as file:
        found = list(parquet_rows.rows(file.fileno(), ["name"]))
    assert [values for _, values in found] == [(text,) for text in texts]


@pytest.mark.parametrize(
    ("options", "most", "is_dictionary"),
    [
        ({"use_dictionary": False}, 2, False),
        ({"dictionary_pagesize_limit": 6000}, 1, False),  # which the first texts are in
        ({"dictionary_pagesize_limit": 1 << 24}, ROWS, True),
    ],
    ids=["plain", "both", "dictionary"],
)
def test_long_texts_are_unpacked_few_at_a_time(
    options: dict[str, Any],
    most: int,
    is_dictionary: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kilobyte may unpack to 64 MiB of them; those of a dictionary are held once."""
    monkeypatch.setattr(parquet_pages, "MAX_SLICE_BYTES", 10_000)
    texts = [f"{number:04}" + "x" * 4000 for number in range(ROWS)]
    found = batches(written(tmp_path / "long.parquet", texts, **options))
    assert max(batch.num_rows for batch in found) == most
    assert {pyarrow.types.is_dictionary(batch["name"].type) for batch in found} == {is_dictionary}
    assert [text for batch in found for text in batch["name"].to_pylist()] == texts


@pytest.mark.parametrize("values", ["words", "prefixes", "nulls"])
def test_values_of_a_fixed_size_are_few_at_a_time(
    values: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No dictionary stays one for them, and a NULL takes as much: 500 bytes were gigabytes."""
    monkeypatch.setattr(parquet_rows, "MAX_SLICE_BYTES", 10_000)
    options: dict[str, Any] = {"use_dictionary": values == "words", "write_statistics": False}
    if values == "prefixes":
        options["column_encoding"] = "DELTA_BYTE_ARRAY"
    one = None if values == "nulls" else b"x" * 4000
    table = pyarrow.table({"name": pyarrow.array([one] * ROWS, pyarrow.binary(4000))})
    parquet.write_table(table, tmp_path / "fixed.parquet", **options)
    found = batches(tmp_path / "fixed.parquet")
    assert max(batch.num_rows for batch in found) == 2
    assert pyarrow.Table.from_batches(found).column("name").to_pylist() == [one] * ROWS


def test_a_fixed_size_may_be_too_large(tmp_path: Path) -> None:
    """The schema says it, and NULL has none of its bytes in the file."""
    path, nulls = tmp_path / "fixed.parquet", pyarrow.array([None] * ROWS, pyarrow.binary(4))
    parquet.write_table(pyarrow.table({"name": nulls}), path, store_schema=False)
    head = b"\x15\x0e\x15"  # a type of a length
    patched(path, head + b"\x08\x15", head + b"\x82\x80\x80\x40\x15")
    with pytest.raises(parquet_pages.PageError, match="a value of name has 67,108,865 bytes"):
        batches(path)


def test_texts_that_begin_alike_are_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may say that it is the one before: a page of a text is as many bytes for every row."""
    monkeypatch.setattr(parquet_pages, "MAX_SLICE_BYTES", 10_000)
    options = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    path = tmp_path / "alike.parquet"
    parquet.write_table(pyarrow.table({"name": ["x" * 4000] * ROWS}), path, **options)
    found = batches(path)
    assert max(batch.num_rows for batch in found) <= 2
    assert [text for batch in found for text in batch["name"].to_pylist()] == ["x" * 4000] * ROWS


_OPTIONAL = b"\x25\x02\x18\x04name"
"""In a footer's schema."""


def patched(path: Path, old: bytes, new: bytes) -> None:
    """Write something else of the schema in the place of what there is."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    assert old in footer
    footer = footer.replace(old, new, 1)
    end = len(footer).to_bytes(4, "little") + data[-4:]
    path.write_bytes(data[: -8 - size] + footer + end)


def test_a_decimal_is_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet unpacks it, though a dictionary has it."""
    monkeypatch.setattr(parquet_pages, "MAX_SLICE_BYTES", 100)
    path, table = tmp_path / "decimal.parquet", pyarrow.table({"name": [b"\1\2"] * ROWS})
    parquet.write_table(table, path, store_schema=False)
    patched(path, _OPTIONAL, _OPTIONAL + b"\x25\x0a\x15\x00\x15\x12")  # of 9 digits
    found = batches(path)
    assert {str(batch["name"].type) for batch in found} == {"decimal128(9, 0)"}
    assert max(batch.num_rows for batch in found) < ROWS


def test_a_column_of_several_values_a_row_is_none_of_a_field(tmp_path: Path) -> None:
    """One row of it may have any number of them."""
    path, table = tmp_path / "repeated.parquet", pyarrow.table({"name": [1, 2], "other": [3, 4]})
    parquet.write_table(table, path, store_schema=False)
    patched(path, _OPTIONAL, b"\x25\x04\x18\x04name")
    assert [batch.num_columns for batch in batches(path)] == [0]
