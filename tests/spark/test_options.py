# SPDX-License-Identifier: Apache-2.0
"""An option that is wrong is refused with a sentence that helps."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from spark_sink.admission import Limits
from spark_sink.errors import SpoolSourceError
from spark_sink.options import SourceOptions, parse


def test_a_path_is_enough() -> None:
    assert parse({"path": "/a"}) == SourceOptions(("/a",))


def test_every_option_is_read() -> None:
    given = {
        "paths": '["/a", "/b"]',
        "stream": "low",
        "interfaces": "eth0, eth1",
        "columns": '["time", "srcIP"]',
        "generation": "3",
        "startingat": "LATEST",
        "maxRowsPerTrigger": "10",
        "maxSegmentsPerTrigger": "11",
        "maxBytesPerTrigger": "12",
        "partitions": "4",
        "timestamps": "nanoseconds",
        "unsigned": "bits",
        "strings": "bytes",
        "addresses": "bytes",
        "heartbeats": "false",
        "onDamage": "skip",
        "reader": "job",
        "idleAfterSeconds": "30",
        "onIdle": "end",
    }
    assert parse(given) == SourceOptions(
        paths=("/a", "/b"),
        stream="low",
        interfaces=("eth0", "eth1"),
        columns=("time", "srcIP"),
        generation=3,
        starting_at="latest",
        limits=Limits(10, 11, 12),
        partitions=4,
        inside=frozenset({"timestamp", "ullong", "string", "IP", "IPV6", "INET"}),
        heartbeats=False,
        fails_on_damage=False,
        reader="job",
        idle_after_s=30,
        on_idle="end",
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("maxRowPerTrigger", "1", "did you mean maxRowsPerTrigger?"),
        ("colums", "a", "did you mean columns?"),
        ("zzz", "1", "the options are path, paths, stream"),
        ("maxRowsPerTrigger", "many", "'many' is not a whole number greater than 0"),
        ("partitions", "0", "option partitions: '0' is not a whole number greater than 0"),
        ("startingAt", "yesterday", "earliest, latest or the number of a segment"),
        ("columns", "[1]", "a list of names"),
        ("columns", "[", "a list of names"),
        ("interfaces", "", "needs one at least"),
        ("heartbeats", "yes", "true or false"),
        ("timestamps", "ns", "microseconds or nanoseconds"),
        ("onDamage", "panic", "skip or fail"),
        ("stream", "", "a name"),
        ("paths", '["/a"]', "needs the path of a spool"),
    ],
)
def test_a_wrong_one_is_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(SpoolSourceError) as refusal:
        parse({"path": "/a", name: text})
    assert words in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_the_path_is_needed() -> None:
    with pytest.raises(SpoolSourceError, match="needs the path of a spool"):
        parse({"stream": "low"})


def test_no_columns_is_a_list_too() -> None:
    assert parse({"path": "/a", "columns": ""}).columns == ()
