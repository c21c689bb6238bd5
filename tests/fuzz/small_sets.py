# SPDX-License-Identifier: Apache-2.0
"""The query sets of tests/sanitize in parts: an engine of many queries takes long to open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from tests.sanitize.query_sets import QuerySet, query_sets

QUERIES_OF_A_PART = 3
_DEFINE = re.compile(r"DEFINE \{ query_name (\w+);")


def small_query_sets() -> list[QuerySet]:
    """Every query that reads one interface, each with those that it reads.

    The first of each set is alone: it walks over records, or takes frames.
    """
    whole = [one for one in query_sets() if one.interfaces == ("default",)]
    return [part for query_set in whole for part in _parts(query_set)]


def _parts(query_set: QuerySet) -> Iterator[QuerySet]:
    texts = _queries(query_set.text)
    shown = [name for name, text in texts.items() if "visibility internal" not in text]
    starts = [0, *range(1, len(shown), QUERIES_OF_A_PART), len(shown)]
    for number, (first, end) in enumerate(pairwise(starts)):
        names = _with_read(shown[first:end], texts)
        path = query_set.path.with_stem(f"{query_set.name}{number}")
        yield replace(query_set, path=path, text=";\n".join(texts[name] for name in names))


def _queries(text: str) -> dict[str, str]:
    found = list(_DEFINE.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    return {
        match[1]: re.sub("--.*", "", text[match.start() : end]).strip().removesuffix(";")
        for match, end in zip(found, ends, strict=True)
    }


def _with_read(names: list[str], texts: dict[str, str]) -> list[str]:
    """The queries, then those that they read, and so on."""
    found = list(names)
    for name in found:
        words = set(re.findall(r"\w+", texts[name]))
        found += sorted((words & texts.keys()) - set(found))
    return found
