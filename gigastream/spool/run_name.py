# SPDX-License-Identifier: Apache-2.0
"""The name of a run over spools: the same for one that comes again, so that its rows count once.

It is one with the same queries over the same generations of the same spools.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gigastream.plan import Plan
    from gigastream.spool import Spool


def name_over_spools(plan: Plan, windows: int | None, spools: Sequence[Spool]) -> str:
    """Return the name of a run over spools; where captures are written anew, it is another."""
    known = sorted((known_by(spool), generation_of(spool)) for spool in spools)
    return name_of(plan, [windows, *(item for each in known for item in each)])


def known_by(spool: Spool) -> str:
    """Return what tells a spool from others: a text of its own, or else where it lies."""
    return spool.identity or (
        spool.path if "://" in spool.path else str(Path(spool.path).absolute())
    )


def generation_of(spool: Spool) -> int:
    """Return the newest of the generations with which its tracks begin; 0: it has none."""
    return max((spool.since(track) for track in spool.tracks()), default=0)


def name_of(plan: Plan, others: Any) -> str:
    """Return the name of a run by its plan and what else says which rows it gets."""
    from gigastream.plan.to_json import to_json

    text = json.dumps([to_json(plan), others], sort_keys=True)
    return f"run {hashlib.sha256(text.encode()).hexdigest()[:32]}"
