# SPDX-License-Identifier: Apache-2.0
"""Queries at random whose groups go on from window to window (GSQL section 6.4)."""

from __future__ import annotations

from collections.abc import Callable

from tests.answers.kept_maker import kept
from tests.answers.query_maker import BOOL, FLOAT, PROTOCOLS, TIMESTAMP, WHOLE, Column, QueryMaker


class RunningMaker(QueryMaker):
    """Aggregations with CLOSING_WHEN, of packets and of selections of packets.

    How far the computed values of another query's column are apart, the reference does not know.
    """

    def _over_query(self, name: str) -> str:
        protocol = self._pick(*PROTOCOLS)
        clock = Column(*self._random.choice((("time", WHOLE), ("timestamp", TIMESTAMP))), True)
        others = [column for column in self._some(PROTOCOLS[protocol]) if not column.is_temporal]
        self._columns = [clock, *others]
        inner, columns = self._selection(protocol)
        inner = inner.replace("\nFROM", ", len AS size\nFROM", 1)
        self._columns = [*columns, Column("size", WHOLE, is_small=True)]
        outer, _ = self._query(name, f"{name}_in", "")
        return f"DEFINE {{ query_name {name}_in; visibility internal; }}\n{inner};\n{outer}"

    def _query(self, name: str, source: str, options: str) -> tuple[str, list[Column]]:
        body, columns = self._aggregation(source)
        return f"DEFINE {{ query_name {name};{options} }}\n{body}", columns

    def _aggregation(self, source: str) -> tuple[str, list[Column]]:
        window, kind = self._window()
        groups, columns = [f"{window} AS w0"], [Column("w0", kind, is_temporal=True)]
        for at in range(self._random.randint(0, 2)):
            group, kind = self._group()
            groups.append(f"non_temporal({group}) AS g{at}")
            columns.append(Column(f"g{at}", kind))
        calls = [self._going_on(), *(self._aggregate() for _ in range(self._random.randint(0, 2)))]
        calls += [self._going_on() for _ in range(self._random.randint(0, 2))]
        if len(calls) == 2:
            calls.append(kept(self._random, self._columns, self.expression))
        items = [column.name for column in columns]
        for at, (call, kind) in enumerate(calls):
            items.append(f"{call} AS a{at}")
            columns.append(Column(f"a{at}", kind))
        text = f"SELECT {', '.join(items)}\nFROM {source}{self._where()}"
        text += f"\nGROUP BY {', '.join(groups)}{self._having()}\nCLOSING_WHEN {self._closing()}"
        return text + self._order(columns), columns

    def _going_on(self) -> tuple[str, str]:
        windows = self._random.choice((1, 2, 3, 7))
        part = f"{self._small_name()} * {self._pick('0.5', '0.1')}"
        makers: tuple[Callable[[], tuple[str, str]], ...] = (
            lambda: (f"moving_sum({self._summable()}, {windows})", WHOLE),
            lambda: (f"moving_sum({part}, {windows})", FLOAT),
            lambda: (f"moving_avg({self._summable()}, {windows})", FLOAT),
            lambda: (f"moving_avg({part}, {windows})", FLOAT),
            lambda: (f"running_sum({self._summable()})", WHOLE),
            lambda: (f"running_sum({part})", FLOAT),
            lambda: (f"running_sum_max({self._summable()})", WHOLE),
            lambda: (f"running_sum_max({part})", FLOAT),
            self._end,
        )
        call, kind = self._random.choice((*makers, self._time_average))()
        if not call.startswith("time_avg") and self._random.random() < 0.1:
            call += f" FILTER (WHERE {self.expression(BOOL, 2)})"
        return call, kind

    def _time_average(self) -> tuple[str, str]:
        """Of what is never NULL."""
        name = self._small_name()
        value = self._pick("{}", "{} / 4.0", "100 - {}").format(name)
        clock = self._random.choice([c.name for c in self._columns if c.is_temporal])
        held = self._pick("+ 1", "+ 3", "- 1", f"+ {name}")
        return f"time_avg({value}, {clock}, {clock} {held})", FLOAT

    def _closing(self) -> str:
        tests = ("count(*) = 0", "moving_sum(len_, 2) IS NULL", "running_sum(len_) > 400",
                 "count(*) % 3 = 0", "w0 = w0 AND count(*) = 0", "1 / (count(*) - 1) = 0",
                 "moving_avg(len_, 3) < 90 OR count(*) = 0")  # fmt: skip
        return self._random.choice(tests).replace("len_", self._small_name())
