# SPDX-License-Identifier: Apache-2.0
"""Every capture of the collection beside the checkout, if there is one: good, odd, hostile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture.shown import check, split_files

DEFAULT = Path(__file__).parents[2].parent / "shared" / "pcaps"
PCAPS = Path(os.environ.get("GIGASTREAM_PCAPS", DEFAULT))
FILES = sorted(p for p in PCAPS.glob("*/*") if p.is_file())


@pytest.mark.long
@pytest.mark.skipif(not FILES, reason="no collection of captures beside the checkout")
@pytest.mark.parametrize("how", ["mmap", "read"])
def test_collection(driver: Callable[..., list[str]], how: str) -> None:
    shown = split_files(driver("records", how, 64, -1, *FILES))
    for path, lines in zip(FILES, shown, strict=True):
        check(lines, path.read_bytes(), path.name)
