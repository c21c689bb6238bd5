# SPDX-License-Identifier: Apache-2.0
"""Constants that aggregates and stateful functions take from a range alone (GSQL.md §6)."""

from __future__ import annotations

from gigastream.gsql.catalog.catalog import Function
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant
from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Range:
    """From `least` to `most`; `most` is None where any number above is good."""

    what: str
    least: int
    most: int | None
    per_cent: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value is in it; NaN is not."""
        return self.least <= value and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        to = "on" if self.most is None else f"to {self.most:,}"
        return f"{self.what} from {self.least} {to}"


_SAMPLE = _Range("a number of rows", 1, None)
_NUMBERS = _Range("a number of values", 1, 1_000)

_RANGES = {
    "gs_extractor_quantile_of_float_float": _Range("a rank", 0, 1, per_cent=True),
    "gs_udaf_heavy_hitters_ullong_uint": _Range("a number of parts", 1, None),
    "gs_udaf_heavy_hitters_inet_uint": _Range("a number of parts", 1, None),
    "gs_sfun_ssample_float_uint": _SAMPLE,
    "gs_sfun_ssample_float_uint_uint": _SAMPLE,
    "gs_sfun_fssample_float_uint": _SAMPLE,
    "gs_sfun_fssample_float_uint_uint": _SAMPLE,
    "gs_sfun_rsample_ullong_uint": _NUMBERS,
    "gs_sfun_rsample_ullong_uint_uint": _NUMBERS,
    "gs_sfun_mhsample_ullong_uint": _NUMBERS,
    "gs_sfun_mhsample_inet_uint": _NUMBERS,
    "gs_sfun_local_count_uint": _SAMPLE,
}
"""By the name of the C function; the first of its constants is the one that is meant."""


def is_in_range(function: Function, at: int, given: Constant, sink: DiagnosticSink) -> bool:
    """Whether constant argument `at` is one that the function takes; an error where it is not."""
    range_ = _RANGES.get(function.symbol)
    if range_ is None or at != min(function.constants) or given.value is None:
        return True
    value = float(given.value)
    if range_.holds(value):
        return True
    message = f"{function.name} takes {range_}, not {value:.15g}"
    hint = None
    if range_.per_cent and 1 < value <= 100:
        hint = f"{value:g} per cent are {value / 100:g}"
    sink.error("wrong-arguments", message, given.span, hint)
    return False
