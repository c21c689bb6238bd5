# SPDX-License-Identifier: Apache-2.0
"""What brings the records of a STREAM is an interface of its own, with a name that no other has."""

from __future__ import annotations

_PREFIX = "STREAM "
"""As csrc/runtime/graph.c knows it; with a space, so that nobody can give an interface the name."""


def stream_interface(stream: str) -> str:
    """The interface of a STREAM, by the name that its declaration has."""
    return _PREFIX + stream


def is_of_stream(interface: str) -> bool:
    """Whether an interface brings records: it is none of every interface's packets."""
    return interface.startswith(_PREFIX)
