# SPDX-License-Identifier: Apache-2.0
"""Windows that overlap are made of panes: over them what keeps every value is refused."""

from __future__ import annotations

import pytest
from plan.planned import planned

from gigastream.gsql.diagnostics import GsqlError

OVERLAPPING = "[RANGE 5 min, SLIDE 1 min, WA time]"
TUMBLING = "[RANGE 5 min, WA time]"
REFUSED = ("count(DISTINCT srcIP)", "avg(DISTINCT len) FILTER (WHERE len > 9)")


@pytest.mark.parametrize("call", REFUSED)
def test_what_keeps_every_value_is_refused_over_panes(call: str) -> None:
    with pytest.raises(GsqlError) as failure:
        planned(f"SELECT window_end, {call} AS n FROM IPV4 {OVERLAPPING}")
    (found,) = failure.value.diagnostics
    assert (found.code, found.span.text) == ("not-of-panes", call)


@pytest.mark.parametrize("call", REFUSED)
def test_windows_that_tumble_have_it(call: str) -> None:
    planned(f"SELECT window_end, {call} AS n FROM IPV4 {TUMBLING}")
