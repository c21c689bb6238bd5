# SPDX-License-Identifier: Apache-2.0
"""Real captures beside the checkout, where there are any."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "pcaps"
CORPUS = Path(os.environ.get("GIGASTREAM_PCAPS", DEFAULT))


@dataclass(frozen=True)
class Entry:
    """A line of the corpus's manifest."""

    path: Path
    kind: str
    packets: int
    size_bytes: int


@cache
def entries() -> tuple[Entry, ...]:
    """Every capture of the corpus; skips the test if there is no corpus."""
    manifest = CORPUS / "MANIFEST.tsv"
    if not manifest.exists():
        pytest.skip(f"no captures at {CORPUS}")
    with manifest.open(encoding="utf-8") as lines:
        return tuple(map(_entry, csv.DictReader(lines, delimiter="\t")))


def _entry(line: dict[str, str]) -> Entry:
    return Entry(
        path=CORPUS / line["file"],
        kind=line["file"].split("/")[0],
        packets=int(line["packets"]),
        size_bytes=int(line["size"]),
    )
