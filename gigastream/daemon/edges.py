# SPDX-License-Identifier: Apache-2.0
"""Where a set takes over from another, for all of its queries."""

from __future__ import annotations

from gigastream.engine.attached_set import AttachedSet
from gigastream.plan import Plan
from gigastream.sessions.changes import holds_rows
from gigastream.sessions.edges import Edge, time_column


def edges_of(new: AttachedSet, old: Plan) -> dict[str, Edge | None] | None:
    """By query of the old set, from where on its rows are the new one's.

    None of one that passes rows at once: from here on. None of all: there is no place in common,
    since a query holds rows of no window, or another column tells them apart: then the one ends
    where the other begins, between two packets.
    """
    found: dict[str, Edge | None] = {}
    for node in old.outputs:
        first, place = new.whole_from(node.name), time_column(node.schema)
        if first is not None and place is not None:
            found[node.name] = Edge(place, first, node.schema)
        elif first is not None or holds_rows(node):
            return None
        else:
            found[node.name] = None
    return found
