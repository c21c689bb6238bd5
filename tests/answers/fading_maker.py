# SPDX-License-Identifier: Apache-2.0
"""Queries at random of groups that go on, with RUNNING UDAFs of a definition file."""

from __future__ import annotations

from pathlib import Path

from tests.answers.query_maker import BOOL, WHOLE
from tests.answers.running_maker import RunningMaker

FADING = Path(__file__).with_name("fading.gsql")


class FadingMaker(RunningMaker):
    """A half of what goes on is such a state."""

    def _going_on(self) -> tuple[str, str]:
        if self._random.random() < 0.5:
            return super()._going_on()
        number = self._pick("UINT({})", "UINT({} % 7)", "CASE WHEN {} > 80 THEN UINT({}) END")
        call = f"{self._pick('fading', 'idle')}({number.replace('{}', self._small_name())})"
        if self._random.random() < 0.25:
            call += f" FILTER (WHERE {self.expression(BOOL, 2)})"
        return call, WHOLE

    def _closing(self) -> str:
        tests = ("idle(UINT(len_)) > 2", "fading(UINT(len_)) = 0", "idle(UINT(len_)) = count(*)")
        if self._random.random() < 0.5:
            return super()._closing()
        return self._pick(*tests).replace("len_", self._small_name())
