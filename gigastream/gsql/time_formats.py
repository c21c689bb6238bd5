# SPDX-License-Identifier: Apache-2.0
"""strftime: a time as text, by a format that is read once, as csrc/abi/gs_strftime.h does it.

TimeFormat(format).text(timestamp_ns) -> bytes      TimeFormatError says what is wrong, and where
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

MOST_BYTES = 1000
_DAYS = (b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday")
_MONTHS = (b"January", b"February", b"March", b"April", b"May", b"June", b"July", b"August",
           b"September", b"October", b"November", b"December")  # fmt: skip
_SHORT = b"dmyHIMSj"
"""Before these may stand a `-`: no leading zeros."""

Piece = Callable[[datetime, int], bytes]
"""Of a second in UTC and its nanoseconds."""


class TimeFormatError(ValueError):
    """A format that is none; `at` is the byte at which the mistake begins."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class TimeFormat:
    """A format that was read."""

    def __init__(self, text: bytes) -> None:
        if len(text) > MOST_BYTES:
            raise TimeFormatError(f"a format has at most {MOST_BYTES} bytes", 0)
        self._pieces = _pieces(text)

    def text(self, timestamp_ns: int) -> bytes:
        """The time in UTC."""
        seconds, nanoseconds = divmod(timestamp_ns, 10**9)
        second = datetime.fromtimestamp(0, UTC) + _SECOND * seconds
        return b"".join(piece(second, nanoseconds) for piece in self._pieces)


def _pieces(text: bytes) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    while at < len(text):
        end = text.find(b"%", at)
        end = len(text) if end < 0 else end
        if end > at:
            found.append(_plain(text[at:end]))
        if end == len(text):
            break
        piece, length = _piece(text, end)
        found.append(piece)
        at = end + length
    return found


def _piece(text: bytes, at: int) -> tuple[Piece, int]:
    """What the sign at a place says, and how many bytes it has."""
    is_short = text[at + 1 : at + 2] == b"-"
    place = at + (2 if is_short else 1)
    sign = text[place : place + 1].decode("latin-1")
    if not sign:
        raise TimeFormatError("nothing stands behind this %", at)
    if is_short and (sign.encode("latin-1") not in _SHORT or sign not in _NUMBERS):
        raise TimeFormatError(f"%-{sign} says nothing of a time", at)
    if sign in _NUMBERS:
        width, number = _NUMBERS[sign]
        return _numbered(number, 0 if is_short else width), place + 1 - at
    if sign in _WORDS:
        return _WORDS[sign], place + 1 - at
    raise TimeFormatError(f"%{sign} says nothing of a time", at)


def _plain(text: bytes) -> Piece:
    return lambda second, nanoseconds: text


def _numbered(number: Callable[[datetime, int], int], width: int) -> Piece:
    return lambda second, nanoseconds: b"%0*d" % (width, number(second, nanoseconds))


def _day_of_year(second: datetime) -> int:
    return second.timetuple().tm_yday


_SECOND = datetime(1970, 1, 1, 0, 0, 1) - datetime(1970, 1, 1)

_NUMBERS: dict[str, tuple[int, Callable[[datetime, int], int]]] = {
    "d": (2, lambda second, _: second.day),
    "m": (2, lambda second, _: second.month),
    "y": (2, lambda second, _: second.year % 100),
    "H": (2, lambda second, _: second.hour),
    "I": (2, lambda second, _: (second.hour + 11) % 12 + 1),
    "M": (2, lambda second, _: second.minute),
    "S": (2, lambda second, _: second.second),
    "U": (2, lambda second, _: (_day_of_year(second) + 6 - second.isoweekday() % 7) // 7),
    "W": (2, lambda second, _: (_day_of_year(second) + 6 - second.weekday()) // 7),
    "V": (2, lambda second, _: second.isocalendar().week),
    "Y": (4, lambda second, _: second.year),
    "G": (4, lambda second, _: second.isocalendar().year),
    "j": (3, lambda second, _: _day_of_year(second)),
    "g": (3, lambda _, nanoseconds: nanoseconds // 10**6),
    "f": (6, lambda _, nanoseconds: nanoseconds // 10**3),
    "n": (9, lambda _, nanoseconds: nanoseconds),
    "w": (1, lambda second, _: second.isoweekday() % 7),
    "u": (1, lambda second, _: second.isoweekday()),
}
"""How many digits a number has at least, and the number."""

_WORDS: dict[str, Piece] = {
    "a": lambda second, _: _DAYS[second.weekday()][:3],
    "A": lambda second, _: _DAYS[second.weekday()],
    "b": lambda second, _: _MONTHS[second.month - 1][:3],
    "B": lambda second, _: _MONTHS[second.month - 1],
    "p": lambda second, _: b"AM" if second.hour < 12 else b"PM",
    "z": _plain(b"+00"),
    "Z": _plain(b"UTC"),
    "%": _plain(b"%"),
}
