# SPDX-License-Identifier: Apache-2.0
"""The declarations of configs/functions.gsql, read without the front end that is built on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_DECLARATION = re.compile(
    r"(?:(?P<result>\w+)\s+FUN|PRED)\s*\[(?P<modifiers>[^]]*)\]\s*"
    r"(?P<name>\w+)\s*[(\[](?P<arguments>[^)\]]*)[)\]]\s*;"
)


@dataclass(frozen=True)
class Declaration:
    """One overload; types in lower case, `handle` the index of the HANDLE argument or None."""

    name: str
    symbol: str
    result: str
    arguments: tuple[str, ...]
    partial: bool
    handle: int | None = None
    header: str = "gs_functions.h"

    @property
    def suffix(self) -> str:
        """`name_types`: what the C names of the function and of its handle end in."""
        return self.symbol.removeprefix("gs_").removeprefix("function_").removeprefix("predicate_")


def declarations() -> tuple[Declaration, ...]:
    """All functions and predicates, in order."""
    found = []
    for line in (ROOT / "configs" / "functions.gsql").read_text().splitlines():
        if match := _DECLARATION.fullmatch(line):
            found.append(_declaration(match))
    return tuple(found)


def _declaration(match: re.Match[str]) -> Declaration:
    arguments = [argument.split() for argument in match["arguments"].split(",")]
    handles = [i for i, words in enumerate(arguments) if "HANDLE" in words]
    types = tuple(words[0].lower() for words in arguments)
    header = re.search(r"HEADER (\w+)", match["modifiers"])
    kind = "function" if match["result"] else "predicate"
    return Declaration(
        name=match["name"],
        symbol="_".join(("gs", kind, match["name"].lower(), *types)),
        result=(match["result"] or "bool").lower(),
        arguments=types,
        partial="PARTIAL" in match["modifiers"],
        handle=handles[0] if handles else None,
        header=f"{header[1]}.h" if header else "gs_functions.h",
    )


def _helper(symbol: str, result: str, *arguments: str, partial: bool = True) -> Declaration:
    return Declaration(symbol, symbol, result, arguments, partial)


def helpers() -> tuple[Declaration, ...]:
    """What generated code calls for operators and casts; no query can name these."""
    integers = ("llong", "ullong")
    binary = ("add", "subtract", "multiply", "divide", "modulo")
    narrow = ("ushort", "uint", "int", "ullong", "llong")
    return (
        *(_helper(f"gs_checked_{op}_{t}", t, t, t) for op in binary for t in integers),
        *(_helper(f"gs_checked_shift_left_{t}", t, t, "ullong") for t in integers),
        *(_helper(f"gs_shift_right_{t}", t, t, "ullong", partial=False) for t in integers),
        *(_helper(f"gs_checked_{op}_float", "float", "float", "float") for op in binary[3:]),
        *(_helper(f"gs_cast_{t}_{to}", to, t) for t in (*integers, "float") for to in narrow),
        _helper("gs_checked_negate_llong", "llong", "llong"),
        _helper("gs_floor_divide_llong", "llong", "llong", "llong", partial=False),
        _helper("gs_time_bucket", "timestamp", "llong", "timestamp"),
    )
