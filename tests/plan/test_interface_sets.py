# SPDX-License-Identifier: Apache-2.0
"""Interface sets: what a set holds, what is wrong with one, the C that is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.planned import checked

from gigastream.codegen.interfaces import UnknownInterfacesError
from gigastream.codegen.query_set import generate
from gigastream.gsql.diagnostics import GsqlError
from gigastream.gsql.queries import ProtocolSource
from gigastream.plan import plan_queries

INTERFACES = {
    "eth0": {"type": "pcap", "tags": "big, core", "speed": "100"},
    "eth1": {"type": "ring", "role": "backup"},
    "lo": {},
}


def members(definition: str, folder: Path, query: str = "SELECT time FROM [s].PKT") -> list[str]:
    path = folder / "sets.gsql"
    path.write_text(definition)
    source = checked(query, definitions=path, interfaces=INTERFACES)[0].sole_source
    assert isinstance(source, ProtocolSource)
    assert source.interfaces is not None
    return list(source.interfaces)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("Equals[type, pcap]", ["eth0"]),
        ("Equals[type, 'ring']", ["eth1"]),
        ("equals[speed, 100]", ["eth0"]),
        ("Contains[tags, core]", ["eth0"]),
        ("Contains[tags, cor] or Exists[role]", ["eth1"]),
        ("Exists[type] and not Equals[role, backup]", ["eth0"]),
        ("not Exists[type]", ["lo"]),
        ("Equals[name, lo] or Equals[name, eth0]", ["eth0", "lo"]),
    ],
)
def test_a_set_is_a_predicate_over_properties(
    predicate: str, expected: list[str], tmp_path: Path
) -> None:
    assert members(f"s : {predicate};", tmp_path) == expected


def test_the_default_set_can_be_defined(tmp_path: Path) -> None:
    query = "SELECT time FROM PKT"
    assert members("default : Exists[type];", tmp_path, query) == ["eth0", "eth1"]
    source = checked(query, interfaces=INTERFACES)[0].sole_source
    assert isinstance(source, ProtocolSource)
    assert source.interfaces is None


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        ("Equals[role, none]", "no interface is in the set s"),
        ("Equal[role, none]", "no predicate Equal over interfaces"),
        ("Exists[a, b]", "Exists takes a property"),
        ("Contains[a]", "Contains takes a property and a value"),
        ("role = backup", "an interface set is made of Contains, Equals and Exists"),
    ],
)
def test_what_is_wrong_with_a_set_is_told(predicate: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(GsqlError, match=message):
        members(f"s : {predicate};", tmp_path)


def test_an_lfta_is_bound_to_the_interfaces_of_its_set(tmp_path: Path) -> None:
    path = tmp_path / "sets.gsql"
    path.write_text("s : Exists[type];")
    text = "SELECT time FROM [s].PKT"
    known = plan_queries(checked(text, definitions=path, interfaces=INTERFACES))
    assert '{"eth0", "eth1", NULL}' in generate(known)
    with pytest.raises(UnknownInterfacesError, match="the set s is not known"):
        generate(plan_queries(checked(text, definitions=path)))
