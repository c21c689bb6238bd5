# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: the GSQL front end.

A text is parsed, checked, planned and made C of; whatever it is, messages with places answer it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from gigastream.codegen.query_set import generate
from gigastream.gsql.catalog.definitions import parse_definitions
from gigastream.gsql.diagnostics import DiagnosticSink, GsqlError
from gigastream.gsql.source import SourceFile, decode
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts

TESTS = Path(__file__).parents[1]
SEED_BYTES = 200
LONGEST_BYTES = 4096
_TOKEN = re.compile(r"'[^']*'|\w+|\s+|[^\w\s]")
_ODD = (
    "(",
    ")",
    "'",
    '"',
    ";",
    "--",
    "/*",
    "$",
    "#",
    "\0",
    "\ufffd",
    "18446744073709551616",
    "NOT",
)


def seeds() -> Iterator[bytes]:
    """The queries of all other tests, right and wrong, a few at a time."""
    for folder in ("gsql", "binder", "plan", "answers", "sanitize"):
        for path in sorted((TESTS / folder).rglob("*.gsql")):
            yield from _short(path.read_bytes())


def _short(data: bytes) -> Iterator[bytes]:
    """A text of many queries, in parts: what one of them says is seen at the same rate."""
    part = b""
    for line in data.splitlines(keepends=True):
        if part and len(part) + len(line) > SEED_BYTES and (b"DEFINE" in line or not line.strip()):
            yield part
            part = b""
        part += line
    yield part


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Lose, double, exchange and take over words; now and then any byte."""
    if random.random() < 0.1:
        changed = bytearray(data)
        for _ in range(random.randint(1, 5)):
            changed[random.randrange(len(changed) + 1) :][:1] = random.randbytes(1)
        return bytes(changed[:LONGEST_BYTES])
    tokens = _TOKEN.findall(decode(data)) or [""]
    theirs = _TOKEN.findall(decode(random.choice(others))) or [""]
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at, length = random.randrange(len(tokens) + 1), random.choice((0, 1, 1, 2, 9))
        start = random.randrange(len(theirs))
        put = random.choice(
            ([], [random.choice(_ODD)], theirs[start : start + length], tokens[at : at + 5] * 2)
        )
        tokens[at : at + length] = put
    return "".join(tokens).encode(errors="replace")[:LONGEST_BYTES]


def execute(data: bytes) -> None:
    """Take a text to C, as far as it is right."""
    text = decode(data)
    if zlib.crc32(data) % 4 == 0:  # texts of queries, nearly all
        parse_definitions(text, "fuzz.gsql", DiagnosticSink())
    try:
        generate(plan_queries(check_texts(QueryTexts((SourceFile("fuzz", text),))).queries))
    except GsqlError as error:
        str(error)
