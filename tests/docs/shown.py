# SPDX-License-Identifier: Apache-2.0
"""Whether a screen shows what a document says it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ANYTHING = "…"


def matches(shown: Sequence[str], lines: Sequence[str], *, any_order: bool) -> bool:
    """Compare; `any_order` is for rows: within a window they have none, and widths follow them."""
    if _pattern(shown).fullmatch("".join(f"{line}\n" for line in lines)):
        return True
    return any_order and _same_rows([*map(_words, shown)], [*map(_words, lines)])


def _pattern(shown: Sequence[str]) -> re.Pattern[str]:
    parts = (r"(?:.*\n)*?" if line.strip() == ANYTHING else _line(line) + "\n" for line in shown)
    return re.compile("".join(parts))


def _line(line: str) -> str:
    return ".*".join(map(re.escape, line.split(ANYTHING)))


def _same_rows(shown: list[str], lines: list[str]) -> bool:
    """All rows that are shown are there; where no `…` stands for others, there are no others."""
    wanted = Counter(line for line in shown if line != ANYTHING)
    found = Counter(lines)
    exact = Counter({line: count for line, count in wanted.items() if ANYTHING not in line})
    loose = [re.compile(_line(line)) for line in wanted if ANYTHING in line]
    if exact - found:
        return False
    rest = list((found - exact).elements())
    for pattern in loose:
        line = next((line for line in rest if pattern.fullmatch(line)), None)
        if line is None:
            return False
        rest.remove(line)
    return not rest or ANYTHING in shown


def _words(line: str) -> str:
    """A line of a table without its spacing; a rule is as wide as the rows that came with it."""
    return " ".join("─" if set(word) == {"─"} else word for word in line.split())
