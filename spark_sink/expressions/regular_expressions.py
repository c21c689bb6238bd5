# SPDX-License-Identifier: Apache-2.0
"""str_regex_match and str_extract_regex: the front end's own matcher, called by Python workers.

Java's regular expressions are another language: they take the first alternative that matches where
the engine takes the longest, and a payload can keep them busy for ever. The programs that the
engine runs (gigastream/gsql/regular_expressions) run here too, in time that is linear in the text;
so the answer is the same one.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.regular_expressions import CompiledPattern, Matcher, compiled
from spark_sink.remembered import remembered

_PATTERNS = 1 << 10
"""Programs that a worker keeps; a query has a few."""


def matching(pattern: bytes) -> Callable[[Column], Column]:
    """Whether the pattern matches anywhere; NULL over NULL."""
    program = compiled(pattern)

    def matches(texts: pa.Array) -> pa.Array:
        matcher = _matcher(program)
        found = [text if text is None else matcher.matches(text) for text in texts.to_pylist()]
        return pa.array(found, pa.bool_())

    function: Callable[[Column], Column] = F.arrow_udf(matches, "boolean")
    return function


def extracting(pattern: bytes) -> Callable[[Column], Column]:
    """The leftmost longest part that matches; NULL where there is none."""
    program = compiled(pattern)

    def extract(texts: pa.Array) -> pa.Array:
        matcher = _matcher(program)
        return pa.array([_part(matcher, text) for text in texts.to_pylist()], pa.binary())

    function: Callable[[Column], Column] = F.arrow_udf(extract, "binary")
    return function


@remembered(_PATTERNS)
def _matcher(program: CompiledPattern) -> Matcher:
    """Once for each process: a worker lives through many tasks."""
    return Matcher(program)


def _part(matcher: Matcher, text: bytes | None) -> bytes | None:
    found = None if text is None else matcher.search(text)
    return None if text is None or found is None else text[found[0] : found[1]]
