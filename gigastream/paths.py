# SPDX-License-Identifier: Apache-2.0
"""Where files lie: those that are not Python, and those that are made once and kept."""

from __future__ import annotations

import os
from pathlib import Path

from gigastream.ownership import UntrustedError, check_folder, home

CONTROL_SOCKET = Path("/run/gigastream/control.sock")
"""Of a daemon that was not told otherwise."""
_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_headers: list[Path] = []
"""Where copies of the C headers lie, if there are any."""


def include_directory() -> Path:
    """Return the folder of the C headers that generated code includes (csrc/abi)."""
    return _headers[0] if _headers else _installed_or("include", "csrc/abi")


def copy_headers(folder: Path) -> None:
    """From now on the C headers are read in a copy, which another user can read. OSError."""
    originals = sorted(include_directory().glob("*.h"))
    folder.mkdir(exist_ok=True, mode=0o755)
    for header in originals:
        beside = folder / f".{header.name}-{os.getpid()}"
        beside.write_bytes(header.read_bytes())
        beside.chmod(0o644)
        beside.replace(folder / header.name)
    _headers[:] = [folder]


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
        import tempfile

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
