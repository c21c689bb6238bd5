# SPDX-License-Identifier: Apache-2.0
"""Values whose order is the opposite: what sorts upwards as a column is to sort downwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gigastream.gsql.types import Type

if TYPE_CHECKING:
    from pyspark.sql import Column

_HEX = "0123456789ABCDEF"
_PAST_HEX = "G"


def mirrored(value: Column, type_: Type) -> Column:
    """A value of another type whose order is the opposite; nothing overflows."""
    if type_ is Type.BOOL:
        return ~value
    if type_ in (Type.ULLONG, Type.FLOAT):
        return -value
    if type_ in (Type.STRING, Type.IPV6, Type.INET) or type_.is_opaque:
        mirror = F.translate(F.hex(value), _HEX, _HEX[::-1])
        return F.concat(mirror, F.lit(_PAST_HEX))
    return F.bitwise_not(value)
