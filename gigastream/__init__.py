# SPDX-License-Identifier: Apache-2.0
"""Gigastream: SQL questions about network traffic, answered while the packets go by.

    import gigastream

    question = "SELECT tb, srcIP, sum(len) AS bytes FROM IPV4 GROUP BY time/60 AS tb, srcIP"
    for batch in gigastream.run(question, "capture.pcap"):
        print(batch.to_pydict())

What is wrong is raised as one of the errors here, each with a text for people. `Settings` are the
options of the command line. Nothing is loaded before it is used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own; loading it takes longer than all that is here

if TYPE_CHECKING:
    from gigastream.library import (
        CompileError,
        DamagedSourceError,
        EngineError,
        FilterError,
        GsqlError,
        PacketSource,
        Settings,
        SettingsError,
        SourceError,
        compile,
        explain,
        run,
    )
    from gigastream.udf_mark import udaf, udf
    from gigastream.version import __version__

__all__ = [
    "CompileError",
    "DamagedSourceError",
    "EngineError",
    "FilterError",
    "GsqlError",
    "PacketSource",
    "Settings",
    "SettingsError",
    "SourceError",
    "__version__",
    "compile",
    "explain",
    "run",
    "udaf",
    "udf",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from gigastream.version import __version__

        return __version__
    if name in ("udaf", "udf"):
        from gigastream import udf_mark

        mark: object = getattr(udf_mark, name)
        return mark
    from gigastream import library

    found: object = getattr(library, name)
    return found


def __dir__() -> list[str]:
    """What there is, for a notebook that completes names."""
    return __all__
