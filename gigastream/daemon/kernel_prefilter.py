# SPDX-License-Identifier: Apache-2.0
"""What the kernel may reject, as query sets come and go: it passes more before one comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gigastream.codegen.kernel_filter import Instruction, kernel_filter
from gigastream.engine.engine import Engine
from gigastream.plan import Plan
from gigastream.sources.live import LiveSource, Source


class KernelPrefilter:
    """Of the links whose settings ask for it; of none, it does nothing."""

    def __init__(self, engine: Engine, sources: Sequence[Source]) -> None:
        """Nothing is rejected as yet."""
        self._engine = engine
        self._is_wanted = any(
            isinstance(source, LiveSource) and source.settings.kernel_prefilter
            for source in sources
        )
        self._plans: list[Plan] = []
        self._program: tuple[Instruction, ...] | None = None

    def admit(self, plan: Plan) -> None:
        """Pass what a set that is about to be attached wants. EngineError.

        What has been rejected before is told to the engine: windows of that time are not whole.
        """
        if self._program is not None:
            self._let([*self._plans, plan])

    def settle(self, plans: Iterable[Plan]) -> None:
        """These are at work, and no others. EngineError: more may pass than need be."""
        if not self._is_wanted:
            return
        now = list(plans)
        if [*map(id, now)] != [*map(id, self._plans)]:
            self._let(now)

    def _let(self, plans: list[Plan]) -> None:
        program = kernel_filter(plans)
        if program != self._program:
            self._engine.set_prefilter(program)
        self._plans, self._program = plans, program
