# SPDX-License-Identifier: Apache-2.0
"""A datagram of an exporter."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Datagram:
    """What came, where from (16 bytes), when."""

    data: memoryview
    exporter: bytes
    timestamp_ns: int
