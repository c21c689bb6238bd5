# SPDX-License-Identifier: Apache-2.0
"""The trailing BPF filter of a command line, compiled by libpcap for a link type.

The engine runs the program itself: it gets the address of a `struct bpf_program` and of libpcap's
`pcap_offline_filter`, so no Python runs per packet.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import cache
from itertools import combinations

from gigastream.shipped_queries import hint_for
from gigastream.sources import libpcap

_SNAP_LENGTH_BYTES = 262144
_NETMASK_UNKNOWN = 0xFFFFFFFF
_HINTED_WORDS = 40


class FilterError(Exception):
    """A filter that libpcap does not take, or no libpcap to ask."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class _Program(ctypes.Structure):
    """`struct bpf_program`."""

    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


class CompiledFilter:
    """A BPF program for one link type; its memory lives as long as this object."""

    def __init__(self, text: str, link_type: int) -> None:
        """Compile a filter (pcap-filter(7)) for a DLT_ number; FilterError says what is wrong."""
        self._library = _libpcap()
        self._program = _Program()
        capture = self._library.pcap_open_dead(link_type, _SNAP_LENGTH_BYTES)
        try:
            self._compile(capture, text)
        finally:
            self._library.pcap_close(capture)

    def _compile(self, capture: int, text: str) -> None:
        program = ctypes.byref(self._program)
        status = self._library.pcap_compile(
            capture, program, os.fsencode(text), 1, _NETMASK_UNKNOWN
        )
        if status != 0:
            message = self._library.pcap_geterr(capture).decode(errors="replace")
            raise FilterError(f"filter '{text}': {message}", _hint(text))

    def __del__(self) -> None:
        if getattr(self, "_program", None) is not None and self._program.instructions:
            self._library.pcap_freecode(ctypes.byref(self._program))

    @property
    def program_address(self) -> int:
        """Address of the `struct bpf_program`."""
        return ctypes.addressof(self._program)

    @property
    def match_address(self) -> int:
        """Address of `int pcap_offline_filter(program, const struct pcap_pkthdr *, bytes)`."""
        function = ctypes.cast(self._library.pcap_offline_filter, ctypes.c_void_p)
        return function.value or 0


def _hint(text: str) -> str | None:
    """Say what is likely meant where a word of the filter is a file."""
    for name in _names_in(text.split(" ")[:_HINTED_WORDS]):
        if os.path.isfile(name):
            return f"{name} is a file: a capture is named with -r, a query file ends in .gsql"
    first, _, more = text.partition(" ")
    return hint_for(first, is_alone=not more)


def _names_in(words: list[str]) -> Iterator[str]:
    """Yield the words, and neighbours together: a path may have spaces."""
    for first, last in combinations(range(len(words) + 1), 2):
        yield " ".join(words[first:last])


@cache
def _libpcap() -> ctypes.CDLL:
    try:
        library = libpcap.load()
    except libpcap.LibpcapError as error:
        raise FilterError(f"a filter needs libpcap: {error}", error.hint) from None
    library.pcap_open_dead.restype = ctypes.c_void_p
    library.pcap_close.argtypes = (ctypes.c_void_p,)
    library.pcap_geterr.argtypes = (ctypes.c_void_p,)
    library.pcap_geterr.restype = ctypes.c_char_p
    library.pcap_compile.argtypes = (
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint,
    )
    library.pcap_freecode.argtypes = (ctypes.c_void_p,)
    return library
