# SPDX-License-Identifier: Apache-2.0
"""Strings, which are bytes, as Spark's text: UTF-8, as the engine prints it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_CHARACTER = (
    r"[\x00-\x7f]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    r"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
"""Of RFC 3629, each byte being a character of ISO 8859-1: no overlong forms, no surrogates."""
_PIECE = rf"(?s){_CHARACTER}|."
_BYTES = "ISO-8859-1"


def string_text(value: Column) -> Column:
    r"""Return bytes as text; one that is not UTF-8 becomes the four characters \xHH."""
    text = value.cast("string")
    return F.when(F.is_valid_utf8(text), text).otherwise(_escaped(value))


def _escaped(value: Column) -> Column:
    pieces = F.regexp_extract_all(F.decode(value, _BYTES), F.lit(_PIECE), F.lit(0))
    return F.array_join(F.transform(pieces, _piece), "")


def _piece(piece: Column) -> Column:
    bytes_ = F.encode(piece, _BYTES)
    text = bytes_.cast("string")
    return F.when(F.is_valid_utf8(text), text).otherwise(
        F.concat(F.lit(r"\x"), F.lower(F.hex(bytes_)))
    )
