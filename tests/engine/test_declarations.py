# SPDX-License-Identifier: Apache-2.0
"""What Python sees of the engine is made from csrc/gigastream.h, which shows what Python calls."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.captures import ROOT

# The tree's: an installed copy has no csrc beside it.
declarations = runpy.run_path(str(ROOT / "gigastream/engine/build_native.py"))["declarations"]
FUNCTION = re.compile(r"^(?!typedef\b)\w[\w *]*?\b(gs_\w+)\(", re.MULTILINE)
CALLERS = ("gigastream", "tests/engine", "tests/live")
TOP = """
/* A comment (of a function()); */
#ifndef TOP_H
#define TOP_H
#include <stdint.h>
#include "below/below.h"
#include "below/late.h"
#define LONGEST 16
#define TWICE(x) \\
    ((x) * 2)
struct opaque; /* elsewhere */
struct row { /* a row */
    struct low *low;
    int cells[LONGEST];
};
static inline int twice(int x)
{
    if (x) { x *= 2; }
    return x;
}
int fill(struct row *row,
         int count) __attribute__((nonnull));
#endif
"""
BELOW = '#include "bottom.h"\n#include "late.h"\nstruct low;\nint seen(struct low *low);\n'
LATE = "int late(void);\n"
BOTTOM = "enum colour { RED, GREEN };\nint unseen(enum colour colour);\n"


def test_the_declarations_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "top.h").write_text(TOP)
    (tmp_path / "below" / "below.h").write_text(BELOW)
    (tmp_path / "below" / "late.h").write_text(LATE)
    (tmp_path / "below" / "bottom.h").write_text(BOTTOM)
    assert re.sub(r"\s+", " ", declarations(tmp_path / "top.h")) == (
        "enum colour { RED, GREEN }; int late(void); struct low; int seen(struct low *low);"
        " #define LONGEST 16 struct opaque; struct row { struct low *low; int cells[LONGEST]; };"
        " int fill(struct row *row, int count) ;"
    )


@pytest.mark.parametrize("name", sorted(set(FUNCTION.findall(declarations()))))
def test_python_calls_what_it_is_shown(name: str) -> None:
    callers = [p for part in CALLERS for p in (ROOT / part).rglob("*.py")]
    assert any(f"lib.{name}" in path.read_text() for path in callers)
