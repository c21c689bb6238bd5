# SPDX-License-Identifier: Apache-2.0
"""Windows, merges, mixed unions and joins at random, each one that the language accepts.

A join's time condition always bounds its state; what else it asks is made of the columns of one
side, or of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.answers.kept_maker import kept
from tests.answers.query_maker import (
    ADDRESSES,
    BOOL,
    INET,
    PROTOCOLS,
    STRING,
    TIMESTAMP,
    WHOLE,
    Column,
    QueryMaker,
)

CLOCKS = {"time": 1, "time_ms": 10**3, "timestamp": 10**9}
"""The columns that count time, and their ticks in a second."""
UNITS = {"s": 1, "sec": 1, "min": 60}
WINDOWS_S = ((60, 60), (60, 20), (10, 30), (7, 3), (90, 60), (20, 4), (120, 30), (1, 1), (5, 90))
SHARED = ("IPV4", "IP", "TCP", "UDP", "DataProtocol", "PKT")
"""What is joined with itself, since there is most of it in the captures."""
EQUALITIES = (
    "{a}.time = {b}.time",
    "{a}.time/7 = {b}.time/7",
    "{a}.time/10 = {b}.time/10 + 1",
    "{a}.time = {b}.time + 1",
    "{a}.time_ms/1000 = {b}.time",
    "{a}.timestamp/1000000000 = {b}.time",
    "2*{a}.time = {b}.time_ms/500",
    "0 - {a}.time/5 = 0 - {b}.time/5",
    "time_bucket('3 sec', {a}.timestamp) = time_bucket('3 sec', {b}.timestamp)",
    "{a}.time = {b}.time AND {a}.time_ms/500 = {b}.time_ms/500",
)
BANDS = (
    "{a}.time >= {b}.time - 1 AND {a}.time <= {b}.time + 2",
    "{a}.time_ms BETWEEN {b}.time_ms - 900 AND {b}.time_ms + 40",
    "{b}.timestamp - {a}.timestamp <= 1500000000 AND {a}.timestamp - {b}.timestamp < 1",
    "{b}.time > {a}.time AND {b}.time < {a}.time + 4",
    "{a}.time_ms/100 >= {b}.time_ms/100 - 3 AND {b}.time_ms/100 + 3 >= {a}.time_ms/100",
    "{a}.timestamp <= {b}.timestamp AND {a}.timestamp >= {b}.timestamp - 2000000000",
    "-{a}.time <= -{b}.time + 1 AND -{a}.time >= -{b}.time - 3",
)
PREFIXES = ("INNER_JOIN", "LEFT_OUTER_JOIN", "RIGHT_OUTER_JOIN", "OUTER_JOIN")
SPELLINGS = ("JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT OUTER JOIN", "FULL JOIN")


@dataclass(frozen=True)
class Side:
    """A source of a join: what FROM has of it, and its columns, with its name before them."""

    name: str
    source: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """One of them by its own name."""
        return next(c for c in self.columns if c.name == f"{self.name}.{name}")

    @property
    def names(self) -> set[str]:
        return {column.name.partition(".")[2] for column in self.columns}


class StreamMaker(QueryMaker):
    """Makes sets of queries of some families: `windows`, `merges`, `joins`."""

    def __init__(self, random: Random, interfaces: Sequence[str], families: Sequence[str]) -> None:
        super().__init__(random, interfaces)
        makers = self._families()
        self._makers = [maker for family in families for maker in makers[family]]
        self._is_over_join = False

    def _families(self) -> dict[str, tuple[Callable[[str], str], ...]]:
        return {
            "windows": (self._window_over_packets, self._window_over_query),
            "merges": (self._merge_of_packets, self._merge_of_queries, self._mixed_union),
            "joins": (
                self._join_of_packets,
                self._join_of_packets,
                self._join_of_queries,
                self._join_of_three,
            ),
        }

    def _text(self, name: str) -> str:
        self._is_over_join = False
        return self._random.choice(self._makers)(name)

    # Windows

    def _window_over_packets(self, name: str) -> str:
        protocol = self._random.choice(list(PROTOCOLS))
        self._columns = self._some(PROTOCOLS[protocol])
        where = self._random.choice(("", "", *(f"{i}." for i in self._interfaces)))
        return self._windowed(name, f"{where}{protocol}", CLOCKS)

    def _window_over_query(self, name: str) -> str:
        """A selection's clock still counts what it did."""
        clock = self._pick(*CLOCKS)
        kind = TIMESTAMP if clock == "timestamp" else WHOLE
        self._columns = self._some(PROTOCOLS[self._pick(*SHARED)])
        inner = f"SELECT {clock} AS t, len, packet_id, caplen FROM {self._pick(*SHARED)}"
        self._columns = [Column("t", kind, is_temporal=True)]
        self._columns += [Column(n, WHOLE, is_small=True) for n in ("len", "packet_id", "caplen")]
        inner = f"DEFINE {{ query_name {name}_in; visibility internal; }}\n{inner}"
        return f"{inner};\n{self._windowed(name, f'{name}_in', {'t': CLOCKS[clock]})}"

    def _windowed(self, name: str, source: str, clocks: dict[str, int]) -> str:
        own = [column.name for column in self._columns if column.name in clocks]
        clock = self._random.choice(own)
        return self._windowed_by(name, source, self._bracket(clock, clocks[clock]))

    def _windowed_by(self, name: str, source: str, bracket: str) -> str:
        """An aggregation of windows; the bracket stands behind SELECT or FROM."""
        calls = [self._aggregate()[0] for _ in range(self._random.randint(1, 3))]
        if len(calls) == 2 and not self._is_over_join:
            calls.append(kept(self._random, self._columns, self.expression)[0])
        groups = [self._group()[0] for _ in range(self._random.randint(0, 2))]
        items = self._random.choice(
            (["window_start"], ["window_end"], ["window_end", "window_start"])
        )
        items = [*items, *(f"g{at}" for at in range(len(groups)))]
        order = self._order([Column(item, WHOLE) for item in items])
        items += [f"{call} AS a{at}" for at, call in enumerate(calls)]
        behind, before = self._random.choice(((bracket, ""), ("", bracket)))
        text = f"SELECT {', '.join(items)}{before}\nFROM {source}{behind}{self._where()}"
        if groups:
            shown = ", ".join(f"{group} AS g{at}" for at, group in enumerate(groups))
            text += f"\nGROUP BY {shown}"
        return f"DEFINE {{ query_name {name}; }}\n{text}{self._having()}{order}"

    def _bracket(self, clock: str, ticks: int) -> str:
        length, slide = self._random.choice(WINDOWS_S)
        if self._random.random() < 0.3:
            shown = [str(length * ticks), str(slide * ticks)]
        else:
            unit = self._pick("s", "sec", "ms") if ticks > 1 else self._pick("s", "sec")
            factor = 1000 if unit == "ms" else 1
            shown = [f"{length * factor} {unit}", f"{slide * factor} {unit}"]
        return f" [RANGE {shown[0]}, SLIDE {shown[1]}, WA {clock}]"

    # Merges and unions

    def _merge_of_packets(self, name: str) -> str:
        protocol, clock = self._pick(*SHARED), self._pick(*CLOCKS)
        left, right = self._interfaces
        merge = f"MERGE a.{clock} : b.{clock}{self._pick('', ' SLACK 2')}"
        merge += f" FROM {left}.{protocol} a, {right}.{protocol} b"
        if self._random.random() < 0.2:
            return f"DEFINE {{ query_name {name}; }}\n{merge}"
        self._columns = self._some(PROTOCOLS[protocol])
        inner = f"DEFINE {{ query_name {name}_in; visibility internal; }}\n{merge}"
        return f"{inner};\n{self._query(name, f'{name}_in', '')[0]}"

    def _merge_of_queries(self, name: str) -> str:
        inputs, columns = self._selections(name, count=self._random.choice((2, 2, 3)))
        letters = "abc"[: len(inputs)]
        of = " : ".join(f"{letter}.o0" for letter in letters)
        tables = ", ".join(f"{name}_{letter} {letter}" for letter in letters)
        merge = f"MERGE {of} FROM {tables}"
        if self._random.random() < 0.4:
            return ";\n".join([*inputs, f"DEFINE {{ query_name {name}; }}\n{merge}"])
        merge = f"DEFINE {{ query_name {name}_m; visibility internal; }}\n{merge}"
        self._columns = columns
        return ";\n".join([*inputs, merge, self._query(name, f"{name}_m", "")[0]])

    def _selections(self, name: str, count: int) -> tuple[list[str], list[Column]]:
        """Selections of the same columns, of which o0 is a clock."""
        clock = self._pick(*CLOCKS)
        kind = TIMESTAMP if clock == "timestamp" else WHOLE
        columns = [Column("o0", kind, is_temporal=True), Column("len", WHOLE, is_small=True)]
        columns += [Column("packet_id", WHOLE, is_small=True), Column("interface", STRING)]
        texts = []
        for letter in "abc"[:count]:
            protocol = self._random.choice(sorted(PROTOCOLS))
            self._columns = self._some(PROTOCOLS[protocol])
            select = f"SELECT {clock} AS o0, len, packet_id, interface FROM {protocol}"
            head = f"DEFINE {{ query_name {name}_{letter}; visibility internal; }}"
            texts.append(f"{head} {select}{self._where()}")
        return texts, columns

    def _mixed_union(self, name: str) -> str:
        """Packets and a query's rows, which have the same names."""
        protocol = self._pick(*SHARED)
        self._columns = self._some(PROTOCOLS[protocol])
        inner = f"SELECT time, len, packet_id, interface FROM {protocol}{self._where()}"
        inner = f"DEFINE {{ query_name {name}_in; visibility internal; }} {inner}"
        self._columns = [c for c in PROTOCOLS["PKT"] if c.name in ("time", "len", "packet_id")]
        parts = self._random.sample([f"{name}_in", self._pick(*SHARED)], 2)
        return f"{inner};\n{self._query(name, ' UNION '.join(parts), '')[0]}"

    # Joins

    def _join_of_packets(self, name: str) -> str:
        a, b = self.packet_side("a"), self.packet_side("b")
        return self._joined(name, a, b, self._pick(*EQUALITIES, *BANDS, "WINDOWS"))

    def packet_side(self, letter: str) -> Side:
        """Packets of a protocol, and some of their columns, times among them."""
        protocol = self._pick(*SHARED)
        where = self._pick("", *(f"{i}." for i in self._interfaces))
        columns = [c for c in PROTOCOLS[protocol] if c.name in CLOCKS]
        others = [c for c in PROTOCOLS[protocol] if c.name not in CLOCKS]
        columns += self._random.sample(others, min(len(others), 5))
        return Side(letter, f"{where}{protocol} {letter}", named(letter, columns))

    def _join_of_queries(self, name: str) -> str:
        """Of aggregations, by their windows and groups."""
        key = self._pick("srcIP", "protocol", "len", "interface")
        kind = {"srcIP": INET, "interface": STRING}.get(key, WHOLE)
        seconds = self._pick("5", "20")
        columns = [Column("tb", WHOLE, is_temporal=True), Column("k", kind)]
        columns.append(Column("n", WHOLE, is_small=True))
        inputs = []
        for letter, interface in zip("ab", self._interfaces, strict=True):
            self._columns = self._some(PROTOCOLS["IP"])
            head = f"DEFINE {{ query_name {name}_{letter}; visibility internal; }}"
            text = f"SELECT tb, k, count(*) AS n FROM {interface}.IP{self._where()}"
            inputs.append(f"{head} {text} GROUP BY time/{seconds} AS tb, {key} AS k")
        a, b = (Side(x, f"{name}_{x} {x}", named(x, columns)) for x in "ab")
        times = self._pick(
            "{a}.tb = {b}.tb", "{a}.tb = {b}.tb + 1", "{a}.tb >= {b}.tb AND {a}.tb <= {b}.tb + 1"
        )
        return ";\n".join([*inputs, self._joined(name, a, b, times)])

    def _joined(self, name: str, a: Side, b: Side, times: str) -> str:
        """A join of two, in one of the two spellings, with or without groups."""
        is_on = self._random.random() < 0.5
        spelling = self._pick(*SPELLINGS) if is_on else self._pick("", *PREFIXES)
        keeps = _keeps(spelling)
        conditions = [] if times == "WINDOWS" else [times.format(a="a", b="b")]
        conditions += self._keys(a, b, keeps)
        conditions += self._rest(a, b)
        sources = [a.source, b.source]
        if times == "WINDOWS":
            clock, lengths = (
                self._pick("time", "timestamp"),
                (self._pick("1", "2", "3") for _ in "ab"),
            )
            sources = [
                f"{s} [WA {clock}, RANGE {n} sec]" for s, n in zip(sources, lengths, strict=True)
            ]
        where = " AND ".join(conditions) or "TRUE"
        if is_on:
            source = f"FROM {sources[0]} {spelling} {sources[1]} ON {where}"
            tail = ""
        else:
            source = f"{spelling} FROM {', '.join(sources)}"
            tail = f"\nWHERE {where}"
        if is_on and self._random.random() < 0.3:
            tail = f"\nWHERE {self._test(a, b, keeps)}"
        self._columns = self._seen(a, b, keeps, times, is_on=is_on)
        return self._over_join(name, source, tail)

    def _seen(self, a: Side, b: Side, keeps: str, times: str, *, is_on: bool) -> list[Column]:
        """The columns of joined rows: a temporal one that may be absent is varying."""
        filled = set()
        if not is_on:
            pairs = re.findall(r"a\.(\w+) = b\.(\w+)(?= AND|$)", times.format(a="a", b="b"))
            filled = {
                f"{x}.{n}" for p in pairs if p[0] == p[1] for x, n in zip("ab", p, strict=True)
            }
        absent = [column for column in a.columns if "r" in keeps]
        absent += [column for column in b.columns if "l" in keeps]
        return [
            replace(c, is_temporal=c.is_temporal and (c not in absent or c.name in filled))
            for c in (*a.columns, *b.columns)
        ]

    def _keys(self, a: Side, b: Side, keeps: str) -> list[str]:
        """Equalities, of columns of different types too; none once in a while."""
        found = []
        for left in self._random.sample(list(a.columns), len(a.columns)):
            fitting = [c for c in b.columns if _may_meet(left, c)]
            if left.name.partition(".")[2] in CLOCKS or not fitting or left.is_temporal:
                continue
            same = [c for c in fitting if (c.name[2:], c.kind) == (left.name[2:], left.kind)]
            if keeps and not same:
                continue  # what is filled keeps its type
            right = self._random.choice(same or fitting)
            form = self._pick("{} = {}", "{} = {}", "{1} = {0}")
            if left.kind == right.kind == WHOLE:
                form = self._pick(form, form, "{} % 5 = {} % 5")
            found.append(form.format(left.name, right.name))
        return found[: self._random.choice((0, 1, 1, 1, 2, 2))]

    def _rest(self, a: Side, b: Side) -> list[str]:
        """Conditions of one side, and of both."""
        found = []
        for columns in (list(a.columns), list(b.columns), [*a.columns, *b.columns]):
            if self._random.random() < 0.35:
                self._columns = columns
                found.append(f"({self.expression(BOOL, 2)})")
        return found

    def _test(self, a: Side, b: Side, keeps: str) -> str:
        """WHERE behind ON: about joined rows."""
        self._columns = [*a.columns, *b.columns]
        absent = [*(b.columns if "l" in keeps else ()), *(a.columns if "r" in keeps else ())]
        if absent and self._random.random() < 0.6:
            column = self._random.choice(absent).name
            return f"{column} IS {self._pick('', 'NOT ')}NULL"
        return self.expression(BOOL, 2)

    def _over_join(self, name: str, source: str, tail: str) -> str:
        self._is_over_join = True
        zero = self._pick("", "", "", " outer_default 'zero';")
        head = f"DEFINE {{ query_name {name};{zero} }}\n"
        is_moving = any(column.is_temporal for column in self._columns)
        kind = self._random.random()
        if kind < 0.5 or not is_moving or zero:
            items = self._random.sample(self._columns, min(4, len(self._columns)))
            shown = [f"{column.name} AS c{at}" for at, column in enumerate(items)]
            shown.append(f"{self.expression(self._kind())} AS e")
            return f"{head}SELECT {', '.join(shown)}\n{source}{tail}"
        groups = [f"{self._moving()} AS w0"]
        if kind > 0.9:
            return f"{head}SELECT DISTINCT {groups[0]}, {self._group()[0]} AS g0\n{source}{tail}"
        groups += [f"{self._group()[0]} AS g{at}" for at in range(self._random.randint(0, 2))]
        calls = [f"{self._aggregate()[0]} AS a{at}" for at in range(self._random.randint(1, 3))]
        chosen = [group.rpartition(" ")[2] for group in groups] + calls
        order = self._order([Column("w0", WHOLE)])
        body = f"SELECT {', '.join(chosen)}\n{source}{tail}\nGROUP BY {', '.join(groups)}"
        return f"{head}{body}{self._having()}{order}"

    def _moving(self) -> str:
        """A window of an aggregation over joined rows."""
        column = self._random.choice([c for c in self._columns if c.is_temporal])
        own = column.name.partition(".")[2]
        forms = {"time": "{}/30", "time_ms": "{}/5000", "timestamp": "time_bucket('10 sec', {})"}
        return self._pick("{}", forms.get(own, "{}/3")).format(column.name)

    def _join_of_three(self, name: str) -> str:
        """Each with the first, whose times it may outlive: by commas, or behind ON."""
        sides = [self.packet_side(letter) for letter in "abc"]
        forms = (EQUALITIES[0], EQUALITIES[3], *BANDS[:2])
        times = [self._pick(*forms).format(a="a", b=x) for x in "bc"]
        keys = [self._keys(sides[0], side, "")[:1] for side in sides[1:]]
        pairs = [" AND ".join([time, *key]) for time, key in zip(times, keys, strict=True)]
        first, *others = (side.source for side in sides)
        self._columns = [column for side in sides for column in side.columns]
        if self._random.random() < 0.5:
            return self._over_join(
                name, f"FROM {first}, {', '.join(others)}", f"\nWHERE {' AND '.join(pairs)}"
            )
        words = [self._pick("JOIN", "LEFT JOIN") for _ in pairs]
        source = f"FROM {first}"
        for word, other, pair in zip(words, others, pairs, strict=True):
            source += f" {word} {other} ON {pair}"
        absent = {x for word, x in zip(words, "bc", strict=True) if word == "LEFT JOIN"}
        self._columns = [
            replace(c, is_temporal=c.is_temporal and c.name[0] not in absent) for c in self._columns
        ]
        return self._over_join(name, source, "")

    # Expressions

    def _group(self) -> tuple[str, str]:
        """As in the base, where names may have qualifiers."""
        names = {column.name for column in self._columns}
        while True:
            kind = self._kind()
            text = self.expression(kind, self._random.choice((0, 1, 1, 2)))
            if names & set(re.findall(r"[\w.]+", text)):
                return text, kind

    def _aggregate(self) -> tuple[str, str]:
        """Joined rows have no order that FIRST and LAST could go by."""
        while True:
            call, kind = super()._aggregate()
            if not (self._is_over_join and call.startswith(("first", "last"))):
                return call, kind


def named(letter: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a source that has a name."""
    return tuple(replace(column, name=f"{letter}.{column.name}") for column in columns)


def _keeps(spelling: str) -> str:
    """The sides whose rows come without a match."""
    word = spelling.partition(" ")[0].partition("_")[0]
    return {"LEFT": "l", "RIGHT": "r", "FULL": "lr", "OUTER": "lr"}.get(word, "")


def _may_meet(left: Column, right: Column) -> bool:
    """Whether the two can be equal at all."""
    kinds = {left.kind, right.kind}
    return len(kinds) == 1 or (INET in kinds and kinds <= set(ADDRESSES))
