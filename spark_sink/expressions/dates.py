# SPDX-License-Identifier: Apache-2.0
"""Parts of a time in UTC, whatever the session's zone (csrc/abi/gs_dates.h)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_sink.expressions.whole_numbers import number

_SECOND_NS = 10**9
_DAY_SECONDS = 86_400
_MINUTE_NS = 60 * _SECOND_NS
Part = Callable[[Column], Column]
"""Of seconds since the epoch."""


def _of_date(part: Part) -> Part:
    def build(seconds: Column) -> Column:
        return part(_date(seconds)).cast("bigint")

    return build


def _of_day(length: int, modulus: int) -> Part:
    def build(seconds: Column) -> Column:
        of_day = F.pmod(seconds, number(_DAY_SECONDS))
        return _quotient(of_day, length) % modulus

    return build


PARTS: dict[str, Part] = {
    "year": _of_date(F.year),
    "quarter": _of_date(F.quarter),
    "month": _of_date(F.month),
    "week": _of_date(F.weekofyear),
    "day": _of_date(F.dayofmonth),
    "dayofyear": _of_date(F.dayofyear),
    "dayofweek": _of_date(lambda date: F.dayofweek(date) - 1),
    "isodow": _of_date(lambda date: F.weekday(date) + 1),
    "hour": _of_day(3600, 24),
    "minute": _of_day(60, 60),
    "second": _of_day(1, 60),
}


def of_timestamp(part: Part) -> Callable[[Column], Column]:
    """The part of a time in ns."""
    return lambda ns: part(_floor(ns, _SECOND_NS))


def of_minute(unit_ns: int, type_: str) -> Callable[[Column], Column]:
    """What of the minute has passed, in a unit."""
    return lambda ns: _quotient(F.pmod(ns, number(_MINUTE_NS)), unit_ns).cast(type_)


def start_of(unit: str) -> Callable[[Column], Column]:
    """The start of the month, quarter or year, in ns; NULL where it lies before 1677."""

    def build(ns: Column) -> Column:
        start = F.unix_date(F.trunc(_date(_floor(ns, _SECOND_NS)), unit))
        return F.try_multiply(start.cast("bigint"), number(_DAY_SECONDS * _SECOND_NS))

    return build


def _date(seconds: Column) -> Column:
    return F.date_from_unix_date(_floor(seconds, _DAY_SECONDS).cast("int"))


def _floor(x: Column, unit: int) -> Column:
    """The quotient, rounded down."""
    below = F.when(x % unit < 0, number(1)).otherwise(number(0))
    return _quotient(x, unit) - below


def _quotient(x: Column, unit: int) -> Column:
    return F.call_function("div", x, number(unit))
