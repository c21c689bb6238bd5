# SPDX-License-Identifier: Apache-2.0
"""Time on demand, and the host's time, on real links: the last window ends without a heartbeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.namespace import (
    QUERY_ALL,
    Namespace,
    needs,
    running,
    totals,
    wait_until,
)
from tests.live.test_veth import DEMO_CAPTURE, replay

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]


@pytest.mark.parametrize(
    "words",
    [
        ("--time", "on-demand"),
        ("--time", "on-demand", "--timestamps", "internal"),
        ("--time", "none", "--timestamps", "latent"),
    ],
    ids=" ".join,
)
def test_the_last_window_of_a_link_that_falls_silent(
    space: Namespace, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The kernel's ring is seen to be empty, or the clock is enough."""
    with running(space, "-i", space.far, *words, "-e", QUERY_ALL, folder=tmp_path) as run:
        sent = replay(space, DEMO_CAPTURE, "--topspeed")
        wait_until(lambda: totals(run.rows()).get("n") == sent, "the last window")
        (source,) = run.stop()["sources"]
    assert (source["late"], source["skew"]) == (0, 0)
    assert source["asked"] >= source["answered"] >= ("on-demand" in words)
