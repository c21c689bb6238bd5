# SPDX-License-Identifier: Apache-2.0
"""The shipped functions, whose declarations are read when a query names one of them.

Most queries name none, and reading three hundred declarations takes longer than all else that is
planned of them. What no word of the files is, is none of their names; so that is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

_Named = TypeVar("_Named")


class LateNames(Mapping[str, _Named]):
    """What is declared, by name in lower case; `load` gives it all, and is called at most once."""

    def __init__(self, words: frozenset[str], load: Callable[[], Mapping[str, _Named]]) -> None:
        """`words` are those of the files, in lower case."""
        self._words = words
        self._load = load

    def __getitem__(self, name: str) -> _Named:
        if name not in self._words:
            raise KeyError(name)
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


def words_of(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the words of definition files in lower case, comments aside."""
    found = re.sub(r"--.*", "", "\n".join(texts))
    return frozenset(re.findall(r"\w+", found.lower()))
