# SPDX-License-Identifier: Apache-2.0
"""The functions that carry punctuation, as C (csrc/abi/gs_bounds.h)."""

from __future__ import annotations

from collections.abc import Sequence

from gigastream.codegen.c_text import Lines
from gigastream.gsql.order.inference import Monotone

Carried = tuple[Monotone | None, Sequence[str]]
"""A function, and the bounds in C that it is asked of; None where nothing is promised."""


def write_carried(lines: Lines, output: str, functions: Sequence[Carried]) -> None:
    """Fill an array of bounds; what several of their parts want is computed once."""
    shared: list[str] = []

    def declare(code: str) -> str:
        shared.append(f"shared_{len(shared)}")
        lines.add(f"const gs_bound {shared[-1]} = {code};")
        return shared[-1]

    for index, (function, inputs) in enumerate(functions):
        code = "GS_BOUND_NONE" if function is None else function.c_forward(inputs, declare)
        lines.add(f"{output}[{index}] = {code};")
