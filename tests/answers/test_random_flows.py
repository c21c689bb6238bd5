# SPDX-License-Identifier: Apache-2.0
"""Queries at random over the STREAM FLOW, whose records are those that a SELECT of all shows."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from captures import ROOT

import gigastream
from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.stream_names import stream_interface
from gigastream.records.source import stream_sources
from gigastream.settings import Settings
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import plan_of, run
from tests.answers.function_maker import FunctionMaker
from tests.answers.query_maker import INET, STRING, TIMESTAMP, WHOLE, Column
from tests.answers.reference.queries import answers
from tests.answers.reference.records import Records, records
from tests.answers.test_random import is_accepted

EXPORTS = str(ROOT / "demo" / "exports.pcap")
QUERIES = 16
ALL_OF_TIME_NS = 10**18
TYPES = {
    "timestamp": "timestamp",
    "exporter": "INET",
    "format": "string",
    "flow_start": "timestamp",
    "flow_end": "timestamp",
    "packets": "ullong",
    "bytes": "ullong",
    "sampling_rate": "uint",
    "srcIP": "INET",
    "destIP": "INET",
    "srcPort": "ushort",
    "destPort": "ushort",
    "protocol": "ushort",
    "next_hop": "INET",
    "src_as": "uint",
    "input_interface": "uint",
}
KINDS = {"timestamp": TIMESTAMP, "INET": INET, "string": STRING}
COLUMNS = [
    Column(name, KINDS.get(type_, WHOLE), name == "timestamp", type_ in ("uint", "ushort"))
    for name, type_ in TYPES.items()
]


class FlowMaker(FunctionMaker):
    """Each query reads FLOW."""

    def _text(self, name: str) -> str:
        self._columns = self._some(COLUMNS)
        return self._query(name, "FLOW", "")[0]


@pytest.fixture(scope="module")
def flows() -> Records:
    """The records of the example, as they come."""
    shown = (f"LLONG({name})" if of == "timestamp" else name for name, of in TYPES.items())
    batches = gigastream.run(f"SELECT {', '.join(shown)} FROM FLOW", streams={"FLOW": EXPORTS})
    rows = [tuple(map(_bytes, row.values())) for batch in batches for row in batch.to_pylist()]
    assert len(rows) > 300
    return records(list(TYPES.items()), rows, 1, ALL_OF_TIME_NS)


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_a_pool_of_queries(seed: int, flows: Records) -> None:
    interfaces = (stream_interface("FLOW"),)
    made = FlowMaker(Random(seed), interfaces).query_set(QUERIES)
    text = ";\n".join(query for query in made if is_accepted(query, interfaces))
    sources = stream_sources({"FLOW": EXPORTS}, load_catalog([]).streams)
    for batch_rows in (1, None):
        settings = Settings(batch_rows=batch_rows, slots=batch_rows)
        given = run(plan_of(text, interfaces=interfaces), sources, settings)
        assert_same_answers(answers(text, [], streams={"FLOW": flows}), given, text)
