# SPDX-License-Identifier: Apache-2.0
"""Every target that `make help` lists can be made: what it calls is there."""

from __future__ import annotations

import re
import subprocess

import pytest
from captures import ROOT

TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
def test_the_commands_of_a_target_are_found(target: str) -> None:
    """Make itself runs what calls make again, even where nothing else is to be run."""
    done = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for script in re.findall(r"(?:bench|demo)/\S+\.(?:py|sh)", done.stdout):
        assert (ROOT / script).is_file()
