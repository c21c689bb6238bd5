# SPDX-License-Identifier: Apache-2.0
"""Queries at random whose groups go on from window to window (GSQL section 6.4)."""

from __future__ import annotations

from collections.abc import Callable

from tests.answers.query_maker import FLOAT, WHOLE, Column, QueryMaker


class RunningMaker(QueryMaker):
    """Aggregations with CLOSING_WHEN over packets.

    How far the values of another query's column are apart, the reference does not know.
    """

    def _over_query(self, name: str) -> str:
        return self._over_packets(name, "")[0]

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
        return self._random.choice(makers)()

    def _closing(self) -> str:
        tests = ("count(*) = 0", "moving_sum(len_, 2) IS NULL", "running_sum(len_) > 400",
                 "count(*) % 3 = 0", "w0 = w0 AND count(*) = 0", "1 / (count(*) - 1) = 0",
                 "moving_avg(len_, 3) < 90 OR count(*) = 0")  # fmt: skip
        return self._random.choice(tests).replace("len_", self._small_name())
