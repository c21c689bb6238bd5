# SPDX-License-Identifier: Apache-2.0
"""Aggregation over windows that overlap, whose groups keep values: a row goes into each window.

Panes would each keep values that a window has once: DISTINCT over two panes is no sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from gigastream.late_dataclass import dataclass
from gigastream.plan.nodes import Detail
from gigastream.plan.operators.slide import Slide

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SlideRows(Slide):
    """The first group variable is the pane that tells a row's windows, as over panes."""

    title: ClassVar[str] = "sliding aggregation of rows"

    @property
    def undivided(self) -> str | None:
        return self.in_their_order

    def details(self, plan: Plan) -> Iterator[Detail]:
        yield from Slide.details(self, plan)
        yield "rows", ("in each of their windows, which keep values",)
