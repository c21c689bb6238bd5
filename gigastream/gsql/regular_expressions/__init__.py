# SPDX-License-Identifier: Apache-2.0
"""Regular expressions over bytes, in time that is linear in the text whatever the pattern.

    compiled(pattern) -> Expression     PatternError says what is wrong, and where

The pattern is read here and becomes a program of at most MOST_STEPS steps; csrc/abi/gs_regex.h runs
its bytes in the engine, matcher.py runs it on Spark. docs/gsql.md states the dialect.
"""

from gigastream.gsql.regular_expressions.matcher import Matcher
from gigastream.gsql.regular_expressions.parser import PatternError
from gigastream.gsql.regular_expressions.program import CompiledPattern, compiled

WITH_PATTERNS = (
    "gs_function_str_regex_match_string_string",
    "gs_function_str_extract_regex_string_string",
)
"""The functions whose HANDLE is a pattern: their C takes the program's bytes."""

__all__ = ["WITH_PATTERNS", "CompiledPattern", "Matcher", "PatternError", "compiled"]
