# SPDX-License-Identifier: Apache-2.0
"""Gigastream as a library."""

from __future__ import annotations

import gzip
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE

import gigastream
from gigastream.gsql.diagnostics import GsqlError
from gigastream.settings import Settings
from gigastream.sources.bpf import FilterError
from gigastream.sources.files import DamagedSourceError, FileSource, SourceError

QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"


def counts(*sources: str | Path | FileSource) -> list[int]:
    return [row["n"] for batch in gigastream.run(QUERY, sources) for row in batch.to_pylist()]


def test_rows_come_as_record_batches() -> None:
    assert counts(DEMO_CAPTURE) == [383, 737, 866, 24]
    assert counts(FileSource("eth0", str(DEMO_CAPTURE))) == [383, 737, 866, 24]


def test_several_files_of_an_interface_are_one_stream() -> None:
    assert counts(DEMO_CAPTURE, str(DEMO_CAPTURE)) == [766, 1474, 1732, 48]


def test_batches_say_whose_rows_they_have() -> None:
    query = f"{QUERY}; DEFINE {{ query_name large; }} SELECT time FROM PKT WHERE len > 1000"
    names = {batch.schema.metadata[b"gs.query"] for batch in gigastream.run(query, DEMO_CAPTURE)}
    assert names == {b"query", b"large"}


def test_a_parameter_has_a_value() -> None:
    query = f"PARAM {{ least uint; }} {QUERY.replace('GROUP', 'WHERE len >= $least GROUP')}"
    (batch, *_) = gigastream.run(query, DEMO_CAPTURE, parameters={"least": "1500"})
    assert 0 < batch.to_pylist()[0]["n"] < 383


def test_what_is_wrong_is_raised_before_anything_is_read() -> None:
    with pytest.raises(GsqlError, match="IPV5"):
        gigastream.run("SELECT time FROM IPV5", DEMO_CAPTURE)
    with pytest.raises(SourceError, match="No such file"):
        gigastream.run(QUERY, "missing.pcap")
    with pytest.raises(FilterError, match="tcp prot"):
        gigastream.run(QUERY, DEMO_CAPTURE, settings=Settings(filter="tcp prot 80"))


def test_damage_is_raised_after_the_rows_before_it(tmp_path: Path) -> None:
    capture = tmp_path / "cut.pcap.gz"
    capture.write_bytes(gzip.compress(DEMO_CAPTURE.read_bytes())[:-1000])
    found = []
    with pytest.raises(DamagedSourceError, match="the gzip stream ends too early"):
        found += gigastream.run(QUERY, capture)
    assert 1800 < sum(row["n"] for batch in found for row in batch.to_pylist()) < 2010


def test_rows_that_are_not_asked_for_end_the_run() -> None:
    rows = gigastream.run("SELECT time FROM PKT", DEMO_CAPTURE)
    next(rows)
    rows.close()  # type: ignore[attr-defined]


def test_explain_and_compile(tmp_path: Path) -> None:
    assert "low level" in gigastream.explain(QUERY)
    assert gigastream.compile(QUERY, tmp_path / "q.so").stat().st_size > 1000
    with pytest.raises(ValueError, match="none of text, c, json, dot"):
        gigastream.explain(QUERY, form="xml")


@pytest.mark.parametrize("value", ["80", 80])
def test_a_parameter_may_be_a_number(value: str | int) -> None:
    query = "PARAM { port uint; } SELECT time FROM TCP WHERE destPort = $port AND syn"
    rows = gigastream.run(query, DEMO_CAPTURE, parameters={"port": value})
    assert sum(batch.num_rows for batch in rows) == 55


def test_parameters_of_all_kinds() -> None:
    query = """PARAM { really bool; x float; host IP; from6 IPV6; name string; }
        SELECT time FROM IPV4
        WHERE $really AND len > $x AND srcIP <> $host AND $name = '1' AND $from6 = $from6"""
    given = {"really": True, "x": 1.5e3, "host": IPv4Address("10.0.0.1"), "name": 1}
    rows = gigastream.run(query, DEMO_CAPTURE, parameters={**given, "from6": IPv6Address("::1")})
    assert sum(batch.num_rows for batch in rows) > 0


def test_what_is_no_text_and_no_parameter_is_said() -> None:
    with pytest.raises(TypeError, match="a query is GSQL text, not PosixPath"):
        gigastream.run(DEMO_CAPTURE, DEMO_CAPTURE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"the parameter p is a text, .* not list"):
        gigastream.run(QUERY, DEMO_CAPTURE, parameters={"p": [1]})  # type: ignore[dict-item]


def test_what_there_is_has_a_name_that_a_notebook_completes() -> None:
    assert dir(gigastream) == sorted(gigastream.__all__)
    assert all(getattr(gigastream, name) is not None for name in dir(gigastream))
    assert gigastream.GsqlError is GsqlError
    assert gigastream.FilterError is FilterError
    assert gigastream.Settings(slack_ns=5).slack_ns == 5


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'answer'"):
        _ = gigastream.answer  # type: ignore[attr-defined]
