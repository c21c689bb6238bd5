# SPDX-License-Identifier: Apache-2.0
"""The UDAFs of examples/extensions on every path, against plain Python."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, read_query_file
from gigastream.sessions.shape import SessionOptions
from gigastream.settings import Settings
from tests.answers.engine import run, source
from tests.answers.paths import ONE_THREAD, PATHS, kind_of, on_every_path
from tests.cli.command import gigastream
from tests.extensions.traffic import DEFINITIONS, OUTPUTS, QUERIES, Cell, Row, rows, segments
from tests.live.mock_link import START_NS, MockLink, MockSession
from tests.strategies.files import NANOSECONDS, Packet, pcap

PACKETS = segments()
EXPECTED = rows(PACKETS)
ASKED = ("--definitions", DEFINITIONS, QUERIES)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traffic") / "traffic.pcap"
    frames = (packet.frame for packet in PACKETS)
    path.write_bytes(pcap((Packet(f.timestamp_ns, f.data) for f in frames), magic=NANOSECONDS))
    return path


def as_expected(found: Iterable[Sequence[str]], expected: Sequence[Row]) -> bool:
    """Whether rows of text are these; floats have been added up in another order."""
    given = sorted(tuple(map(_cell, row)) for row in found)
    return len(given) == len(expected) and all(
        _same(a, b) for one, other in zip(given, expected, strict=True) for a, b in
        zip(one, other, strict=True)
    )  # fmt: skip


def _cell(text: str) -> Cell:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _same(a: Cell, b: Cell) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def check_folder(folder: Path) -> None:
    """The csv files of a run are what is expected."""
    for name in OUTPUTS:
        with (folder / f"{name}.csv").open(newline="") as file:
            given = list(csv.reader(file))[1:]
        assert as_expected(given, EXPECTED[name]), (name, given, EXPECTED[name])


@pytest.mark.parametrize("slots", [None, 1, 2])
def test_a_file(slots: int | None, capture: Path, tmp_path: Path) -> None:
    """With one slot nearly every packet's state crosses the border alone, and is merged."""
    words = () if slots is None else ("--slots", str(slots))
    done = gigastream("run", *ASKED, "-r", capture, *words, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    check_folder(tmp_path)


@pytest.mark.parametrize("settings", on_every_path(Settings(slots=4))[1:], ids=list(PATHS)[1:])
def test_every_path(settings: Settings, capture: Path) -> None:
    """Threads are one here: which of two states is fed first, the states may tell."""
    text = (read_query_file(str(QUERIES)),)
    plan = plan_queries(check_texts(QueryTexts(text, definitions=(str(DEFINITIONS),))).queries)
    assert kind_of(plan) == ONE_THREAD
    found = run(plan, [source(capture)], settings, [str(DEFINITIONS)]).rows
    for name in OUTPUTS:
        assert as_expected([[cell or "" for cell in row] for row in found[name]], EXPECTED[name])


def test_a_compiled_object(capture: Path, tmp_path: Path) -> None:
    """What `gigastream compile` makes needs neither definitions nor a compiler."""
    made = tmp_path / "traffic.so"
    done = gigastream("compile", *ASKED, "-o", made)
    assert done.code == 0, done.err
    done = gigastream("run", made, "-r", capture, "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    check_folder(tmp_path)


def test_a_spool_and_back(capture: Path, tmp_path: Path) -> None:
    """Partial states are bytes of a column there; what completes them is given by hand."""
    words = ("--slots", "4", "--segment-rows", "100", "-o", f"spool:{tmp_path / 'spool'}")
    done = gigastream("run", *ASKED, "-r", capture, *words)
    assert done.code == 0, done.err
    refused = gigastream("run", "--spool", tmp_path / "spool", "-o", "csv")
    assert refused.code == 2
    assert "is code of a definition file" in refused.err
    words = ("--definitions", DEFINITIONS, "-o", f"csv:{tmp_path}")
    done = gigastream("run", "--spool", tmp_path / "spool", *words)
    assert done.code == 0, done.err
    check_folder(tmp_path)


def test_a_ring() -> None:
    """As packets come in; partial rows and batches of one row."""
    text = (read_query_file(str(QUERIES)),)
    texts = QueryTexts(text, definitions=(str(DEFINITIONS),), interfaces={"link": {}})
    plan, link = plan_queries(check_texts(texts).queries), MockLink(1 << 14, 8)
    found: dict[str, list[Row]] = {name: [] for name in OUTPUTS}
    settings, options = Settings(batch_rows=1, slots=1), SessionOptions(include=texts.include)
    with MockSession(plan, [link.source()], settings, options) as session:

        def take() -> None:
            for event in session.events():
                found[event.query] += csv.reader(event.batch.csv().decode().splitlines())

        for packet in PACKETS[:300]:
            session.set_clock(packet.timestamp_ns - START_NS)
            assert link.receive(packet.frame) == 1
            link.retire()
            take()
        session.finish()
        take()
    expected = rows(PACKETS[:300])
    for name in OUTPUTS:
        assert as_expected(found[name], expected[name]), name
