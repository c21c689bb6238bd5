# SPDX-License-Identifier: Apache-2.0
"""The Debian package, which is built once for all that install it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.captures import ROOT


@pytest.fixture(scope="package")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of this tree."""
    out = tmp_path_factory.mktemp("deb")
    words = [str(ROOT / "packaging" / "deb" / "build.sh"), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])
