# SPDX-License-Identifier: Apache-2.0
"""Queries at random with aggregates of definition files: sketches, and those of the example."""

from __future__ import annotations

from pathlib import Path

from tests.answers.function_maker import FunctionMaker
from tests.answers.query_maker import ADDRESSES, BOOL, FLOAT, STRING, WHOLE

TRAFFIC = Path(__file__).parents[2] / "examples" / "extensions" / "traffic.gsql"
OF_NUMBER = (("approx_count_distinct({} % 3)", WHOLE), ("median_of({})", FLOAT),
             ("quantile_of({}, 0.9)", FLOAT), ("quantile_of({} / 4.0, 0.25)", FLOAT),
             ("heavy_hitters(UINT({}), 4)", STRING), ("heavy_hitters(ULLONG({}), 1)", STRING),
             ("size_histogram(UINT({}))", WHOLE), ("size_quantile(UINT({}), 0.5)", WHOLE),
             ("size_entropy(UINT({}))", FLOAT), ("bits_seen(UINT({}))", WHOLE),
             ("share_of_ports(CAST({} AS ushort), UINT(len_), '64,80,60,443')", FLOAT),
             ("median_of(CASE WHEN {} > 70 THEN {} END)", FLOAT),
             ("size_quantile(CASE WHEN {} % 2 = 0 THEN UINT({}) END, 1.0)", WHOLE))  # fmt: skip


class UdafMaker(FunctionMaker):
    """A half of the aggregates are such; groups are small, so that sketches are exact."""

    def _aggregate(self) -> tuple[str, str]:
        if self._random.random() < 0.4:
            return super()._aggregate()
        call, kind = self._of_file()
        if self._random.random() < 0.25:
            call = f"{call} FILTER (WHERE {self.expression(BOOL, 2)})"
        return call, kind

    def _of_file(self) -> tuple[str, str]:
        addresses = [column.kind for column in self._columns if column.kind in ADDRESSES]
        kind = self._random.random()
        if kind < 0.15:
            return f"byte_entropy({self.expression(STRING, 1)})", FLOAT
        if addresses and kind < 0.4:
            address = self.expression(self._pick(*addresses), 1)
            return f"heavy_hitters({address}, {self._pick('1', '3', '20')})", STRING
        form, result = self._random.choice(OF_NUMBER)
        return form.replace("len_", self._small_name()).replace("{}", self._small_name()), result
