# SPDX-License-Identifier: Apache-2.0
"""The reader of patterns: POSIX extended ones, with the escapes that everybody writes."""

from __future__ import annotations

import re

from gigastream.gsql.regular_expressions.syntax import (
    ALL_BYTES,
    ESCAPED_BYTES,
    ESCAPED_CLASSES,
    NAMED_CLASSES,
    Anchor,
    Byte,
    Choice,
    Part,
    Repeat,
    Sequence,
    caseless,
    members_of,
)
from gigastream.late_dataclass import dataclass

MOST_REPEATS = 1000
MOST_DEPTH = 50
MOST_STEPS = 2000
"""Of a program: they bound what a byte of a text costs."""
_COUNT = re.compile(rb"\{(\d*)(,?)(\d*)\}")
_NAMED = re.compile(rb"\[:(\^?[a-z]*):\]")
_HEX = re.compile(rb"[0-9A-Fa-f]{2}")
_REFUSED_ESCAPES = {
    **dict.fromkeys("123456789", ("there are no back-references", "repeat the pattern")),
    **dict.fromkeys("bB<>", ("there are no word boundaries", r"(^|\W)word(\W|$)")),
    **dict.fromkeys("AzZ", ("an anchor is written ^ or $", None)),
    **dict.fromkeys("pPX", ("there are no classes of Unicode", "texts are bytes")),
}
_REFUSED_GROUPS = {
    "=": ("there is no looking ahead", "write what must follow into the pattern"),
    "!": ("there is no looking ahead", "write a second condition: AND NOT …"),
    "<": ("there is no looking back, and groups have no names", "(…) groups"),
    "P": ("groups have no names", "(…) groups"),
}


class PatternError(Exception):
    """What is wrong with a pattern, at which of its bytes, and how to mend it."""

    def __init__(self, message: str, at: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint


def parse(pattern: bytes) -> Part:
    """The tree of a pattern."""
    return _PatternReader(pattern).whole()


def steps_of(part: Part) -> int:
    """How many steps a program for it has, without writing one; what is empty counts as one."""
    if isinstance(part, Byte | Anchor):
        return 1
    if isinstance(part, Repeat):
        inner = max(steps_of(part.part), 1)
        if part.most is None:
            return max(part.least, 1) * inner + 1
        return part.most * inner + part.most - part.least
    inside = sum(max(steps_of(inner), 1) for inner in part.parts)
    return inside + len(part.parts) - 1 if isinstance(part, Choice) else inside


@dataclass(slots=True)
class _Piece:
    """A part, where it begins, and how many steps it takes."""

    part: Part
    at: int
    steps: int
    is_wide: bool = False
    """A character of several bytes, which a repeat would take apart."""


class _PatternReader:
    def __init__(self, pattern: bytes) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._steps = 0
        self._caseless = pattern.startswith(b"(?i)")
        if self._caseless:
            self._at = 4

    def whole(self) -> Part:
        part = self._choice()
        if self._at < len(self._pattern):
            raise PatternError("this bracket closes nothing", self._at, r"write \) for the sign")
        return part

    def _choice(self) -> Part:
        parts = [self._sequence()]
        while self._accept(b"|"):
            self._count(1, self._at)
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self._at < len(self._pattern) and self._peek() not in b"|)":
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self) -> Part:
        before = self._steps
        piece = self._atom()
        at, bounds = self._at, self._bounds()
        if bounds is None:
            return piece.part
        if piece.is_wide:
            hint = "put it into brackets: (…)"
            raise PatternError("a repeat would take this character apart", piece.at, hint)
        if self._pattern[piece.at] in b"^$":
            raise PatternError("an anchor cannot be repeated", at)
        again, bounds_again = self._at, self._bounds()
        if bounds_again is not None:
            raise PatternError("a repeat of a repeat", again, _again_hint(self._pattern, again))
        repeat = Repeat(piece.part, *bounds)
        self._steps = before
        self._count(steps_of(repeat), at)
        return repeat

    def _bounds(self) -> tuple[int, int | None] | None:
        """The least and the most of `* + ? {m,n}`, if one of them stands here."""
        sign = self._pattern[self._at : self._at + 1]
        if sign and sign in b"*+?":
            self._at += 1
            return (1 if sign == b"+" else 0), (1 if sign == b"?" else None)
        found = _COUNT.match(self._pattern, self._at)
        if found is None or found[0] in (b"{}", b"{,}"):
            return None
        least = _count(found[1], found.start(1)) if found[1] else 0
        most: int | None = least
        if found[2]:
            most = _count(found[3], found.start(3)) if found[3] else None
        if most is not None and most < least:
            raise PatternError(f"{most} is less than {least}", found.start(3))
        self._at = found.end()
        return least, most

    def _atom(self) -> _Piece:
        at, byte = self._at, self._peek()
        self._at += 1
        if byte in b"*+?":
            raise PatternError(
                "there is nothing to repeat", at, f"write \\{chr(byte)} for the sign"
            )
        if byte in b"^$":
            self._count(1, at)
            return _Piece(Anchor(byte == ord("$")), at, 1)
        if byte == ord("("):
            return self._group(at)
        if byte == ord("["):
            return self._set(at, self._bracket(at))
        if byte == ord("."):
            return self._set(at, ALL_BYTES)
        if byte == ord("\\"):
            return self._set(at, self._escape(at))
        return self._literal(at, byte)

    def _literal(self, at: int, byte: int) -> _Piece:
        """A byte, or all bytes of a character of UTF-8."""
        end = at + 1
        while byte >= 0xC0 and self._pattern[end : end + 1] and self._pattern[end] & 0xC0 == 0x80:
            end += 1
        self._at = end
        if end == at + 1:
            return self._set(at, 1 << byte)
        self._count(end - at, at)
        parts = tuple(Byte(1 << one) for one in self._pattern[at:end])
        return _Piece(Sequence(parts), at, len(parts), is_wide=True)

    def _group(self, at: int) -> _Piece:
        if self._depth == MOST_DEPTH:
            raise PatternError(f"brackets nest deeper than {MOST_DEPTH}", at)
        if self._accept(b"?") and not self._accept(b":"):
            sign = chr(self._peek()) if self._at < len(self._pattern) else ""
            hint = ("(?…) is no group here", "(?:…) groups, (?i) stands at the beginning")
            message, mend = _REFUSED_GROUPS.get(sign, hint)
            raise PatternError(message, at, mend)
        self._depth += 1
        before = self._steps
        part = self._choice()
        self._depth -= 1
        if not self._accept(b")"):
            raise PatternError("this bracket is not closed", at, r"write \( for the sign")
        return _Piece(part, at, self._steps - before)

    def _set(self, at: int, members: int) -> _Piece:
        self._count(1, at)
        return _Piece(Byte(caseless(members) if self._caseless else members), at, 1)

    # Sets

    def _bracket(self, at: int) -> int:
        is_negated = self._accept(b"^")
        members, is_first = 0, True
        while is_first or self._peek_or(at) != ord("]"):
            members |= self._range(at)
            is_first = False
        self._at += 1
        if self._caseless:
            members = caseless(members)
        members = ALL_BYTES ^ members if is_negated else members
        if members == 0:
            raise PatternError("no byte is in these brackets", at)
        return members

    def _range(self, at: int) -> int:
        named = _NAMED.match(self._pattern, self._at)
        if named is not None:
            self._at = named.end()
            name = named[1].decode()
            if name not in NAMED_CLASSES:
                hint = f"one of {' '.join(NAMED_CLASSES)}"
                raise PatternError(f"no class [:{name}:]", named.start(), hint)
            return NAMED_CLASSES[name]
        if self._pattern[self._at : self._at + 2] in (b"[.", b"[="):
            raise PatternError("there are no collating elements", self._at)
        start = self._at
        first = self._member(at)
        if self._pattern[self._at : self._at + 1] != b"-":
            return first
        if self._pattern[self._at + 1 : self._at + 2] in (b"]", b""):
            return first
        self._at += 1
        last = self._member(at)
        if first.bit_count() != 1 or last.bit_count() != 1:
            raise PatternError("a range is from one byte to another", start)
        if last < first:
            raise PatternError("this range runs backwards", start)
        return members_of((first.bit_length() - 1, last.bit_length() - 1))

    def _member(self, at: int) -> int:
        byte = self._peek_or(at)
        if byte >= 0x80:
            hint = "brackets hold single bytes: write (ä|ö)"
            raise PatternError("a character of several bytes in brackets", self._at, hint)
        self._at += 1
        return self._escape(self._at - 1) if byte == ord("\\") else 1 << byte

    def _peek_or(self, at: int) -> int:
        """The next byte; an error at the bracket that is open where there is none."""
        if self._at == len(self._pattern):
            raise PatternError("this bracket is not closed", at, r"write \[ for the sign")
        return self._peek()

    def _escape(self, at: int) -> int:
        if self._at == len(self._pattern):
            raise PatternError("nothing stands behind this backslash", at, r"write \\ for the sign")
        sign = chr(self._peek())
        self._at += 1
        if sign in ESCAPED_CLASSES:
            return ESCAPED_CLASSES[sign]
        if sign in ESCAPED_BYTES:
            return 1 << ESCAPED_BYTES[sign]
        if sign == "x":
            digits = _HEX.match(self._pattern, self._at)
            if digits is None:
                raise PatternError(r"two digits stand behind \x", at, r"\x00 to \xff")
            self._at += 2
            return 1 << int(digits[0], 16)
        if sign.isascii() and not sign.isalnum():
            return 1 << ord(sign)
        message, hint = _REFUSED_ESCAPES.get(sign, (f"\\{sign} means nothing", None))
        raise PatternError(message, at, hint)

    # Small steps

    def _peek(self) -> int:
        return self._pattern[self._at]

    def _accept(self, sign: bytes) -> bool:
        found = self._pattern.startswith(sign, self._at)
        self._at += found
        return found

    def _count(self, steps: int, at: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            message = f"the pattern takes more than {MOST_STEPS} steps from here on"
            raise PatternError(
                message, at, "smaller repeats, fewer alternatives, or two conditions"
            )


def _count(digits: bytes, at: int) -> int:
    if len(digits) > len(str(MOST_REPEATS)) or int(digits) > MOST_REPEATS:
        raise PatternError(f"a repeat goes up to {MOST_REPEATS}", at)
    return int(digits)


def _again_hint(pattern: bytes, at: int) -> str:
    if pattern[at : at + 1] == b"?":
        return "the longest match is taken, always: leave ? out, or write [^x]*x for .*?x"
    return "put the first into brackets: (…)"
