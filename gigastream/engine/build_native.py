# SPDX-License-Identifier: Apache-2.0
"""What Python sees of the engine: cffi's declarations, made from csrc/gigastream.h.

Functions are those of gigastream.h and of what it includes; of what these include, only the types.
setup.py adds the engine's own files.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parents[2] / "csrc"
# What is no declaration: comments; directives but for integer constants; attributes.
_NOISE = re.compile(
    r"/\*[\s\S]*?\*/|^#(?!define \w+ \d+$)(?:.*\\\n)*.*$|__attribute__\(\(.*\)\)", re.MULTILINE
)
_INCLUDE = re.compile(r'^#include "(.*)"', re.MULTILINE)
_TYPE = re.compile(r"#define|typedef|enum\b|struct \w+(;|\s*\{)")


def declarations(header: Path = CSRC / "gigastream.h") -> str:
    """Return what cffi takes of a header and of those that it includes."""
    return "\n".join(_declarations(header, {header, *_included(header)}, set()))


def _included(header: Path) -> list[Path]:
    places = (header.parent, CSRC / "abi")
    return [
        next(path for place in places if (path := (place / name).resolve()).is_file())
        for name in _INCLUDE.findall(header.read_text())
    ]


def _declarations(header: Path, shown: set[Path], seen: set[Path]) -> Iterator[str]:
    seen.add(header)
    for included in _included(header):
        if included not in seen:
            yield from _declarations(included, shown, seen)
    for item in _items(_NOISE.sub("", header.read_text())):
        if _TYPE.match(item) or (header in shown and item.endswith(";")):
            yield item


def _items(text: str) -> Iterator[str]:
    """Yield what stands at the top level, function bodies with their heads."""
    item, depth = "", 0
    for line in text.splitlines():
        item += line + "\n"
        depth += line.count("{") - line.count("}")
        if (depth == 0 and item.strip().endswith((";", "}"))) or line.startswith("#define"):
            yield item.strip()
            item = ""


ffibuilder = FFI()
ffibuilder.cdef(
    declarations()
    + """
    extern "Python" int gs_host_open(void *, struct gs_opened *, struct gs_error *);
    extern "Python" void gs_host_close(void *);
    extern "Python" int gs_host_map(void *, uint32_t, struct gs_batch *, struct ArrowArray *,
                                    struct ArrowSchema *);
    """
)
ffibuilder.set_source("gigastream.engine._native", '#include "gigastream.h"', py_limited_api=True)
