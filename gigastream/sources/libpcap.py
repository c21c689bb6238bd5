# SPDX-License-Identifier: Apache-2.0
"""libpcap, as the PyPI package of that name brings it; its Python is never imported."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ERROR_BYTES = 256


class LibpcapError(Exception):
    """There is no libpcap here."""

    hint = "pip install libpcap"


@cache
def shared_object() -> Path:
    """Return its path. Raises LibpcapError."""
    for folder in _package_folders():
        found = sorted(folder.glob(f"_platform/linux/{os.uname().machine}/**/libpcap.so*"))
        if found:
            return found[0]
    raise LibpcapError(f"libpcap is not here for {os.uname().machine}")


@cache
def load() -> ctypes.CDLL:
    """Load it. Raises LibpcapError."""
    try:
        return ctypes.CDLL(str(shared_object()))
    except OSError as error:
        raise LibpcapError(f"libpcap cannot be loaded: {error}") from None


class _Device(ctypes.Structure):
    """`struct pcap_if`, as far as it is looked at."""


_Device._fields_ = [("next", ctypes.POINTER(_Device)), ("name", ctypes.c_char_p)]


def devices() -> list[str]:
    """Return the names of what it can capture from, as far as we may know. Raises LibpcapError."""
    library, first = load(), ctypes.POINTER(_Device)()
    if library.pcap_findalldevs(ctypes.byref(first), ctypes.create_string_buffer(ERROR_BYTES)) != 0:
        return []
    names, device = [], first
    while device:
        names.append(device.contents.name.decode(errors="replace"))
        device = device.contents.next
    library.pcap_freealldevs(first)
    return names


def _package_folders() -> Iterator[Path]:
    package = importlib.util.find_spec("libpcap")
    if package is not None:
        yield from map(Path, package.submodule_search_locations or ())
