# SPDX-License-Identifier: Apache-2.0
"""Templates of NetFlow v9 and IPFIX: the fields of a record, compiled to what reads a whole set.

A set whose fields all have a length is unpacked by one `struct.Struct`, fields that are no column
being runs of padding; one with fields of variable length (RFC 7011, section 7) field by field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.records.flows.elements import ELEMENTS, ElementKind

VARIABLE = 0xFFFF
MAX_FIELDS = 1024
"""Of a template: 4 KiB of them, more than a datagram of an Ethernet link holds."""
_WHOLE = {1: "B", 2: "H", 4: "I", 8: "Q"}


class TemplateError(Exception):
    """No record can be of it."""


@dataclass(frozen=True, slots=True)
class ElementField:
    """As it stands in a template: `length` in bytes, or VARIABLE."""

    element: int
    length: int
    is_of_enterprise: bool = False

    @property
    def meaning(self) -> tuple[str, ElementKind] | None:
        return None if self.is_of_enterprise else ELEMENTS.get(self.element)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A field that is a column; its position among the values that a record gives."""

    column: str
    kind: ElementKind
    is_bytes: bool
    """Whether its value comes as bytes, not as a number."""


@dataclass(frozen=True, slots=True)
class Template:
    """How the records of a set are cut."""

    wanted: tuple[Wanted, ...]
    least_bytes: int
    """Of a record."""
    fixed: struct.Struct | None
    cuts: tuple[tuple[int, bool], ...] = ()
    """Where lengths vary: each length, and whether it is wanted."""
    is_options: bool = False

    @property
    def field_count(self) -> int:
        """Of those that take memory."""
        return len(self.wanted) + len(self.cuts)

    def records(self, data: memoryview) -> tuple[list[tuple[Any, ...]], bool]:
        """The wanted values of each record; what is left behind the last one is padding.

        False where a length goes beyond the set: nothing behind it can be found.
        """
        if self.fixed is not None:
            count = len(data) // self.fixed.size
            return list(self.fixed.iter_unpack(data[: count * self.fixed.size])), True
        records: list[tuple[bytes, ...]] = []
        try:
            records.extend(self._cut(data))
        except TemplateError:
            return records, False
        return records, True

    def _cut(self, data: memoryview) -> Iterable[tuple[bytes, ...]]:
        at = 0
        while len(data) - at >= self.least_bytes:
            values: list[bytes] = []
            for fixed_length, is_wanted in self.cuts:
                length, at = _length(data, at, fixed_length)
                if at + length > len(data):
                    raise TemplateError("a field goes beyond its set")
                if is_wanted:
                    values.append(bytes(data[at : at + length]))
                at += length
            yield tuple(values)


def _length(data: memoryview, at: int, length: int) -> tuple[int, int]:
    """Of a field, and where it begins."""
    if length != VARIABLE:
        return length, at
    if at < len(data) and data[at] < 255:
        return data[at], at + 1
    if at + 3 > len(data):
        raise TemplateError("a length goes beyond its set")
    return int.from_bytes(data[at + 1 : at + 3], "big"), at + 3


def compile_template(fields: Sequence[ElementField], *, is_options: bool = False) -> Template:
    """Raises TemplateError for one whose records would have no bytes, or too many fields."""
    if len(fields) > MAX_FIELDS:
        raise TemplateError(f"a template of {len(fields)} fields")
    lasting = [field for field in fields if field.length]  # of no bytes: no step of any record
    least = sum(1 if field.length == VARIABLE else field.length for field in lasting)
    if not least:
        raise TemplateError("a template of no bytes")
    varies = any(field.length == VARIABLE for field in lasting)
    wanted = tuple(
        Wanted(*field.meaning, is_bytes=varies or field.length not in _WHOLE)
        for field in lasting
        if field.meaning is not None
    )
    if varies:
        cuts = tuple((field.length, field.meaning is not None) for field in lasting)
        return Template(wanted, least, None, cuts, is_options)
    return Template(wanted, least, struct.Struct(_format(lasting)), (), is_options)


def _format(fields: Iterable[ElementField]) -> str:
    """Of struct: runs of what is no column are one run of padding."""
    parts, padding = [">"], 0
    for field in fields:
        if field.meaning is None:
            padding += field.length
            continue
        if padding:
            parts.append(f"{padding}x")
            padding = 0
        is_whole = field.length in _WHOLE and field.meaning[1] is not ElementKind.ADDRESS
        parts.append(_WHOLE[field.length] if is_whole else f"{field.length}s")
    if padding:
        parts.append(f"{padding}x")
    return "".join(parts)
