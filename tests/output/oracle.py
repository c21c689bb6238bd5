# SPDX-License-Identifier: Apache-2.0
"""Rows as csv and JSON in plain Python, a value at a time: what csrc/output must equal."""

from __future__ import annotations

import datetime
import ipaddress
import json
import math
from collections.abc import Sequence

from tests.output.driver import Column, Value

EPOCH = datetime.datetime(1970, 1, 1)
TO_QUOTE = frozenset(b',"\r\n')
WHOLE = frozenset(("ushort", "uint", "int", "ullong", "llong"))


def csv_text(columns: Sequence[Column]) -> str:
    """One line a row."""
    rows = zip(*(column.values for column in columns), strict=True)
    types = [column.type for column in columns]
    return "".join(",".join(map(_csv_cell, types, row)) + "\n" for row in rows)


def json_text(columns: Sequence[Column], query: str = "") -> str:
    """One object a row."""
    rows = zip(*(column.values for column in columns), strict=True)
    types = [column.type for column in columns]
    keys = [json.dumps(column.name, ensure_ascii=False) + ":" for column in columns]
    first = f'"query":{json.dumps(query, ensure_ascii=False)},' if query else ""
    return "".join(f"{{{first}{','.join(_members(keys, types, row))}}}\n" for row in rows)


def _members(keys: list[str], types: list[str], row: tuple[Value, ...]) -> list[str]:
    cells = zip(keys, types, row, strict=True)
    return [key + _json_cell(type_name, value) for key, type_name, value in cells]


def _csv_cell(type_name: str, value: Value) -> str:
    if value is None:
        return ""
    if type_name != "string":
        return plain(type_name, value)
    assert isinstance(value, bytes)
    text = value.decode(errors="backslashreplace")
    is_quoted = not value or TO_QUOTE & set(value)
    return '"' + text.replace('"', '""') + '"' if is_quoted else text


def _json_cell(type_name: str, value: Value) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    if type_name == "string":
        assert isinstance(value, bytes)
        return json.dumps(value.decode(errors="backslashreplace"), ensure_ascii=False)
    is_bare = type_name in WHOLE or type_name in ("bool", "float")
    return plain(type_name, value) if is_bare else f'"{plain(type_name, value)}"'


def plain(type_name: str, value: Value) -> str:
    """A value that is no string, without quotes."""
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "mac":
        assert isinstance(value, int)
        return value.to_bytes(6, "big").hex(":")
    if type_name == "timestamp":
        assert isinstance(value, int)
        return _iso_8601(value)
    if type_name in ("IP", "INET", "IPV6"):
        return _address(type_name, str(value))
    return value.hex() if isinstance(value, bytes) else repr(value)


def _address(type_name: str, text: str) -> str:
    address = ipaddress.ip_address(text)
    held = address if address.version == 4 else address.ipv4_mapped
    if held is None:
        return address.compressed
    return f"::ffff:{held}" if type_name == "IPV6" else str(held)


def _iso_8601(timestamp_ns: int) -> str:
    seconds, fraction_ns = divmod(timestamp_ns, 10**9)
    moment = EPOCH + datetime.timedelta(seconds=seconds)
    return f"{moment.isoformat()}.{fraction_ns:09}Z"
