# SPDX-License-Identifier: Apache-2.0
"""Every form of the language runs over the demo's capture, as one set of queries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE

import gigastream

FORMS = Path(__file__).with_name("language.gsql")
WITHOUT_ROWS = {"form_3"}
"""The demo has no MPLS."""


@pytest.mark.long
def test_every_form_runs() -> None:
    text = FORMS.read_text(encoding="utf-8")
    names = set(re.findall(r"query_name (\w+);", text))
    batches = gigastream.run(text, str(DEMO_CAPTURE))
    found = {(batch.schema.metadata or {})[b"gs.query"].decode() for batch in batches}
    assert found == names - WITHOUT_ROWS
