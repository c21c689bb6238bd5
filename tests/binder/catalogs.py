# SPDX-License-Identifier: Apache-2.0
"""The catalogs of these tests: the shipped one, and one with all numbers in all directions."""

from __future__ import annotations

from functools import cache

from gigastream.gsql.binder.binder import check
from gigastream.gsql.catalog.build import (
    SHIPPED,
    SHIPPED_FUNCTIONS,
    DefinitionFile,
    build_catalog,
    load_catalog,
)
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Expression
from gigastream.paths import configs_directory

NUMBERS = ("ushort", "uint", "int", "ullong", "llong")
DIRECTIONS = {"rising": ", increasing", "falling": ", decreasing", "any": ""}

FIELDS = [
    f"{type_} {prefix}_{type_} {prefix}_{type_} (required{attribute});"
    for prefix, attribute in DIRECTIONS.items()
    for type_ in NUMBERS
]
NUMBERS_PROTOCOL = "PROTOCOL NUMBERS {\n" + "\n".join(FIELDS) + "\n}"


@cache
def shipped() -> Catalog:
    """The catalog of configs/."""
    return load_catalog()


@cache
def numbers() -> Catalog:
    """The catalog of the protocol NUMBERS, with the shipped functions."""
    sink = DiagnosticSink()
    functions = (configs_directory() / "functions.gsql").read_text()
    texts = (NUMBERS_PROTOCOL, functions)
    files = [DefinitionFile(parse_definitions(text, "test", sink), True) for text in texts]
    catalog = build_catalog(files, sink)
    sink.raise_if_errors()
    return catalog


def bound(expression: str, catalog: Catalog | None = None, protocol: str = "NUMBERS") -> Expression:
    """The checked form of an expression over the fields of a protocol."""
    found = check(
        [(f"SELECT {expression} AS x FROM {protocol}", "q")], catalog=catalog or numbers()
    )
    return found[0].outputs[0].expression


def with_protocol(text: str) -> Catalog:
    """The shipped catalog with one more definition."""
    sink = DiagnosticSink()
    shipped_texts = [
        (configs_directory() / name).read_text() for name in (*SHIPPED, *SHIPPED_FUNCTIONS)
    ]
    files = [DefinitionFile(parse_definitions(one, "s", sink), True) for one in shipped_texts]
    files.append(DefinitionFile(parse_definitions(text, "test", sink), False, "test.h"))
    catalog = build_catalog(files, sink)
    sink.raise_if_errors()
    return catalog
