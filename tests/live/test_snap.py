# SPDX-License-Identifier: Apache-2.0
"""How much of each packet is captured: no less than any answer may depend on."""

from __future__ import annotations

import pytest

from gigastream.engine.live import FULL_PACKET_BYTES, RECORD_BYTES, snap_bytes
from tests.engine.stepping import plan_of

CASES = {
    "SELECT tb, count(*) AS n, sum(len) AS bytes FROM PKT GROUP BY time AS tb": RECORD_BYTES,
    "SELECT timestamp, packet_id FROM PKT WHERE len > 100": RECORD_BYTES,
    "SELECT timestamp, caplen FROM PKT": FULL_PACKET_BYTES,
    "SELECT timestamp FROM PKT WHERE caplen > 100": FULL_PACKET_BYTES,
    "SELECT timestamp, len FROM ETH": FULL_PACKET_BYTES,
    "SELECT timestamp, srcIP FROM IPV4": FULL_PACKET_BYTES,
    "SELECT timestamp, len FROM PKT; DEFINE { query_name b; } SELECT timestamp FROM TCP": (
        FULL_PACKET_BYTES
    ),
}


@pytest.mark.parametrize("query", CASES)
def test_the_snap_length_follows_from_the_fields(query: str) -> None:
    assert snap_bytes(plan_of(query), has_filter=False) == CASES[query]


def test_a_filter_may_look_at_anything() -> None:
    assert snap_bytes(plan_of(next(iter(CASES))), has_filter=True) == FULL_PACKET_BYTES
