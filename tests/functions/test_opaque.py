# SPDX-License-Identifier: Apache-2.0
"""fstringN from its declaration to the output: files, a ring, a spool, against plain Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow
import pytest

from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from tests.cli.command import gigastream
from tests.functions.opaque import (
    FUNCTIONS,
    HEADER,
    OUTPUTS,
    QUERIES,
    SIZES,
    Row,
    answers,
    definitions,
    frames,
)
from tests.live.mock_link import START_NS, MockLink, MockSession
from tests.strategies.files import NANOSECONDS, Packet, pcap

PACKETS = frames()


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return definitions(tmp_path_factory.mktemp("opaque"))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opaque") / "frames.pcap"
    written = (Packet(one.timestamp_ns, one.data) for one in PACKETS)
    path.write_bytes(pcap(written, magic=NANOSECONDS))
    return path


def rows_in(folder: Path) -> dict[str, list[Row]]:
    """The csv files of a run, without their headers, sorted."""
    found = {}
    for name in OUTPUTS:
        with (folder / f"{name}.csv").open(newline="") as file:
            found[name] = sorted(tuple(row) for row in list(csv.reader(file))[1:])
    return found


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_a_file(size: int, declared: Path, capture: Path, tmp_path: Path) -> None:
    words = ("--definitions", declared, "-e", QUERIES.format(n=size), "-r", capture)
    done = gigastream("run", *words, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    expected = answers(size, PACKETS, "default")
    assert all(expected.values())
    assert rows_in(tmp_path) == expected


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 13, 16384])
def test_a_spool(size: int, declared: Path, capture: Path, tmp_path: Path) -> None:
    """Above the border nothing of the functions is needed."""
    words = ("--definitions", declared, "-e", QUERIES.format(n=size), "-r", capture)
    options = ("--segment-rows", "50")
    done = gigastream("run", *words, *options, "-o", f"spool:{tmp_path / 'spool'}")
    assert done.code == 0, done.err
    done = gigastream("run", "--spool", tmp_path / "spool", "-o", f"csv:{tmp_path / 'rows'}")
    assert done.code == 0, done.err
    assert rows_in(tmp_path / "rows") == answers(size, PACKETS, "default")


@pytest.mark.parametrize("size", [7, 16384])
def test_a_ring(size: int, declared: Path) -> None:
    """As packets come in; partial rows and batches of one row."""
    text = inline_queries((QUERIES.format(n=size),))
    texts = QueryTexts(text, definitions=(str(declared),), interfaces={"link": {}})
    plan, link = plan_queries(check_texts(texts).queries), MockLink(1 << 14, 8)
    found: dict[str, list[Row]] = {name: [] for name in OUTPUTS}
    settings, options = Settings(batch_rows=1, slots=1), SessionOptions(include=texts.include)
    with MockSession(plan, [link.source()], settings, options) as session:

        def take() -> None:
            for event in session.events():
                lines = event.batch.csv().decode().splitlines()
                found[event.query] += (tuple(row) for row in csv.reader(lines))

        for one in PACKETS:
            session.set_clock(one.timestamp_ns - START_NS)
            assert link.receive(one) == 1
            link.retire()
            take()
        session.finish()
        take()
    assert {name: sorted(rows) for name, rows in found.items()} == answers(size, PACKETS, "link")


def test_as_arrow_and_as_json(declared: Path, capture: Path, tmp_path: Path) -> None:
    words = ("--definitions", declared, "-e", QUERIES.format(n=13), "-r", capture)
    assert gigastream("run", *words, "-o", f"arrow:{tmp_path}").code == 0
    with pyarrow.ipc.open_stream(tmp_path / "each.arrow") as reader:
        table = reader.read_all()
    assert table.schema.field("tag").type == pyarrow.binary(13)
    expected = answers(13, PACKETS, "default")["each"]
    hexadecimal = [None if tag is None else tag.hex() for tag in table["long_tag"].to_pylist()]
    assert sorted(tag or "" for tag in hexadecimal) == sorted(row[-1] for row in expected)
    done = gigastream("run", *words, "-o", "json")
    printed = [row["long_tag"] for row in map(json.loads, done.lines) if row["query"] == "each"]
    assert printed == hexadecimal


def test_of_another_size_is_another_stream(declared: Path, capture: Path, tmp_path: Path) -> None:
    """The size is part of what names a stream: a spool of the one does not answer the other."""
    asked = "SELECT time, tag{}(len) AS tag FROM PKT"
    words = ("--definitions", declared, "-r", capture, "-e", asked.format(3))
    assert gigastream("run", *words, "-o", f"spool:{tmp_path}").code == 0
    words = ("--definitions", declared, "--spool", tmp_path, "-e")
    assert gigastream("run", *words, asked.format(3)).code == 0
    refused = gigastream("run", *words, asked.format(7))
    assert refused.code == 2
    assert "is another one" in refused.err


def test_a_function_is_given_aligned_bytes_that_are_0(tmp_path: Path) -> None:
    """So that a struct may stand there: of odd size, beside others in a slot, from a column."""
    path = definitions(tmp_path, ())
    path.write_text(
        path.read_text()
        + "fstring9 FUN [LFTA_LEGAL, COST LOW] made(uint);\n"
        + "uint FUN [LFTA_LEGAL, COST LOW] at(fstring9);\n"
    )
    path.with_suffix(".h").write_text(
        HEADER
        + """
static inline void gs_function_made_uint(uint32_t x, uint8_t *made)
{ made[8] = (uint8_t)((uintptr_t)made % 8 + made[x % 9]); }
static inline uint32_t gs_function_at_fstring9(const uint8_t *made)
{ return (uint32_t)((uintptr_t)made % 8) + made[8]; }
"""
    )
    query = """
    DEFINE { query_name low; visibility internal; }
    SELECT time, made(len) AS a, made(caplen) AS b, at(made(len)) AS c FROM PKT;
    DEFINE { query_name high; }
    SELECT tb, sum(at(a) + at(b) + c) AS s FROM low GROUP BY time/1000 AS tb
    """
    capture = tmp_path / "one.pcap"
    capture.write_bytes(pcap([Packet(0, bytes(60))]))
    words = ("--definitions", path, "-e", query, "-r", capture)
    done = gigastream("run", "-q", *words, "-o", "csv")
    assert (done.code, done.lines) == (0, ["tb,s", "0,0"]), done.err


def test_the_header_needs_no_type_of_ours() -> None:
    """A user's header does not name the structs that generated code keeps values in."""
    assert "gs_opaque" not in HEADER + FUNCTIONS
