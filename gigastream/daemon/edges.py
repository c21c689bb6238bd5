# SPDX-License-Identifier: Apache-2.0
"""Where a set takes over from another, for all of its queries."""

from __future__ import annotations

from gigastream.engine.attached_set import AttachedSet
from gigastream.plan import Plan
from gigastream.sessions.changes import holds_rows
from gigastream.sessions.edges import Handover, handover


def edges_of(attached: AttachedSet, new: Plan, old: Plan) -> dict[str, Handover | None] | None:
    """By query of the old set, from where on its rows are the new one's, which is attached.

    None of one that passes rows at once: from here on. None of all: there is no place in common,
    since a query holds rows of no window, or another column tells them apart: then the one ends
    where the other begins, between two packets.
    """
    found: dict[str, Handover | None] = {}
    for node in old.outputs:
        first = attached.whole_from(node.name)
        edge = None if first is None else handover(first, node.name, old, new)
        if edge is None and (first is not None or holds_rows(node)):
            return None
        found[node.name] = edge
    return found
