# SPDX-License-Identifier: Apache-2.0
"""str_regex_match and str_extract_regex: the C library's own matcher, called by Python workers.

Java's regular expressions are another language: they take the first alternative that matches where
POSIX takes the longest, and a payload can make them overflow the stack. The engine's matcher is
glibc's, which every Python on Linux has in its process; so the answer is the same one.
csrc/abi/gs_regex.h says what a pattern means.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

_EXTENDED, _NEWLINE = 1, 4
_LC_ALL_MASK = 0x1FBF
_REGEX_BYTES = 256
"""More than any glibc's regex_t."""
_MEANINGS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\\\"}


class PatternError(Exception):
    """A pattern that is no regular expression, or a C library that is not glibc."""


class _Registers(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint),
        ("starts", ctypes.POINTER(ctypes.c_int)),
        ("ends", ctypes.POINTER(ctypes.c_int)),
    )


class Pattern:
    """A compiled POSIX extended regular expression over bytes; for one thread."""

    def __init__(self, text: bytes) -> None:
        self._library = _library()
        self._regex = ctypes.create_string_buffer(_REGEX_BYTES)
        self._registers = _Registers()
        if b"\0" in text:
            raise PatternError("a regular expression cannot hold a zero byte")
        with _c_locale(self._library):
            flags = _EXTENDED | _NEWLINE
            status = self._library.regcomp(self._regex, _unescaped(text), flags)
        if status != 0:
            raise PatternError(self._reason(text, status))

    def search(self, text: bytes) -> tuple[int, int] | None:
        """Where the leftmost longest match begins and ends."""
        length, registers = len(text), self._registers
        found = self._library.re_search(
            self._regex, text, length, 0, length, ctypes.byref(registers)
        )
        return (registers.starts[0], registers.ends[0]) if found >= 0 else None

    def _reason(self, text: bytes, status: int) -> str:
        reason = ctypes.create_string_buffer(128)
        self._library.regerror(status, self._regex, reason, len(reason))
        return (
            f"bad regular expression '{text.decode('utf-8', 'replace')}': {reason.value.decode()}"
        )


def matching(pattern: bytes) -> Callable[[Column], Column]:
    """Whether the pattern matches anywhere; NULL over NULL."""

    def matches(texts: pa.Array) -> pa.Array:
        search = _compiled(pattern).search
        found = [text if text is None else search(text) is not None for text in texts.to_pylist()]
        return pa.array(found, pa.bool_())

    function: Callable[[Column], Column] = F.arrow_udf(matches, "boolean")
    return function


def extracting(pattern: bytes) -> Callable[[Column], Column]:
    """The leftmost longest part that matches; NULL where there is none."""

    def extract(texts: pa.Array) -> pa.Array:
        compiled = _compiled(pattern)
        return pa.array([_part(compiled, text) for text in texts.to_pylist()], pa.binary())

    function: Callable[[Column], Column] = F.arrow_udf(extract, "binary")
    return function


def why_not(pattern: bytes) -> str | None:
    """What is wrong with a pattern; None if nothing is."""
    try:
        _compiled(pattern)
    except PatternError as error:
        return str(error)
    return None


@cache
def _compiled(pattern: bytes) -> Pattern:
    """Once for each process: a worker lives through many tasks."""
    return Pattern(pattern)


def _part(pattern: Pattern, text: bytes | None) -> bytes | None:
    found = None if text is None else pattern.search(text)
    return None if text is None or found is None else text[found[0] : found[1]]


def _unescaped(text: bytes) -> bytes:
    r"""With the characters that \n, \r and \t name, which POSIX does not know."""
    return re.sub(rb"\\([nrt\\])", lambda found: _MEANINGS[found[1]], text)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    if not hasattr(library, "re_search"):
        raise PatternError("regular expressions need glibc, which is not this machine's C library")
    library.newlocale.restype = library.uselocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    library.uselocale.argtypes = library.freelocale.argtypes = (ctypes.c_void_p,)
    library.re_search.argtypes = (
        *(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.POINTER(_Registers),
    )
    return library


@contextmanager
def _c_locale(library: ctypes.CDLL) -> Iterator[None]:
    """Bytes are characters, whatever the worker's locale."""
    locale = library.newlocale(_LC_ALL_MASK, b"C", None)
    before = library.uselocale(locale)
    try:
        yield
    finally:
        library.uselocale(before)
        library.freelocale(locale)
