# SPDX-License-Identifier: Apache-2.0
"""ORDER BY … LIMIT: closed windows sorted, and cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from gigastream.gsql.expressions import Expression, GroupRef
from gigastream.gsql.queries import CheckedQuery, OutputColumn
from gigastream.late_dataclass import dataclass, replace
from gigastream.plan.accumulators import expression_key
from gigastream.plan.builders import NodeNames
from gigastream.plan.nodes import ClauseNode, Detail, Node
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLimit(ClauseNode):
    """ORDER BY … LIMIT for each closed window; the input's last columns are only sorted by."""

    title: ClassVar[str] = "order"
    is_light: ClassVar[bool] = True
    sorts_in_order: ClassVar[bool] = True

    keys: tuple[tuple[int, bool], ...]
    """(column of the input, descending)."""
    limit: int | None
    per: tuple[int, ...]
    """Columns of the input: rows of a window in which they are equal have the limit together."""
    windows: tuple[int, ...]
    """Columns of the input that make the window."""

    @property
    def undivided(self) -> str | None:
        """Rows that are equal by the keys are put in order by all their columns."""
        return None

    @property
    def held(self) -> tuple[int, ...]:
        """The window, and the other temporal columns, of which each window has one value.

        No bound of any may be given before the window is out.
        """
        columns = enumerate(self.input.schema.columns)
        temporal = [index for index, column in columns if column.temporal.is_temporal]
        return (*self.windows, *(index for index in temporal if index not in self.windows))

    @classmethod
    def hidden_columns(cls, query: CheckedQuery) -> tuple[OutputColumn, ...]:
        """Sort keys and the window's variables, where SELECT does not show them."""
        if not query.order_by:
            return ()
        shown = {expression_key(output.expression) for output in query.outputs}
        keys = (item.expression for item in query.order_by)
        wanted = [*keys, *query.limit_per, *_window_refs(query)]
        names = NodeNames()
        names.reserve(output.name for output in query.outputs)
        hidden: dict[object, OutputColumn] = {}
        for expression in wanted:
            key = expression_key(expression)
            if key not in shown and key not in hidden:
                hidden[key] = OutputColumn(names.fresh(f"_sort{len(hidden)}"), expression)
        return tuple(hidden.values())

    @classmethod
    def on_top(cls, query: CheckedQuery, rows: Node, names: NodeNames) -> Node:
        if not query.order_by:
            return rows
        places: dict[object, int] = {}
        for index, output in enumerate(query.outputs + cls.hidden_columns(query)):
            places.setdefault(expression_key(output.expression), index)
        return cls(
            name=query.name,
            schema=query.schema,
            order=rows.order[: len(query.outputs)],
            input=replace(rows, name=names.fresh(f"{query.name}_groups")),
            keys=tuple(
                (places[expression_key(k.expression)], k.descending) for k in query.order_by
            ),
            limit=query.limit,
            per=tuple(places[expression_key(e)] for e in query.limit_per),
            windows=tuple(places[expression_key(ref)] for ref in _window_refs(query)),
        )

    @property
    def bounded(self) -> tuple[Expression, ...]:
        made = self.input.maker.column_expressions
        return tuple(made[index] for index in self.held)

    def details(self, plan: Plan) -> Iterator[Detail]:
        shown = len(self.schema.columns)
        names = [column.name for column in self.schema.columns]
        names += self.input.maker.made_of[shown:]
        keys = (names[index] + (" DESC" if down else "") for index, down in self.keys)
        yield "window", (", ".join(names[index] for index in self.windows) or "the stream",)
        yield "order", (", ".join(keys),) if self.keys else ()
        limit, per = self.limit, ", ".join(names[index] for index in self.per)
        each = f"each {per} in a window" if per else "each window"
        yield "limit", () if limit is None else (f"{counted(limit, 'row')} of {each}",)

    def punctuation(self, index: int) -> str:
        return "punctuation of the input, once its windows are out"


def _window_refs(query: CheckedQuery) -> list[GroupRef]:
    return [
        GroupRef(
            type=group.expression.type,
            temporal=group.expression.temporal,
            nullable=group.expression.nullable,
            span=query.span,
            index=index,
            name="wid" if index == 0 and query.window is not None else group.name,
        )
        for index, group in enumerate(query.groups)
        if group.expression.temporal.is_temporal
    ]
