# SPDX-License-Identifier: Apache-2.0
"""Functions in Python that queries can call.

gigastream run --python words.py -r FILE.pcap -e 'SELECT network(srcIP) AS n FROM IPV4'
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

import gigastream


@gigastream.udf
def entropy(payload: pa.BinaryArray) -> pa.DoubleArray:
    """Bits of each byte, from 0 (all alike) to 8; an empty text has none."""
    return pa.array(
        [_entropy(text) if text else None for text in payload.to_pylist()], pa.float64()
    )


@gigastream.udf(on_error="end")
def network(address: Annotated[pa.UInt32Array, "IP"]) -> Annotated[pa.UInt32Array, "IP"]:
    """The /24 that an address is in."""
    return pc.bit_wise_and(address, pa.scalar(0xFFFFFF00, pa.uint32()))


@gigastream.udaf(max_bytes=65536)
def middle(x: pa.UInt32Array) -> pa.UInt32Scalar:
    """The middle one, of rows that come in their order; of an even number the lesser."""
    return x[(len(x) - 1) // 2]


def _entropy(text: bytes) -> float:
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
