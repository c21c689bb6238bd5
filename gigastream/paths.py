# SPDX-License-Identifier: Apache-2.0
"""Where files lie: those that are not Python, and those that are made once and kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gigastream.ownership import UntrustedError, check_folder, home

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

    Raises UntrustedError where somebody else could put something into it.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    directory = (Path(base) if base else home() / ".cache") / "gigastream"
    if not _is_made(directory):
        directory = Path(tempfile.gettempdir()) / f"gigastream-{os.geteuid()}"
        if not _is_made(directory):
            raise UntrustedError(f"{directory} cannot be made", "set XDG_CACHE_HOME")
    check_folder(directory)
    return directory


def _is_made(directory: Path) -> bool:
    """Whether the name is there now, whatever it is of."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return os.path.lexists(directory)
    return True


def _installed_or(packaged: str, in_checkout: str) -> Path:
    """Return the copy that setup.py made, or in an editable install the original."""
    copy = _PACKAGE / packaged
    return copy if copy.is_dir() else _CHECKOUT / in_checkout
