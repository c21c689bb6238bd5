# SPDX-License-Identifier: Apache-2.0
"""UDAFs in every clause and operator that groups: beside aggregates of the language that agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream
from tests.extensions.tops import definitions
from tests.extensions.traffic import DEFINITIONS

QUERIES = {
    "of_large": """SELECT tb, srcPort, top(len) AS a, max(len) AS b FROM TCP
        GROUP BY time/60 AS tb, srcPort HAVING top(len) > 100 AND max(len) > 100""",
    "ordered": """SELECT tb, srcPort, top(len) AS a, max(len) AS b FROM TCP
        GROUP BY time/60 AS tb, srcPort ORDER BY top(len) DESC LIMIT 3""",
    "filtered": """SELECT tb, top(len) FILTER (WHERE srcPort = 80) AS a,
        max(len) FILTER (WHERE srcPort = 80) AS b FROM TCP GROUP BY time/10 AS tb""",
    "of_sets": """SELECT tb, srcPort, ttl, top(len) AS a, max(len) AS b FROM TCP
        GROUP BY time/60 AS tb, CUBE(srcPort, ttl)""",
    "of_windows": """SELECT window_end, srcPort, top(len) AS a, max(len) AS b
        FROM TCP [RANGE 120 sec, SLIDE 20 sec, WA time] GROUP BY srcPort""",
    "of_filtered_windows": """SELECT window_end, top(len) FILTER (WHERE ttl < 64) AS a,
        max(len) FILTER (WHERE ttl < 64) AS b FROM TCP [RANGE 60 sec, SLIDE 20 sec, WA time]""",
    "that_go_on": """SELECT tb, srcPort, top(len) AS a, max(len) AS b, running_sum(len) AS sum
        FROM TCP GROUP BY time/60 AS tb, srcPort CLOSING_WHEN count(*) = 0""",
    "of_a_union": """SELECT tb, top(len) AS a, max(len) AS b FROM TCP UNION UDP
        GROUP BY time/60 AS tb""",
    "twice": """SELECT tb, max(a) AS b, top(a) AS a FROM of_large GROUP BY tb""",
    "nested": """SELECT tb, top(len + 1) - 1 AS a, top(len) AS b, top(caplen) AS c, max(caplen) AS d
        FROM TCP GROUP BY time/60 AS tb""",
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return definitions(tmp_path_factory.mktemp("tops"))


def test_what_agrees_agrees(declared: Path, tmp_path: Path) -> None:
    texts = (f"DEFINE {{ query_name {name}; }} {query}" for name, query in QUERIES.items())
    words = ("--definitions", declared, "-e", ";".join(texts), "-r", DEMO_CAPTURE)
    done = gigastream("run", "-q", *words, "--slots", "4", "-o", f"csv:{tmp_path}")
    assert done.code == 0, done.err
    for name in QUERIES:
        header, *lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        columns, rows = header.split(","), [line.split(",") for line in lines]
        assert rows, name
        for one, other in (("a", "b"), ("c", "d")):
            if one in columns:
                a, b = columns.index(one), columns.index(other)
                assert [row[a] for row in rows] == [row[b] for row in rows], name


def test_a_handle_of_windows_that_overlap(tmp_path: Path) -> None:
    """Panes merge with it, above the border as below it."""
    query = """
    DEFINE {{ query_name shares; {option} }}
    SELECT window_end, share_of_ports(srcPort, data_length, '80 443') AS a,
        FLOAT(sum(CASE WHEN srcPort IN [80, 443] THEN data_length ELSE 0 END))
            / sum(data_length) AS b
    FROM TCP [RANGE 120 sec, SLIDE 20 sec, WA time]
    """
    for option in ("", "select_lfta;"):
        text = query.format(option=option)
        words = ("--definitions", DEFINITIONS, "-e", text, "-r", DEMO_CAPTURE)
        done = gigastream("run", "-q", *words, "-o", "csv")
        assert done.code == 0, done.err
        rows = [line.split(",") for line in done.lines[1:]]
        assert len(rows) > 5
        assert all(a == b for _, a, b in rows)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    """Errors have their place, and a header's lack the compiler's words."""
    (tmp_path / "own.gsql").write_text(
        "uint UDAF [LFTA_LEGAL] lacking uint (uint);\nuint UDAF all_rows uint ();\n"
    )
    (tmp_path / "own.h").write_text(
        '#include "gs_extension.h"\n'
        "static inline void gs_udaf_all_rows_init(uint32_t *state) { *state = 0; }\n"
        "static inline void gs_udaf_all_rows_update(uint32_t *state) { ++*state; }\n"
        "static inline uint32_t gs_udaf_all_rows_output(const uint32_t *state)"
        " { return *state; }\n"
    )
    words = ("--definitions", tmp_path / "own.gsql", "-r", DEMO_CAPTURE, "-o", "csv", "-e")
    by_minute = "FROM PKT GROUP BY time/600 AS tb"
    done = gigastream("run", "-q", *words, f"SELECT tb, lacking(len) AS x {by_minute}")
    assert done.code == 1
    assert "gs_udaf_lacking_uint_init" in done.err
    text = f"SELECT tb, all_rows() AS a, count(*) AS b {by_minute}"
    done = gigastream("run", "-q", *words, text)
    assert done.code == 0, done.err
    assert all(line.split(",")[1] == line.split(",")[2] for line in done.lines[1:])
    refused = {
        f"SELECT tb, all_rows() FILTER (WHERE len > 9) AS x {by_minute}": "has no argument",
        "DEFINE { lfta_aggregation; } SELECT tb, srcPort, lacking(len) AS x FROM TCP "
        "GROUP BY time/60 AS tb, srcPort": "the value of lacking is made above it",
    }
    for text, message in refused.items():
        done = gigastream("run", "-q", *words, text)
        assert done.code == 2
        assert message in done.err
