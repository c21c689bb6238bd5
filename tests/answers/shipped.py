# SPDX-License-Identifier: Apache-2.0
"""The shipped queries that combine streams: of what they are asked, and what the reference says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from captures import ROOT

from tests.answers.inputs import INPUTS
from tests.answers.reference.queries import DEFAULT_INTERFACE, Answer, Source, answers
from tests.oracle.query import Decoded, decode

FOLDER = ROOT / "configs" / "queries"
PAPERS, TIGON = FOLDER / "papers", FOLDER / "tigon"
NEAR, DEMO = ((DEFAULT_INTERFACE, "near"),), ((DEFAULT_INTERFACE, "demo"),)
LINKS = (("left", "near"), ("right", "far"))
TWO = (("main1", "near"), ("main2", "far"))
THREE = (*TWO, ("control", "few"))
"""The papers' links; control has little to say, and other times."""
NEIGHBOURS = (("interface1", "near"), ("interface2", "far"))
LATE = (*TWO, ("control", "near"))
"""A control link whose packets are answers to others'."""


@dataclass(frozen=True)
class Shipped:
    """A query file, and the interfaces and inputs that it is asked of."""

    path: Path
    inputs: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The file's name, and its one output's."""
        return self.path.stem

    def answer(self) -> Answer:
        """The reference's answer."""
        sources = [Source(_decoded(name), interface) for interface, name in self.inputs]
        found = answers(self.path.read_text(encoding="utf-8"), sources, self.name)
        (answer,) = (each for each in found.values() if each.is_output)
        return answer


@cache
def _decoded(name: str) -> Decoded:
    return decode(INPUTS[name]())


CASES = [
    *(
        Shipped(FOLDER / f"{name}.gsql", inputs)
        for name, inputs in (
            ("asymmetric", LINKS),
            ("dns_latency", NEAR),
            ("dns_latency", DEMO),
            ("handshake_delay", NEAR),
            ("handshake_delay", DEMO),
            ("one_link_only", LINKS),
            ("resent", NEAR),
        )
    ),
    *(
        Shipped(PAPERS / f"{name}.gsql", inputs)
        for name, inputs in (
            ("q1", THREE),
            ("q2", TWO),
            ("q3", TWO),
            ("q4", TWO[:1]),
            ("q5", TWO),
            ("q6", (("a", "near"), ("b", "mixture"), ("c", "far"), ("d", "other"))),
            ("q7", TWO),
            ("q8", LATE),
            ("q9", THREE),
            ("merge", THREE),
            ("full_flow", THREE),
        )
    ),
    *(
        Shipped(TIGON / f"{name}.gsql", inputs)
        for name, inputs in (
            ("merge", NEIGHBOURS),
            ("join", NEIGHBOURS),
            ("join_predicate", NEIGHBOURS),
            ("backbone_share", (("C", "near"), ("B", "far"))),
            ("backbone_share", (("C", "few"), ("B", "near"))),
        )
    ),
]
