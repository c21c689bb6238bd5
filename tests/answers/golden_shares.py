# SPDX-License-Identifier: Apache-2.0
"""Golden queries as threads divide them: those of the same capture and kind are one set.

Where there are two interfaces, those that read one of them are taken as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gigastream.gsql.queries import CheckedQuery
from gigastream.gsql.source import SourceFile
from gigastream.plan import Plan, plan_queries
from gigastream.plan.operators.output import Output
from gigastream.query_texts import QueryTexts, check_texts
from tests.answers.divided_plans import DIVIDED, below, outputs_by_kind, plan_of_outputs
from tests.answers.golden import golden_queries

Inputs = tuple[tuple[str, str], ...]
"""Pairs of interface and input."""


@dataclass(frozen=True)
class Share:
    """Outputs that threads divide in one way over one capture, of golden queries of `inputs`."""

    kind: str
    inputs: Inputs
    source: tuple[str, str]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}-{'='.join(self.source)}-{len(self.outputs)}"

    @property
    def plan(self) -> Plan:
        """That of these outputs alone."""
        return _plan(self)


@cache
def checked(inputs: Inputs) -> tuple[CheckedQuery, ...]:
    """All golden queries of the same inputs."""
    found = [golden for golden in golden_queries() if golden.inputs == inputs]
    files = tuple(SourceFile(golden.name, golden.text) for golden in found)
    interfaces: dict[str, dict[str, str]] = {interface: {} for interface, _ in inputs}
    texts = QueryTexts(files, interfaces=interfaces, is_finite=True)
    return tuple(check_texts(texts).queries)


@cache
def _plan(share: Share) -> Plan:
    return plan_of_outputs(checked(share.inputs), share.outputs, is_finite=True)


@cache
def kinds() -> dict[tuple[Inputs, Inputs, str], tuple[str, ...]]:
    """Of all golden queries: by inputs, those that are read, and kind the outputs."""
    found: dict[tuple[Inputs, Inputs, str], tuple[str, ...]] = {}
    for inputs in sorted({golden.inputs for golden in golden_queries()}):
        plan = plan_queries(checked(inputs), is_finite=True)
        for kind, outputs in outputs_by_kind(plan).items():
            for output in outputs:
                key = inputs, _read(plan, output, inputs), kind
                found[key] = (*found.get(key, ()), output.name)
    return found


def _read(plan: Plan, output: Output, inputs: Inputs) -> Inputs:
    """The inputs that it looks at."""
    named = {node.source.interface for node in below(plan, output).low}
    return inputs if "" in named else tuple(each for each in inputs if each[0] in named)


@cache
def shares() -> list[Share]:
    """All that threads divide: sources take turns, so that of several nothing is divided."""
    return [
        Share(kind, inputs, read[0], outputs)
        for (inputs, read, kind), outputs in kinds().items()
        if kind in DIVIDED and len(read) == 1
    ]
