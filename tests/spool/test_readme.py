# SPDX-License-Identifier: Apache-2.0
"""The manifest in the spool's README is one, and the files that it names are there."""

from __future__ import annotations

import re

from captures import ROOT

from gigastream.spool.entry import decode

FOLDER = ROOT / "gigastream" / "spool"
TEXT = (FOLDER / "README.md").read_text()


def test_the_lines_that_are_shown_are_lines() -> None:
    lines = re.findall(r"^[0-9a-f]{8} \{.*$", TEXT, re.MULTILINE)
    kinds = [decode(line.encode()).kind for line in lines]
    assert kinds == ["run", "segment", "punctuation", "run", "end"]


def test_every_file_has_a_place_in_the_table() -> None:
    named = set(re.findall(r"`(\w+\.py)`", TEXT))
    there = {path.name for path in FOLDER.glob("*.py")}
    assert named == there - {"__init__.py", "errors.py", "settings.py"}
