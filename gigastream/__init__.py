# SPDX-License-Identifier: Apache-2.0
"""Gigastream: SQL questions about network traffic, answered while the packets go by.

    import gigastream

    question = "SELECT tb, srcIP, sum(len) AS bytes FROM IPV4 GROUP BY time/60 AS tb, srcIP"
    for batch in gigastream.run(question, "capture.pcap"):
        print(batch.to_pydict())

Nothing is loaded before it is used: `import gigastream` alone costs a millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gigastream.library import PacketSource, compile, explain, run

__version__ = "0.1.0"
__all__ = ["PacketSource", "__version__", "compile", "explain", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gigastream import library

    return getattr(library, name)
