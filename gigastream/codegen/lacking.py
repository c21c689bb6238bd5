# SPDX-License-Identifier: Apache-2.0
"""What a header of the user's lacks, from what the linker says: the functions, and how they begin.

docs/extensions.md and docs/gsql.md, Definitions of your own, are the contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

HINT = (
    "S is the type of the state, void for an fstring; T and the arguments are as the declaration "
    "says, constants behind all others: docs/extensions.md, and docs/gsql.md, Definitions of your "
    "own"
)
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?(gs_[a-z]+_\w+)")
_INCLUDED = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_BEGINNINGS = (
    (r"udaf_\w+_init", "void {}(S *state)"),
    (r"udaf_\w+_update", "void {}(S *state, the arguments)"),
    (r"udaf_\w+_merge", "void {}(S *state, const S *other)"),
    (r"udaf_\w+_valid", "bool {}(const S *partial)"),
    (r"udaf_\w+_full", "bool {}(const S *state)"),
    (r"udaf_\w+_moved", "void {}(S *state, uint64_t windows)"),
    (r"udaf_\w+_output", "T {}(const S *state)"),
    (r"extractor_\w+", "T {}(const S *state, its own constants)"),
    (r"state_\w+_begin", "void {}(void *state, const void *before, uint64_t number)"),
    (r"state_\w+_end", "void {}(void *state)"),
    (r"sfun_\w+", "T {}(void *state, the arguments)"),
    (r"handle_\w+_new", "void *{}(the constant, char *message, size_t message_size)"),
    (r"handle_\w+_free", "void {}(void *handle)"),
    (r"field_\w+", "bool {}(const struct gs_packet *packet, T *value)"),
    (r"predicate_\w+", "uint8_t {}(the arguments)"),
    (r"function_\w+", "T {}(the arguments)"),
)


def lacking(said: str, text: str, folders: Sequence[Path]) -> str | None:
    """A sentence about the functions that a query set's text calls and no header has, or None."""
    missing = list(dict.fromkeys(_UNDEFINED.findall(said)))
    headers = [found for name in _INCLUDED.findall(text) for found in _in(folders, name)]
    if not missing or not headers:
        return None
    by_header: dict[str, list[str]] = {}
    for symbol in missing:
        by_header.setdefault(_header_of(symbol, headers), []).append(_beginning(symbol))
    parts = (f"{name} lacks\n  " + "\n  ".join(lines) for name, lines in sorted(by_header.items()))
    return "the C of definitions of your own is not complete: " + "\n".join(parts)


def _in(folders: Sequence[Path], name: str) -> Iterator[Path]:
    yield from (folder / name for folder in folders if (folder / name).is_file())


def _header_of(symbol: str, headers: Sequence[Path]) -> str:
    """The header whose definition file has the longest word that the symbol can be of."""
    rest = symbol.split("_", 2)[2].lower()
    lengths = [_longest(rest, header.with_suffix(".gsql")) for header in headers]
    best = max(lengths)
    found = [str(header) for header, length in zip(headers, lengths, strict=True) if length == best]
    return " or ".join(found)


def _longest(rest: str, definitions: Path) -> int:
    try:
        words = set(_WORD.findall(definitions.read_text(errors="replace").lower()))
    except OSError:
        return 0
    return max((len(word) for word in words if f"{rest}_".startswith(f"{word}_")), default=0)


def _beginning(symbol: str) -> str:
    kind = symbol.removeprefix("gs_")
    found = (begins for pattern, begins in _BEGINNINGS if re.fullmatch(pattern, kind))
    return "static inline " + next(found, "{}").format(symbol)
