# SPDX-License-Identifier: Apache-2.0
"""Plans as data: each query set's explanation is beside it.

The expected files are written anew by GIGASTREAM_UPDATE_GOLDEN=1; read the difference then. A
`.definitions` file beside a query set is read before it; with it the interfaces are INTERFACES.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plan.planned import checked

from gigastream.codegen.query_set import generate
from gigastream.plan import plan_queries
from gigastream.plan.explain import explain
from gigastream.plan.plan import Plan

FOLDER = Path(__file__).parent / "explain"
FILES = sorted(FOLDER.glob("*.gsql"))
INTERFACES = {
    "eth0": {"type": "pcap", "role": "main"},
    "eth1": {"type": "pcap,ring", "role": "backup"},
    "wlan0": {"type": "ring"},
}


def plan_of(path: Path) -> Plan:
    definitions = path.with_suffix(".definitions")
    given = definitions.exists()
    queries = checked(
        path.read_text(),
        definitions=definitions if given else None,
        interfaces=INTERFACES if given else None,
    )
    return plan_queries(queries)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_query_set_is_planned_as_expected(path: Path) -> None:
    found = explain(plan_of(path)) + "\n"
    expected = path.with_suffix(".explain")
    if os.environ.get("GIGASTREAM_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_of_nodes_are_unique_and_c_comes_of_every_plan(path: Path) -> None:
    plan = plan_of(path)
    names = [node.name.lower() for node in plan.nodes if node not in plan.outputs]
    assert len(set(names)) == len(names)
    assert generate(plan) == generate(plan_of(path))
