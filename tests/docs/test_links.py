# SPDX-License-Identifier: Apache-2.0
"""What a document points to is there: its links, their headings, and the files that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
_FILE = re.compile(r"`((?:\.ci|bench|configs|csrc|demo|docs|gigastream|tests)/[\w./-]*)`")


def _texts(document: Path) -> Iterator[str]:
    """Yield what stands outside of fenced blocks."""
    yield from re.split(r"^```.*?^```$", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def _anchors(document: Path) -> set[str]:
    """Return the names that a heading gets where the documents are shown."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {re.sub(r"\s", "-", heading) for heading in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for text in _texts(document):
        for path, anchor in _LINK.findall(text):
            target = (document.parent / path).resolve() if path else document
            assert target.exists(), path
            assert not anchor or anchor in _anchors(target), anchor


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_are_there(document: Path) -> None:
    for text in _texts(document):
        for path in _FILE.findall(text):
            assert (ROOT / path).exists(), path
