# SPDX-License-Identifier: Apache-2.0
"""SELECT * gives every field: as it is where a packet has it, NULL where it has not.

What each field is is held by the oracle elsewhere; a query that names one has the packets that do.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from captures import DEMO_CAPTURE

import gigastream
from gigastream.gsql.catalog.build import load_catalog
from gigastream.settings import Settings
from tests.answers.inputs import INPUTS

AHEAD = Settings(fast_path=False)
PROTOCOLS = ("PKT", "ETH", "IPV4", "IPV6", "IP", "DataProtocol", "TCP", "UDP", "ICMP")


@pytest.fixture(scope="module", params=["demo", "mixture"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "demo":
        return DEMO_CAPTURE
    path = tmp_path_factory.mktemp("star") / f"{request.param}.pcap"
    path.write_bytes(INPUTS[request.param]())
    return path


def rows(query: str, capture: Path) -> list[dict[str, object]]:
    """Which are the same where packets are decoded ahead of the one LFTA that sees them."""
    found, ahead = (
        [row for batch in gigastream.run(query, capture, settings=given) for row in plain(batch)]
        for given in (None, AHEAD)
    )
    assert found == ahead
    return found


def plain(batch: pyarrow.RecordBatch) -> list[dict[str, object]]:
    """The rows of a batch, times as nanoseconds: Python's own have none."""
    columns = [
        column.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(column.type) else column
        for column in batch.columns
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()


def fields(protocol: str) -> list[str]:
    """The fields of a protocol under their first names."""
    found = load_catalog().protocol(protocol)
    assert found is not None
    return [item.name for item in found.fields.values() if not (item.alias_of or item.is_unlisted)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_field_is_there_or_null(protocol: str, capture: Path) -> None:
    star = {row["packet_id"]: row for row in rows(f"SELECT * FROM {protocol}", capture)}
    every = {row["packet_id"] for row in rows(f"SELECT packet_id FROM {protocol}", capture)}
    assert set(star) == every
    names = fields(protocol)
    assert all(list(row) == names for row in star.values())
    texts = [
        f"DEFINE {{ query_name q{n}; }} SELECT packet_id, {name} AS x FROM {protocol}"
        for n, name in enumerate(names)
    ]
    present: dict[str, dict[object, object]] = {name: {} for name in names}
    for batch in gigastream.run(";".join(texts), capture):
        name = names[int(batch.schema.metadata[b"gs.query"][1:])]
        present[name].update((row["packet_id"], row["x"]) for row in plain(batch))
    for name in names:
        found = {number: row[name] for number, row in star.items() if row[name] is not None}
        assert found == present[name], name


def test_a_field_that_is_named_beside_the_star_is_demanded(capture: Path) -> None:
    beside = rows("SELECT *, flow_label + 1 AS more FROM IP", capture)
    behind = rows("SELECT * FROM IP WHERE flow_label >= 0", capture)
    named = rows("SELECT packet_id FROM IP WHERE flow_label >= 0", capture)
    assert [row["packet_id"] for row in beside] == [row["packet_id"] for row in named]
    assert behind == [{k: v for k, v in row.items() if k != "more"} for row in beside]
    assert named
    assert all(row["flow_label"] is not None for row in beside)


def test_null_goes_on_through_queries(capture: Path) -> None:
    text = """
        DEFINE { query_name star; visibility internal; } SELECT * FROM IP;
        DEFINE { query_name lacking; } SELECT packet_id FROM star WHERE flow_label IS NULL
    """
    lacking = {row["packet_id"] for row in rows(text, capture)}
    having = {row["packet_id"] for row in rows("SELECT packet_id, flow_label FROM IP", capture)}
    every = {row["packet_id"] for row in rows("SELECT packet_id FROM IP", capture)}
    assert lacking == every - having
    assert lacking


def test_distinct_star_groups_what_is_absent(capture: Path) -> None:
    assert len(rows("SELECT DISTINCT * FROM ETH", capture)) == len(
        rows("SELECT * FROM ETH", capture)
    )
