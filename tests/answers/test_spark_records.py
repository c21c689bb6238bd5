# SPDX-License-Identifier: Apache-2.0
"""STREAMs by way of a spool on Spark: tracks like any, and the rows of the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.source import SourceFile
from gigastream.gsql.stream_names import stream_interface
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.records.source import stream_sources
from gigastream.settings import Settings
from tests.answers.comparison import assert_same_answers
from tests.answers.engine import run, source
from tests.answers.links import Links, links_of
from tests.answers.on_spark import QuerySet, Spooled, write_spool
from tests.answers.record_maker import DEFINITIONS, given_of
from tests.answers.reference.queries import Source, answers
from tests.oracle.query import decode
from tests.strategies.files import NANOSECONDS, pcap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = """DEFINE { query_name counted; }
SELECT tb, srcIP, up, count(*) AS n, sum(len) AS bytes, sum(rate) AS rates
FROM events GROUP BY time/10 AS tb, srcIP, up;
DEFINE { query_name both; }
SELECT tb, interface, count(*) AS n FROM events UNION others GROUP BY time/20 AS tb, interface;
DEFINE { query_name met; }
SELECT e.time, e.interface, e.rate, p.len FROM events e, IP p
WHERE e.time = p.time AND e.srcIP = p.srcIP
"""
STREAMS = ("events", "others")


@pytest.mark.long
def test_records_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    packets, _ = links_of(Links(seed=5, conversations=40, seconds=60))
    capture = tmp_path / "a.pcap"
    capture.write_bytes(pcap(packets, magic=NANOSECONDS))
    declared = tmp_path / "declared.gsql"
    declared.write_text(DEFINITIONS)
    given = {name: given_of(name, 7, 300, 60) for name in STREAMS}
    for name, each in given.items():
        (tmp_path / f"{name}.json").write_text(each.text)
    places = {name: str(tmp_path / f"{name}.json") for name in STREAMS}
    sources = [source(capture), *stream_sources(places, load_catalog([declared]).streams)]
    interfaces = {each.interface: dict[str, str]() for each in sources}
    assert set(interfaces) == {"default", *map(stream_interface, STREAMS)}
    file = SourceFile("query", QUERIES)
    texts = QueryTexts((file,), definitions=(str(declared),), interfaces=interfaces)
    queries = QuerySet(texts, plan_queries(check_texts(texts).queries))
    streams = {name: each.answer(name, 10**9) for name, each in given.items()}
    expected = answers(QUERIES, [Source(decode(capture.read_bytes()))], streams=streams)
    here = run(queries.plan, sources, Settings())
    assert_same_answers(expected, here)
    assert all(answer.rows for answer in expected.values())
    write_spool(queries, sources, tmp_path / "spool", Settings())
    rows = Spooled(spark, tmp_path / "spool").answers()
    assert {name: sorted(map(str, found)) for name, found in rows.items()} == {
        name: sorted(map(str, found)) for name, found in here.rows.items()
    }
