# SPDX-License-Identifier: Apache-2.0
"""The plan of a spool: its queries were written beside its segments, and make the plan again.

Another query may be answered from a spool too, if the streams that it needs of the low level are
there as it needs them; only what is above the border is then new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.gsql.source import SourceFile
from gigastream.query_texts import QueryTexts, check_texts

if TYPE_CHECKING:
    from gigastream.plan import Plan
    from gigastream.spool import Spool

_OF_CONSUMERS = ("signature", "needs", "options")
"""What a low node's JSON says of the rest of its query set, and of how fast it goes."""


class SpooledPlanError(Exception):
    """Spools that do not belong together, or that cannot answer a query."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def queries_to_json(texts: QueryTexts) -> dict[str, Any]:
    """Return what makes the plan again, as plain data: a spool's queries.json."""
    return {
        "files": [{"name": file.name, "text": file.text} for file in texts.files],
        "parameters": dict(texts.parameters),
        "definitions": [str(Path(path).resolve()) for path in texts.definitions],
        "library": None if texts.library is None else str(Path(texts.library).resolve()),
        "interfaces": {name: dict(found) for name, found in texts.interfaces.items()},
    }


def queries_from_json(value: Mapping[str, Any]) -> QueryTexts:
    """Return the queries that `queries_to_json` was given."""
    return QueryTexts(
        files=tuple(SourceFile(file["name"], file["text"]) for file in value["files"]),
        parameters=value["parameters"],
        definitions=tuple(value["definitions"]),
        library=value["library"],
        interfaces=value["interfaces"],
    )


def plan_of_spools(spools: Sequence[Spool], texts: QueryTexts | None = None) -> Plan:
    """Return the plan whose low level wrote the spools, or that of other queries over them.

    Raises SpooledPlanError where the spools were written for different query sets, or have no
    stream that `texts` need; GsqlError for what is wrong in `texts`.
    """
    from gigastream.plan import plan_queries

    first = spools[0]
    _check_together(spools)
    theirs = queries_from_json(first.queries())
    asked = theirs if texts is None else replace(texts, interfaces=theirs.interfaces)
    plan = plan_queries(check_texts(asked).queries)
    _check_streams(plan, first, is_other=texts is not None)
    return plan


def _check_together(spools: Sequence[Spool]) -> None:
    first = spools[0]
    for other in spools[1:]:
        if other.query_set != first.query_set:
            raise SpooledPlanError(
                f"{first.path} and {other.path} were written for different query sets",
                "run the same queries on every host",
            )


def _check_streams(plan: Plan, spool: Spool, *, is_other: bool) -> None:
    from gigastream.plan.to_json import to_json

    written = _low_nodes(spool.plan())
    for name, node in _low_nodes(to_json(plan)).items():
        if name not in {low.name for low in plan.low} or written.get(name) == node:
            continue
        raise SpooledPlanError(*_why_not(name, name in written, spool, is_other))


def _low_nodes(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By name, each node without what depends on its consumers."""
    return {
        node["name"]: {key: value for key, value in node.items() if key not in _OF_CONSUMERS}
        for node in plan["nodes"]
    }


def _why_not(name: str, is_there: bool, spool: Spool, is_other: bool) -> tuple[str, str]:
    if not is_other:
        message = f"{spool.path} was written by another version: its queries now give another plan"
        return message, "read it with that version, or write it again"
    what = f"its stream {name} is another one" if is_there else f"it has no stream {name}"
    hint = "name the query as it was named, and change only what is above the border (explain)"
    return f"{spool.path} cannot answer the query: {what}", hint
