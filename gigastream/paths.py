# SPDX-License-Identifier: Apache-2.0
"""Where files lie: those that are not Python, and those that are made once and kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent


def include_directory() -> Path:
    """Return the folder of the C headers that generated code includes (csrc/abi)."""
    return _installed_or("include", "csrc/abi")


def configs_directory() -> Path:
    """Return the folder of packet.gsql and the other shipped definitions."""
    return _installed_or("configs", "configs")


def cache_directory() -> Path:
    """Return this user's folder of what is made once, making it if need be.

    Raises PermissionError where it belongs to somebody else.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    directory = Path(base) / "gigastream"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        directory = Path(tempfile.gettempdir()) / f"gigastream-{os.getuid()}"
        directory.mkdir(exist_ok=True, mode=0o700)
    if directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to somebody else; set XDG_CACHE_HOME")
    return directory


def _installed_or(packaged: str, in_checkout: str) -> Path:
    """Return the copy that setup.py made, or in an editable install the original."""
    copy = _PACKAGE / packaged
    return copy if copy.is_dir() else _CHECKOUT / in_checkout
