# SPDX-License-Identifier: Apache-2.0
"""Queries at random that sample (GSQL section 6.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.answers.kept_maker import kept
from tests.answers.query_maker import ADDRESSES, BOOL, FLOAT, Column, QueryMaker


@dataclass(frozen=True)
class Sampler:
    """The clauses of one, each as it may be left out, and what SELECT may show of it."""

    admission: str = ""
    having: str = ""
    when: str = ""
    by: str = ""
    shown: tuple[str, ...] = ()
    key: str = ""
    """A group variable that the clauses name as `id`."""


class SamplingMaker(QueryMaker):
    """Samples of packets: the reference has no order of a query's rows that are equal in time."""

    def _over_query(self, name: str) -> str:
        return self._over_packets(name, "")[0]

    def _over_union(self, name: str) -> str:
        return self._over_packets(name, "")[0]

    def _query(self, name: str, source: str, options: str) -> tuple[str, list[Column]]:
        body, columns = self._aggregation(source)
        return f"DEFINE {{ query_name {name};{options} }}\n{body}", columns

    def _aggregation(self, source: str) -> tuple[str, list[Column]]:
        sampler = self._sampler()
        window, kind = self._window()
        groups, columns = [f"{window} AS w0"], [Column("w0", kind, is_temporal=True)]
        for at in range(self._random.randint(0, 2)):
            group, kind = self._group()
            groups.append(f"non_temporal({group}) AS g{at}")
            columns.append(Column(f"g{at}", kind))
        names = [column.name for column in columns]
        if sampler.key:
            groups.append(f"non_temporal({sampler.key}) AS id")
            columns.append(Column("id", FLOAT))
        calls = [self._aggregate() for _ in range(self._random.randint(0, 2))]
        if self._random.random() < 0.4:
            calls.append(kept(self._random, self._columns, self.expression))
        calls += [(text, FLOAT) for text in sampler.shown if self._random.random() < 0.7]
        items = [column.name for column in columns]
        for at, (call, kind) in enumerate(calls):
            items.append(f"{call} AS a{at}")
            columns.append(Column(f"a{at}", kind))
        text = f"SELECT {', '.join(items)}\nFROM {source}{self._where_of(sampler)}"
        text += f"\nGROUP BY {', '.join(groups)}"
        text += f"\nSUPERGROUP {', '.join(self._random.sample(names, self._count_of(names)))}"
        if sampler.having and self._random.random() < 0.8:
            text += f"\nHAVING {sampler.having}{self._pick('', ' AND count(*) < 9')}"
        if sampler.when:
            text += f"\nCLEANING_WHEN {sampler.when}\nCLEANING_BY {sampler.by}"
        return text + self._order(columns), columns

    def _count_of(self, names: list[str]) -> int:
        return self._random.randint(1, len(names))

    def _where_of(self, sampler: Sampler) -> str:
        parts = [self.expression(BOOL)] if self._random.random() < 0.3 else []
        parts += [sampler.admission] if sampler.admission else []
        self._random.shuffle(parts)
        return "\nWHERE " + " AND ".join(f"({part})" for part in parts) if parts else ""

    def _sampler(self) -> Sampler:
        makers: tuple[Callable[[], Sampler], ...] = (
            *(self._subset_sum, self._flows, self._reservoir),
            *(self._min_hash, self._lossy_counting, self._counted),
        )
        return self._random.choice(makers)()

    def _wanted(self) -> str:
        return self._pick("1", "2", "5", "20")

    def _weight(self) -> str:
        return self._pick("{}", "{} + 1", "{} / 4.0", "{} * {}").replace("{}", self._small_name())

    def _subset_sum(self) -> Sampler:
        weight = self._weight()
        return Sampler(
            admission=f"ssample({weight}, {self._wanted()}{self._pick('', ', 7')}){self._true()}",
            having=f"ssfinal_clean(sum({weight}), count_distinct$())",
            when="ssdo_clean(count_distinct$())",
            by=f"ssclean_with(sum({weight}))",
            shown=("ssthreshold()", "count_distinct$()", f"sum$({self._small_name()})"),
            key=self._pick("packet_id", "") if self._has_packets() else "",
        )

    def _has_packets(self) -> bool:
        return any(column.name == "packet_id" for column in self._columns)

    def _true(self) -> str:
        return self._pick("", " = TRUE")

    def _flows(self) -> Sampler:
        weight = self._weight()
        flow = f"flow_weight({weight}, ssthreshold()), max(ssthreshold())"
        return Sampler(
            admission=f"fssample({weight}, {self._wanted()}{self._pick('', ', 3')})",
            having=f"fsfinal_clean({flow}, count_distinct$())",
            when="ssdo_clean(count_distinct$())",
            by=f"fsclean_with({flow})",
            shown=(f"fsweight({flow})", "ssthreshold()", "count(*)"),
        )

    def _reservoir(self) -> Sampler:
        number = self._small_name()
        return Sampler(
            admission=f"rsample({number}, {self._wanted()}{self._pick('', ', 9')})",
            having="rsclean_with(id)",
            when="rsdo_clean(count_distinct$())",
            by="rsclean_with(id)",
            shown=("mhcount()", "count_distinct$()"),
            key=number,
        )

    def _min_hash(self) -> Sampler:
        addresses = [column.name for column in self._columns if column.kind in ADDRESSES]
        value = self._pick(*addresses, self._small_name())
        return Sampler(
            admission=f"mhsample({value}, {self._wanted()})",
            having="mhclean_with(id)",
            when="mhdo_clean(count_distinct$())",
            by="mhclean_with(id)",
            shown=("mhcount()", f"sum$({self._small_name()})"),
            key=value,
        )

    def _lossy_counting(self) -> Sampler:
        return Sampler(
            having=f"count(*) > local_rows() / {self._pick('4', '10')}",
            when=f"local_count({self._pick('1', '3', '10')})",
            by="count(*) + min(current_bucket()) > current_bucket()",
            shown=("local_rows()", "count_distinct$()"),
        )

    def _counted(self) -> Sampler:
        """No state: superaggregates alone."""
        name = self._small_name()
        return Sampler(
            admission=self._pick("", f"sum$({name}) < 3000", "count_distinct$() % 7 < 6"),
            having=f"sum({name}) * 3 >= sum$({name})",
            when=self._pick("", "count_distinct$() > 3", f"sum$({name}) / (len_ - 64) > 9").replace(
                "len_", "count_distinct$()"
            ),
            by=self._pick(
                *(f"sum({name}) % 3 <> 1", f"sum({name}) * 4 > sum$({name})"),
                *(f"count(DISTINCT {name}) > 1", f"count_diff({name}) < 5"),
            ),
            shown=("count_distinct$()", f"sum$({name})", f"sum$(DISTINCT {name} - 100)"),
        )
