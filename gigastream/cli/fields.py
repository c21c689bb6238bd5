# SPDX-License-Identifier: Apache-2.0
"""gigastream fields: what can be read of a packet."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gigastream.cli.arguments import add_definitions
from gigastream.cli.errors import UsageError

if TYPE_CHECKING:
    from gigastream.gsql.catalog.catalog import Catalog, Field, Protocol


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A protocol's name, and definitions of one's own."""
    parser.add_argument("protocol", nargs="?", metavar="PROTOCOL", help="list its fields")
    add_definitions(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the protocols, or the fields of one."""
    from gigastream.gsql.catalog.build import load_catalog

    catalog = load_catalog(arguments.definitions)
    if arguments.protocol is None:
        kinds = [*catalog.protocols.values(), *(s.protocol for s in catalog.streams.values())]
        protocols = map(_protocol_row, kinds)
        print_columns([("protocol", "is a", "fields"), *protocols])
        return 0
    fields = map(_field_row, _protocol(catalog, arguments.protocol).fields.values())
    print_columns([("field", "type", "order", "from", "is"), *fields])
    return 0


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells, the first of them the heading, each column as wide as it must be."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _protocol(catalog: Catalog, name: str) -> Protocol:
    stream = catalog.streams.get(name.lower())
    found = catalog.protocol(name) if stream is None else stream.protocol
    if found is None:
        from gigastream.gsql.diagnostics import did_you_mean

        names = [protocol.name for protocol in catalog.protocols.values()]
        hint = did_you_mean(name, names) or "one of " + ", ".join(names)
        raise UsageError(f"there is no protocol '{name}'", hint)
    return found


def _protocol_row(protocol: Protocol) -> tuple[str, str, str]:
    bases = "STREAM" if protocol.is_stream else ", ".join(protocol.bases)
    return protocol.name, bases, str(len(protocol.fields))


def _field_row(field: Field) -> tuple[str, str, str, str, str]:
    order = field.temporal.value if field.temporal.is_temporal else ""
    return field.name, str(field.type), order, field.protocol, ", ".join(_remarks(field))


def _remarks(field: Field) -> Iterable[str]:
    if field.alias_of:
        yield f"another name of {field.alias_of}"
    if field.is_unlisted:
        yield "not in SELECT *"
    if field.clock:
        yield f"time in {field.clock}"
    if not field.required:
        yield "may be absent"
    if field.subtype:
        yield field.subtype
