# SPDX-License-Identifier: Apache-2.0
"""The shape of a join: which sources are joined with which, and which condition goes where.

FROM gives a tree, `A a, B b, C c` the joins of `(A, B), C`. A condition sinks in it as far as it
can without changing the answer: what selects rows of one side is asked before they are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast
from gigastream.late_dataclass import dataclass, field

KEEPS = {
    "INNER": (False, False),
    "LEFT_OUTER": (True, False),
    "RIGHT_OUTER": (False, True),
    "OUTER": (True, True),
}
"""Of which sides rows come without a match."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A condition that must hold, and the sources that it reads."""

    node: ast.SyntaxExpression
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class JoinLeaf:
    """A FROM item, and the conditions that select its rows."""

    port: int
    where: list[Conjunct] = field(default_factory=list)

    @property
    def ports(self) -> frozenset[int]:
        return frozenset((self.port,))

    def select(self, conjunct: Conjunct) -> None:
        """Let only rows through for which the condition holds."""
        self.where.append(conjunct)


@dataclass(frozen=True, slots=True)
class Branch:
    """A join of two trees."""

    left: Tree
    right: Tree
    keeps: tuple[bool, bool]
    is_standard: bool
    """Its predicate stands behind ON; else in WHERE, as Tigon writes it."""
    span: Span
    predicate: list[Conjunct] = field(default_factory=list)
    filters: list[Conjunct] = field(default_factory=list)
    """What is asked of joined rows."""

    @property
    def sides(self) -> tuple[Tree, Tree]:
        return self.left, self.right

    @property
    def ports(self) -> frozenset[int]:
        return self.left.ports | self.right.ports

    def select(self, conjunct: Conjunct) -> None:
        """A condition on the joined rows: it goes to a side where that gives the same rows.

        In Tigon's outer joins it selects a side's rows before they are joined: a choice of the
        language (GSQL section 6.8).
        """
        side = self._side_of(conjunct)
        if not any(self.keeps):
            self.relate(conjunct)
        elif not self.is_standard:
            (self.predicate.append if side is None else self.sides[side].select)(conjunct)
        elif side is not None and self.keeps[side] and not self.keeps[1 - side]:
            self.sides[side].select(conjunct)
        else:
            self.filters.append(conjunct)

    def relate(self, conjunct: Conjunct) -> None:
        """A part of the predicate: of one side it selects rows that only matter if they match."""
        side = self._side_of(conjunct)
        if side is None or self.keeps[side]:
            self.predicate.append(conjunct)
        else:
            self.sides[side].select(conjunct)

    def _side_of(self, conjunct: Conjunct) -> int | None:
        """The side that alone is read."""
        for side, tree in enumerate(self.sides):
            if conjunct.ports and conjunct.ports <= tree.ports:
                return side
        return None


Tree = JoinLeaf | Branch


def always_there(tree: Tree) -> frozenset[int]:
    """The sources of which every row of a tree has one: no join of it may lack them."""
    if isinstance(tree, JoinLeaf):
        return tree.ports
    keeps_left, keeps_right = tree.keeps
    left = frozenset[int]() if keeps_right else always_there(tree.left)
    return left if keeps_left else left | always_there(tree.right)


def branches_of(tree: Tree) -> Iterator[Branch]:
    """Its joins, inner ones first."""
    if isinstance(tree, Branch):
        for side in tree.sides:
            yield from branches_of(side)
        yield tree


def conjuncts_of(node: ast.SyntaxExpression | None) -> list[ast.SyntaxExpression]:
    """The conditions that must all hold; BETWEEN is two."""
    if node is None:
        return []
    if isinstance(node, ast.Logical) and node.op == "AND":
        return [part for operand in node.operands for part in conjuncts_of(operand)]
    if isinstance(node, ast.Between):
        low = ast.Comparison(">=", node.operand, node.low, span=node.span)
        return [low, ast.Comparison("<=", node.operand, node.high, span=node.span)]
    return [node]


# FROM


def tree_of(
    body: ast.SelectStatement,
    related: frozenset[frozenset[int]],
    behind_on: Mapping[int, Sequence[Conjunct]],
) -> Tree:
    """The tree of a FROM list, with the conditions behind ON, which are given by their ids.

    `related` are the pairs of sources whose times some condition relates: of a list with commas
    those are joined first.
    """
    ports = count()
    trees = [_tree(item, ports, behind_on) for item in body.sources]
    kind = "INNER" if body.join is None else body.join.kind
    span = body.sources[-1].span if body.join is None else body.join.span
    tree, rest = trees[0], trees[1:]
    while rest:
        following = rest.pop(_next(tree, rest, related) if kind == "INNER" else 0)
        tree = Branch(tree, following, KEEPS[kind], is_standard=False, span=span)
    return tree


def _tree(
    item: ast.FromItem, ports: Iterator[int], behind_on: Mapping[int, Sequence[Conjunct]]
) -> Tree:
    if not isinstance(item, ast.JoinedSource):
        return JoinLeaf(next(ports))
    left, right = (_tree(side, ports, behind_on) for side in (item.left, item.right))
    has_own = item.condition is not None
    branch = Branch(left, right, KEEPS[item.kind], is_standard=has_own, span=item.span)
    for conjunct in behind_on.get(id(item.condition), ()):
        branch.relate(conjunct)
    return branch


def _next(tree: Tree, rest: Sequence[Tree], related: frozenset[frozenset[int]]) -> int:
    """The first tree whose times are related with those that are joined already."""
    for index, other in enumerate(rest):
        if any(pair & tree.ports and pair & other.ports for pair in related):
            return index
    return 0
