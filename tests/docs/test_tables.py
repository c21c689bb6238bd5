# SPDX-License-Identifier: Apache-2.0
"""What the documents list is what there is: fields, functions, options, link types, folders."""

from __future__ import annotations

import re

import pytest
from captures import ROOT
from docs.tables import Row, quoted, tables

from gigastream.gsql.binder.aggregates import AGGREGATES
from gigastream.gsql.binder.declared import OTHER_NAMES
from gigastream.gsql.binder.language import LANGUAGE
from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.syntax.blocks import OPTIONS as DEFINE_OPTIONS
from gigastream.gsql.tunnels import TUNNELS
from gigastream.options import OPTIONS, SPOOL_OPTIONS
from gigastream.shipped_queries import shipped_queries

GSQL = ROOT / "docs" / "gsql.md"
OPERATIONS = ROOT / "docs" / "operations.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PARTS = ("csrc", "gigastream", "spark_sink")
CATALOG = load_catalog()


def rows_of(document: object, heading: str) -> list[list[Row]]:
    """Return the tables whose first column is headed so."""
    return [table for table in tables(document) if table[0][0] == heading]  # type: ignore[arg-type]


def listed_fields() -> dict[str, dict[str, str]]:
    """Return the type of each field that the tables list, by protocol."""
    found: dict[str, dict[str, str]] = {}
    for heading, *rows in rows_of(GSQL, "field"):
        for row in rows:
            for protocol, type_ in zip(heading[1:-1], row[1:-1], strict=True):
                names = quoted(row[0]) if type_ else []
                found.setdefault(protocol, {}).update(dict.fromkeys(names, type_))
    return found


@pytest.mark.parametrize("name", [protocol.name for protocol in CATALOG.protocols.values()])
def test_the_fields_of_a_protocol_are_listed(name: str) -> None:
    protocol = CATALOG.protocol(name)
    assert protocol is not None
    own = [field for field in protocol.fields.values() if field.protocol == name]
    assert listed_fields()[name] == {field.name: str(field.type) for field in own}


def test_the_functions_are_listed() -> None:
    ((_, *rows),) = rows_of(GSQL, "function")
    declared = {f.name + "[]" * f.is_predicate for f in CATALOG.all_functions}
    assert {name for row in rows for name in quoted(row[0])} == declared


def test_the_functions_of_the_language_are_listed() -> None:
    ((_, *rows),) = rows_of(GSQL, "of the language")
    listed = {name.partition("(")[0] for row in rows for name in quoted(row[0])}
    casts = {"INT", "UINT", "LLONG", "ULLONG", "FLOAT"}
    others = casts | {"IF", "non_temporal", "time_bucket"}
    assert listed <= set(LANGUAGE)
    assert all(f"`{name}" in GSQL.read_text() for name in set(LANGUAGE) - others)


def test_what_others_have_under_the_same_name_is_there() -> None:
    ((_, *rows),) = rows_of(GSQL, "they have")
    same = {name for row in rows if row[1].startswith("the same") for name in quoted(row[0])}
    words = {"LIKE", "ILIKE", "ESCAPE", "~", "!~", "CASE"}
    there = {function.name for function in CATALOG.all_functions}
    assert same <= words | there | set(LANGUAGE) | set(OTHER_NAMES)
    assert len(same) > 50


def test_the_aggregates_are_listed() -> None:
    ((_, *rows),) = rows_of(GSQL, "aggregate")
    assert {name for row in rows for name in quoted(row[0])} == set(AGGREGATES)


def test_the_options_of_a_query_are_listed() -> None:
    ((_, *rows),) = rows_of(GSQL, "option in DEFINE")
    listed = {name for row in rows for name in quoted(row[0])}
    assert listed == set(DEFINE_OPTIONS)


def test_the_queries_that_ship_are_listed() -> None:
    ((_, *rows),) = rows_of(OPERATIONS, "query")
    assert {name for row in rows for name in quoted(row[0])} == set(shipped_queries())


def test_the_options_of_a_run_are_listed() -> None:
    rows = [row for _, *rows in rows_of(OPERATIONS, "option") for row in rows]
    listed = {quoted(row[0])[0].split()[0] for row in rows}
    assert listed >= {f"--{option.name}" for option in (*OPTIONS, *SPOOL_OPTIONS)}


def test_the_link_types_are_listed() -> None:
    registry = (ROOT / "csrc" / "capture" / "linktype.c").read_text()
    known = re.findall(r"^    \{(\d+), (GS_LINK_\w+),", registry, re.MULTILINE)
    supported = {number for number, link in known if link != "GS_LINK_UNSUPPORTED"}
    ((_, *rows),) = rows_of(GSQL, "number")
    assert {number for row in rows for number in row[0].split(", ")} == supported


def test_the_tunnels_are_listed() -> None:
    ((_, *rows),) = rows_of(GSQL, "tunnel")
    assert [quoted(row[0])[0] for row in rows] == list(TUNNELS)
    for row, rules in zip(rows, TUNNELS.values(), strict=True):
        ports = {rule.udp_port for rule in rules if rule.udp_port}
        protocols = {rule.ip_protocol for rule in rules if rule.ip_protocol and not rule.udp_port}
        assert set(map(int, re.findall(r"\d+", row[1]))) == ports | protocols


def folders_of_parts() -> list[str]:
    """The folders that the architecture's table of parts has."""
    (parts,) = (table for table in tables(ARCHITECTURE) if table[0] == ["folder", "in", "out"])
    return [folder for row in parts[1:] for folder in quoted(row[0])]


def test_every_folder_is_among_the_parts() -> None:
    sources = (path for part in PARTS for path in (ROOT / part).rglob("*.*"))
    with_code = {path.parent for path in sources if path.suffix in (".c", ".h", ".py")}
    folders = {f"{folder.relative_to(ROOT)}/" for folder in with_code}
    listed = folders_of_parts()
    assert len(listed) == len(set(listed))
    assert set(listed) == folders - {"csrc/", "gigastream/"}


def test_changes_have_one_folder_each() -> None:
    ((_, *rows),) = rows_of(ARCHITECTURE, "what is to change")
    folders = [quoted(row[1]) for row in rows]
    assert len({folder for (folder,) in folders}) == len(rows) > 9
    assert {folder for (folder,) in folders} <= set(folders_of_parts())
