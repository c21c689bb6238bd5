# SPDX-License-Identifier: Apache-2.0
"""Rings that outlive their readers: nothing is read twice, and what a reader took along is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.live.adopted import TURN_PACKETS
from tests.live.namespace import Namespace
from tests.processes import program

pytestmark = pytest.mark.privileged


def killed(space: Namespace, rings: int, kills: int, seed: int) -> dict[str, Any]:
    """What readers say of which so many were killed."""
    words = (space.far, space.near, rings, kills, seed)
    found: dict[str, Any] = json.loads(space.run(*program("tests.live.adopted"), *words))
    return found


def total(readers: list[dict[str, Any]], name: str) -> int:
    """Over readers, of a counter as it was when they had opened."""
    lines = [reader["counters"][0] for reader in readers if reader["counters"]]
    return sum(source[name] for line in lines for source in line)


@pytest.mark.parametrize(("rings", "kills"), [(1, 30), (2, 10)])
def test_readers_that_are_killed_take_nothing_along_but_what_they_had_in_hand(
    space: Namespace, rings: int, kills: int
) -> None:
    said = killed(space, rings, kills, seed=rings)
    readers, seen = said["readers"], [n for reader in said["readers"] for n in reader["numbers"]]
    assert len(seen) == len(set(seen)), "none is seen twice"
    missing = said["sent"] - len(seen)
    assert 0 <= missing <= total(readers, "given_up") + kills * TURN_PACKETS
    assert set(seen) <= set(range(said["sent"]))
    for source in readers[-1]["counters"][-1]:
        assert source["kernel_dropped"] == 0
        assert source["kernel_received"] == source["read"]
        assert source["unread"] == 0
