# SPDX-License-Identifier: Apache-2.0
"""Group keys: their hash, their equality, and the window's values.

The temporal group variables are the window, kept beside the key; the hash is over the others, and
is the same function below and above the border.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import C_TYPE, Lines, bytes_differ
from gigastream.gsql.expressions import Expression
from gigastream.gsql.queries import GroupVariable
from gigastream.gsql.types import Temporal, Type

_SMALL = (Type.BOOL, Type.USHORT, Type.UINT, Type.INT, Type.IP)


def size_rank(c_type: str) -> int:
    """Members of four bytes or less come first, beside the control word, then the wide ones."""
    ranks = {"uint32_t": 0, "int32_t": 0, "uint16_t": 1, "uint8_t": 2, "bool": 2}
    return ranks.get(c_type, 3)


def key_groups(groups: Sequence[GroupVariable]) -> list[int]:
    """Which groups are the key."""
    return [i for i, group in enumerate(groups) if not group.expression.temporal.is_temporal]


def window_groups(groups: Sequence[GroupVariable]) -> list[int]:
    """Which groups are the window."""
    return [i for i, group in enumerate(groups) if group.expression.temporal.is_temporal]


def write_slot_of(lines: Lines, groups: Sequence[GroupVariable]) -> None:
    """The hash of the group of `row`.

    Its lower half says in which slot the group lies, and in whose table; its upper one is the tag.
    """
    keys = key_groups(groups)
    types = [groups[i].expression.type for i in keys]
    write_hash(lines, "hash", "hash_key", types, [f"row->g{i}" for i in keys])
    lines.add(
        "row->slot = (uint32_t)hash;",
        "row->tag = (uint32_t)(hash >> 32) & ~0xffu;",
    )


def write_hash(
    lines: Lines, name: str, key: str, types: Sequence[Type], values: Sequence[str]
) -> None:
    """`uint64_t name`, the keyed hash of the values."""
    lines.add(f"uint64_t {name} = {key}[0];")
    small = [v for v, t in zip(values, types, strict=True) if t in _SMALL]
    for at in range(0, len(small), 2):
        pair = small[at : at + 2]
        word = f"(uint64_t)(uint32_t){pair[0]}"
        if len(pair) == 2:
            word += f" << 32 | (uint32_t){pair[1]}"
        lines.add(f"{name} = gs_hash_word({name}, {word}, {key});")
    for value, type_ in zip(values, types, strict=True):
        if type_ not in _SMALL:
            _write_wide(lines, name, key, value, type_)


def _write_wide(lines: Lines, name: str, key: str, value: str, type_: Type) -> None:
    if type_ is Type.STRING:
        lines.add(f"{name} = gs_hash_bytes({name}, {value}, {key});")
    elif type_.is_opaque:
        whole = f"(struct gs_string){{{value}.bytes, {type_.size}}}"
        lines.add(f"{name} = gs_hash_bytes({name}, {whole}, {key});")
    elif type_ in (Type.INET, Type.IPV6):
        for word in (0, 1):
            lines.add(f"{name} = gs_hash_word({name}, {value}.words[{word}], {key});")
    elif type_ is Type.FLOAT:
        bits = lines.name("bits")
        lines.add(
            f"uint64_t {bits};",
            f"memcpy(&{bits}, &(double){{{value} + 0.0}}, 8); /* one hash for 0 and -0 */",
            f"{name} = gs_hash_word({name}, {bits}, {key});",
        )
    else:
        lines.add(f"{name} = gs_hash_word({name}, (uint64_t){value}, {key});")


def equal(type_: Type, a: str, b: str) -> str:
    """C condition: two key values are the same."""
    if type_ in (Type.INET, Type.IPV6):
        return f"gs_inet_equal({a}, {b})"
    if type_ is Type.STRING:
        return f"gs_string_equal({a}, {b})"
    if type_.is_opaque:
        return f"{bytes_differ(type_, a, b)} == 0"
    return f"{a} == {b}"


def write_has_time(lines: Lines, value: str, e: Expression, refuse: str) -> None:
    """Refuse a temporal value that is beyond all bounds, as gs_row_has_time does."""
    if e.type is Type.ULLONG:
        lines.add(f"if (GS_UNLIKELY({value} > (uint64_t)INT64_MAX)) {refuse}")
    elif e.temporal is Temporal.DECREASING and C_TYPE[e.type] == "int64_t":
        lines.add(f"if (GS_UNLIKELY({value} == INT64_MIN)) {refuse}")


def to_bound(value: str, temporal: Temporal) -> str:
    """A temporal value that has a time, as windows and bounds hold it."""
    return f"-(gs_bound){value}" if temporal is Temporal.DECREASING else f"(gs_bound){value}"


def from_bound(bound: str, type_: Type, temporal: Temporal) -> str:
    """And back."""
    sign = "-" if temporal is Temporal.DECREASING else ""
    return f"({C_TYPE[type_]}){sign}{bound}"
