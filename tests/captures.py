# SPDX-License-Identifier: Apache-2.0
"""Captures that are not part of the project: a folder of real ones beside the checkout.

Tests that use them are parametrized by `captures(…)` and are skipped where the folder is missing:

    @pytest.mark.parametrize("capture", captures("good", "large"), ids=capture_id)
    def test_something(capture: Path) -> None: …
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO_CAPTURE = ROOT / "demo" / "demo.pcap"


def captures_directory() -> Path:
    """Return the folder: $GIGASTREAM_PCAPS, else ../shared/pcaps beside the checkout."""
    named = os.environ.get("GIGASTREAM_PCAPS")
    return Path(named) if named else ROOT.parent / "shared" / "pcaps"


def captures(*classes: str) -> list[Path]:
    """Return the captures of some classes (good, large, hostile, broken, ng-odd, empty), sorted."""
    folders = (captures_directory() / name for name in classes)
    return sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir())


def capture_id(capture: Path) -> str:
    """Return the name of a parametrized test: class/file."""
    return f"{capture.parent.name}/{capture.name}"
