# SPDX-License-Identifier: Apache-2.0
"""The graph: every node once, an edge for each input, and labels that Graphviz can read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from plan.planned import planned
from plan.test_explain import FILES, plan_of

from gigastream.plan.to_dot import to_dot


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_node_and_every_input_is_drawn(path: Path) -> None:
    plan = plan_of(path)
    text = to_dot(plan)
    assert len(re.findall(r"^    n\d+ \[label=", text, re.MULTILINE)) == len(plan.nodes)
    assert len(re.findall(r"^  n\d+ -> n\d+;", text, re.MULTILINE)) == sum(
        len(node.inputs) for node in plan.nodes
    )


def test_low_and_high_stand_apart() -> None:
    plan = planned("SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb")
    low = to_dot(plan).split("subgraph cluster_high")[0]
    assert low.count("[label=") == sum(node.is_low for node in plan.nodes)


def test_quotes_and_backslashes_of_a_query_stay_within_their_label() -> None:
    text = r"""SELECT time FROM TCP WHERE str_match_start[TCP_data, 'a"]; \l x [label="']"""
    drawn = to_dot(planned(text))
    assert r"a\"]; \\l x [label=\"" in drawn
    unescaped = re.sub(r"\\.", "", drawn)
    assert all(line.count('"') % 2 == 0 for line in unescaped.splitlines())


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it() -> None:
    text = to_dot(planned("SELECT time FROM TCP WHERE interface = 'a\"b'"))
    subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)
