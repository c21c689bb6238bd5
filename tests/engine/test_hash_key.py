# SPDX-License-Identifier: Apache-2.0
"""Who sends packets cannot know which groups share a slot: the hash's key is new each time."""

from __future__ import annotations

from gigastream.engine.opening import random_key


def test_keys_differ_and_are_whole() -> None:
    keys = [tuple(random_key()) for _ in range(16)]
    assert len(set(keys)) == len(keys)
    assert all(0 < word < 1 << 64 and word & 1 for key in keys for word in key)
