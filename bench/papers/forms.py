# SPDX-License-Identifier: Apache-2.0
"""In order (IOP) against out of order (OOP): the same query, with links that arrive late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from experiment import Row
from links import Departure, Link, Passed, arrive, departures
from low_level import plan_of

from gigastream.plan import Plan

FORMS = {"IOP": "in_order;", "OOP": ""}
"""By the names of the figures: what stands in DEFINE."""
Departed = Mapping[str, Sequence[Departure]]


def planned(query: str, links: Sequence[Link], **values: object) -> Iterator[tuple[str, Plan]]:
    """Plan the query in each form; `{options}` and the values are put into its text."""
    for form, options in FORMS.items():
        text = query.format(options=options, **values)
        yield form, plan_of(text, [link.interface for link in links])


def by_delay(
    query: str,
    links: Sequence[Link],
    late: Sequence[str],
    delays_s: Iterable[float],
    **values: object,
) -> Iterator[Row]:
    """A row for each form and delay of the late links."""
    for form, plan in planned(query, links, **values):
        departed = departures(plan, links)
        for delay_s in delays_s:
            passed = arrive(plan, departed, dict.fromkeys(late, delay_s))
            yield {"form": form, "delay_s": delay_s, **held(passed)}


def held(passed: Passed) -> Row:
    """What was held at most, and what came out."""
    return {
        "memory_mb": round(passed.peak_mb, 3),
        "rows_held": passed.peak_rows,
        "rows_out": passed.rows_out,
        "greatest_burst": passed.greatest_burst,
        "refused": passed.refused,
    }
