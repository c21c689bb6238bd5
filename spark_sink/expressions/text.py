# SPDX-License-Identifier: Apache-2.0
"""SQL's functions of strings, which are bytes, places counted from 1 (csrc/abi/gs_text.h).

A result that would be longer than a string can be is NULL, and is not made first.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.strings import LONGEST, as_bytes, as_text, length
from spark_sink.expressions.whole_numbers import number

_FAR = 4 * LONGEST
"""No string reaches so far in either direction."""


def position(x: Column, part: Column) -> Column:
    """The first place of `part`, 0 without one."""
    return F.instr(as_text(x), as_text(part)).cast("bigint")


def ends(x: Column, part: Column) -> Column:
    """Whether x ends with `part`."""
    return F.endswith(x, part)


# Parts


def substring(x: Column, place: Column, count: Column | None = None) -> Column:
    """`count` bytes from a place on, below 0 before it; without a count all to the end."""
    place = _near(place)
    start = F.when(place < 0, length(x) + place).otherwise(place - 1)
    if count is None:
        return _between(x, start, length(x))
    stop = start + _near(count)
    return F.when(start < stop, _between(x, start, stop)).otherwise(_between(x, stop, start))


def left(x: Column, count: Column) -> Column:
    """The first bytes; of a count below 0 all but the last."""
    count = _near(count)
    return _between(x, number(0), F.when(count < 0, length(x) + count).otherwise(count))


def right(x: Column, count: Column) -> Column:
    """The last bytes; of a count below 0 all but the first."""
    count = _near(count)
    start = F.when(count < 0, F.negate(count)).otherwise(length(x) - count)
    return _between(x, start, length(x))


def split_part(x: Column, separator: Column, index: Column) -> Column:
    """Part `index`, from 1, below 0 from behind; empty where there is none."""
    index = _near(index)
    found = F.split_part(as_text(x), as_text(separator), F.when(index != 0, index).cast("int"))
    nothing = _between(x, number(0), length(separator) - length(separator))
    return F.when(index == 0, nothing).otherwise(as_bytes(found))


def _between(x: Column, start: Column, stop: Column) -> Column:
    """What of the bytes from an offset to another lies in x."""
    first = F.when(start < 0, number(0)).otherwise(start)
    count = F.when(stop > length(x), length(x)).otherwise(stop) - first
    count = F.when(count < 0, number(0)).otherwise(count)
    return F.substring(x, (first + 1).cast("int"), count.cast("int"))


def _near(count: Column) -> Column:
    """A number of bytes that is within what can be added to others; NULL stays NULL."""
    limited = F.when(count > _FAR, number(_FAR)).when(count < -_FAR, number(-_FAR))
    return limited.otherwise(count)


# Without what stands at the ends


def trimming(trim: Callable[[Column, Column], Column]) -> Callable[..., Column]:
    """Of Spark's F.btrim, F.ltrim, F.rtrim; without bytes to take away, of spaces."""

    def trimmed(x: Column, which: Column | None = None) -> Column:
        return as_bytes(trim(as_text(x), F.lit(" ") if which is None else as_text(which)))

    return trimmed


# New strings


def joined(x: Column, y: Column) -> Column:
    """One behind the other."""
    return F.when(length(x) + length(y) <= LONGEST, F.concat(x, y))


def replaced(x: Column, old: Column, new: Column) -> Column:
    """The string with `new` wherever `old` stood; how long that is is known without `old`."""
    text, part = as_text(x), as_text(old)
    without = F.octet_length(as_bytes(F.replace(text, part, F.lit("")))).cast("bigint")
    found = F.when(length(old) > 0, F.call_function("div", length(x) - without, length(old)))
    size = without + F.coalesce(found, number(0)) * length(new)
    return F.when(size <= LONGEST, as_bytes(F.replace(text, part, as_text(new))))


def reversed_(x: Column) -> Column:
    """From the last byte to the first."""
    return as_bytes(F.reverse(as_text(x)))


def repeated(x: Column, count: Column) -> Column:
    """The same so many times."""
    count = _near(count)
    repeated_text = F.repeat(as_text(x), count.cast("int"))
    return F.when(length(x) * count <= LONGEST, as_bytes(repeated_text))


def padding(pad: Callable[..., Column]) -> Callable[[Column, Column, Column], Column]:
    """Of Spark's F.lpad and F.rpad."""

    def padded(x: Column, count: Column, fill: Column) -> Column:
        count = _near(count)
        count = F.when(count < 0, number(0)).otherwise(count)
        result = pad(as_text(x), count.cast("int"), as_text(fill))
        return F.when((count <= LONGEST) | (length(fill) == 0), as_bytes(result))

    return padded
