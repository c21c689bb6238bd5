# SPDX-License-Identifier: Apache-2.0
"""Operators upon operators at random: windows of rows, and what reads joins, merges and windows.

Each text is a set: what is below is internal, and the last query reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.answers.query_maker import PROTOCOLS, STRING, TIMESTAMP, WHOLE, Column
from tests.answers.stream_maker import CLOCKS, EQUALITIES, SHARED, Side, StreamMaker, named

WINDOWS_ROWS = ((1, 1), (3, 10), (5, 2), (10, 10), (10, 3), (100, 7), (7, 100), (1000, 10))
BY_TIME = ("{a}.t = {b}.t", "{a}.t/7 = {b}.t/7", "{a}.t >= {b}.t - 1 AND {a}.t <= {b}.t + 2")
BY_WINDOW = (
    "{a}.w0 = {b}.w0",
    "{a}.w0 = {b}.w0 + 1",
    "{a}.w0/3 = {b}.w0/3",
    "{a}.w0 >= {b}.w0 - 1 AND {a}.w0 < {b}.w0 + 2",
)


class LayerMaker(StreamMaker):
    """Makes sets of queries of the families `rows` and `layers`, too."""

    def _families(self) -> dict[str, tuple[Callable[[str], str], ...]]:
        return super()._families() | {
            "rows": (self._rows_of_a_source, self._rows_of_a_source, self._over_rows),
            "layers": (
                lambda name: self._above_join(name, self._join_of_packets),
                lambda name: self._above_join(name, self._join_of_merges),
                lambda name: self._above_join(name, self._join_of_aggregations),
                lambda name: self._above_join(name, self._join_of_three),
                self._join_of_merges,
                self._join_of_aggregations,
                self._join_over_join,
                self._merge_of_joins,
                self._merge_of_two_readers,
            ),
        }

    def _text(self, name: str) -> str:
        self._above: Callable[[str, str, str], str] | None = None
        return super()._text(name)

    # Windows of rows

    def _rows_of_a_source(self, name: str) -> str:
        """They count the tuples of one interface's one file."""
        protocol = self._random.choice(list(PROTOCOLS))
        self._columns = self._some(PROTOCOLS[protocol])
        length, slide = self._random.choice(WINDOWS_ROWS)
        bracket = f" [RANGE {length} ROWS, SLIDE {slide} rows]"
        if length == slide:
            bracket = self._pick(bracket, f" [RANGE {length} rows]")
        return self._windowed_by(name, f"{self._pick(*self._interfaces)}.{protocol}", bracket)

    def _over_rows(self, name: str) -> str:
        """What reads windows groups by their ends, or has windows of them."""
        text = self._rows_of_a_source(f"{name}_in")
        items = text.partition("SELECT ")[2].partition("\nFROM")[0].partition(" [")[0].split(", ")
        ends = [Column(item, WHOLE, is_temporal=True) for item in items if item[:6] == "window"]
        self._columns = ends
        text = text.replace(f"query_name {name}_in;", f"query_name {name}_in; visibility internal;")
        return f"{text};\n{self._reader(name, f'{name}_in')}"

    # Readers

    def _reader(self, name: str, source: str) -> str:
        """A selection, an aggregation, or windows of a query's rows."""
        moving = [column for column in self._columns if column.is_temporal]
        if self._random.random() < 0.4:
            column = self._random.choice(moving)
            ticks = CLOCKS.get(column.name.removeprefix("t_"))
            return self._windowed_by(name, source, self._bracket_of(column.name, ticks))
        return self._query(name, source, "")[0]

    def _bracket_of(self, column: str, ticks: int | None) -> str:
        """Of what counts no time that is known lengths have no unit."""
        if ticks is not None:
            return self._bracket(column, ticks)
        length, slide = self._random.choice(((1, 1), (3, 1), (6, 4), (2, 5), (60, 60)))
        return f" [RANGE {length}, SLIDE {slide}, WA {column}]"

    # What is above a join

    def _above_join(self, name: str, make: Callable[[str], str]) -> str:
        self._above = self._random.choice((self._windowed_join, self._read_join, self._read_join))
        return make(name)

    def _over_join(self, name: str, source: str, tail: str) -> str:
        """As in the base, unless something is to be above."""
        above, self._above = self._above, None
        if above is None or not any(column.is_temporal for column in self._columns):
            return super()._over_join(name, source, tail)
        self._is_over_join = True
        return above(name, source, tail)

    def _windowed_join(self, name: str, source: str, tail: str) -> str:
        """The bracket of a join's own times, behind the SELECT list."""
        column = self._random.choice([c for c in self._columns if c.is_temporal])
        ticks = CLOCKS.get(column.name.partition(".")[2])
        bracket = self._bracket_of(column.name, ticks)
        calls = [f"{self._aggregate()[0]} AS a{at}" for at in range(self._random.randint(1, 3))]
        groups = [f"{self._group()[0]} AS g{at}" for at in range(self._random.randint(0, 2))]
        shown = [self._pick("window_start", "window_end"), *(g.rpartition(" ")[2] for g in groups)]
        text = f"DEFINE {{ query_name {name}; }}\nSELECT {', '.join([*shown, *calls])}{bracket}"
        text += f"\n{source}{tail}"
        return text + (f"\nGROUP BY {', '.join(groups)}" if groups else "") + self._having()

    def _read_join(self, name: str, source: str, tail: str) -> str:
        """A selection of joined rows, or an aggregation of them, and a reader of that."""
        inner = f"DEFINE {{ query_name {name}_j; visibility internal; }}\n"
        if self._random.random() < 0.3:
            inner += self._grouped_join(source, tail)
        else:
            inner += self._selected_join(source, tail)
        return f"{inner};\n{self._reader(name, f'{name}_j')}"

    def _selected_join(self, source: str, tail: str) -> str:
        """Some columns; one of the temporal ones goes first."""
        moving = self._random.choice([c for c in self._columns if c.is_temporal])
        items = [moving, *self._random.sample(self._columns, min(4, len(self._columns)))]
        read = {_behind(column, at): column for at, column in reversed(list(enumerate(items)))}
        self._columns = [replace(column, name=name) for name, column in read.items()]
        shown = ", ".join(f"{column.name} AS {name}" for name, column in read.items())
        return f"SELECT {shown}\n{source}{tail}"

    def _grouped_join(self, source: str, tail: str) -> str:
        group, kind = self._group()
        text = f"SELECT w0, g0, count(*) AS n\n{source}{tail}"
        text += f"\nGROUP BY {self._moving()} AS w0, {group} AS g0"
        is_stamp = "timestamp" in text.rpartition("GROUP BY ")[2].partition(" AS w0")[0]
        self._columns = [Column("w0", TIMESTAMP if is_stamp else WHOLE, is_temporal=True)]
        self._columns += [Column("g0", kind), Column("n", WHOLE, is_small=True)]
        return text

    # What is below a join, and beside one

    def _merge_of_two_readers(self, name: str) -> str:
        """What one of them names is required for the other."""
        protocol = self._pick(*SHARED)
        clock = next(column for column in PROTOCOLS[protocol] if column.name == "time")
        texts = [self._merge(f"{name}_m", protocol, clock.name)]
        for reader in (name, f"{name}_b"):
            own = self._random.sample(PROTOCOLS[protocol], min(4, len(PROTOCOLS[protocol])))
            self._columns = list(dict.fromkeys([clock, *own]))
            texts.append(self._reader(reader, f"{name}_m"))
        return ";\n".join(texts)

    def _merge(self, name: str, protocol: str, clock: str) -> str:
        left, right = self._interfaces
        text = f"MERGE a.{clock} : b.{clock} FROM {left}.{protocol} a, {right}.{protocol} b"
        return f"DEFINE {{ query_name {name}; visibility internal; }}\n{text}"

    def _join_of_merges(self, name: str) -> str:
        """Merged links on one side or on both; both may be one merge."""
        protocol, clock = self._pick(*SHARED), self._pick("time", "time", "timestamp")
        columns = [c for c in PROTOCOLS[protocol] if c.name == clock]
        others = [c for c in PROTOCOLS[protocol] if c.name not in CLOCKS]
        columns += self._random.sample(others, min(len(others), 5))
        a = Side("a", f"{name}_m a", named("a", columns))
        b = replace(a, name="b", source=f"{name}_m b", columns=named("b", columns))
        if self._random.random() < 0.5:
            b = self.packet_side("b")
        times = EQUALITIES[:4] if clock == "time" else ("{a}.timestamp = {b}.timestamp",)
        bands = (f"{{a}}.{clock} >= {{b}}.{clock} - 2 AND {{a}}.{clock} <= {{b}}.{clock} + 1",)
        merge = self._merge(f"{name}_m", protocol, clock)
        return f"{merge};\n{self._joined(name, a, b, self._pick(*times, *bands))}"

    def _join_of_aggregations(self, name: str) -> str:
        """Of two interfaces', of a merge's, of windows, or of an aggregation's."""
        key, kind = self._random.choice(
            (("protocol", WHOLE), ("len", WHOLE), ("interface", STRING))
        )
        columns = [Column("w0", WHOLE, is_temporal=True), Column("k", kind)]
        columns.append(Column("n", WHOLE, is_small=True))
        makes = self._random.choice(
            (
                (self._window_side, self._window_side),
                (self._bucket_side, self._bucket_side),
                (self._bucket_side, self._merged_side),
                (self._twice_side, self._twice_side),
            )
        )
        texts = [
            make(f"{name}_{x}", interface, key)
            for make, x, interface in zip(makes, "ab", self._interfaces, strict=True)
        ]
        a, b = (Side(x, f"{name}_{x} {x}", named(x, columns)) for x in "ab")
        return ";\n".join([*texts, self._joined(name, a, b, self._pick(*BY_WINDOW))])

    def _window_side(self, name: str, interface: str, key: str) -> str:
        length, slide = self._random.choice(((10, 10), (20, 10), (10, 30), (6, 4)))
        self._columns = self._some(PROTOCOLS["IP"])
        head = f"DEFINE {{ query_name {name}; visibility internal; }}\n"
        bracket = f"[RANGE {length} s, SLIDE {slide} s, WA time]"
        text = f"SELECT window_start AS w0, k, count(*) AS n FROM {interface}.IP {bracket}"
        return f"{head}{text}{self._where()} GROUP BY {key} AS k"

    def _bucket_side(self, name: str, interface: str, key: str) -> str:
        self._columns = self._some(PROTOCOLS["IP"])
        head = f"DEFINE {{ query_name {name}; visibility internal; }}\n"
        text = f"SELECT w0, k, count(*) AS n FROM {interface}.IP{self._where()}"
        return f"{head}{text} GROUP BY time/10 AS w0, {key} AS k"

    def _merged_side(self, name: str, interface: str, key: str) -> str:
        text = f"DEFINE {{ query_name {name}; visibility internal; }}\n"
        text += f"SELECT w0, k, count(*) AS n FROM {name}_m GROUP BY time/10 AS w0, {key} AS k"
        return f"{self._merge(f'{name}_m', 'IP', 'time')};\n{text}"

    def _twice_side(self, name: str, interface: str, key: str) -> str:
        inner = self._bucket_side(f"{name}_in", interface, key)
        text = f"DEFINE {{ query_name {name}; visibility internal; }}\n"
        text += f"SELECT v AS w0, k, sum(n) AS n FROM {name}_in GROUP BY w0/2 AS v, k"
        return f"{inner};\n{text}"

    # Joins and merges of joins

    def _inner_join(self, name: str, interface: str) -> str:
        """Joined packets of a link with the other's: t and len of the first, ttl of the second."""
        protocol = self._pick("TCP", "UDP", "IP", "DataProtocol")
        other = next(each for each in self._interfaces if each != interface)
        head = f"DEFINE {{ query_name {name}; visibility internal; }}\n"
        text = f"{self._pick('', 'INNER_JOIN ', 'LEFT_OUTER_JOIN ')}"
        text += f"FROM {interface}.{protocol} a, {other}.{protocol} b WHERE a.srcIP = b.srcIP AND "
        text += self._pick(*EQUALITIES[:4]).format(a="a", b="b")
        return f"{head}SELECT a.time AS t, a.len AS len, b.ttl AS ttl\n{text}"

    def _join_over_join(self, name: str) -> str:
        """A join of a join's rows, with packets or with another's."""
        columns = [Column("t", WHOLE, is_temporal=True), Column("len", WHOLE, is_small=True)]
        columns.append(Column("ttl", WHOLE, is_small=True))
        texts = [
            self._inner_join(f"{name}_{x}", i) for x, i in zip("ab", self._interfaces, strict=True)
        ]
        a, b = (Side(x, f"{name}_{x} {x}", named(x, columns)) for x in "ab")
        times = self._pick(*BY_TIME)
        if self._random.random() < 0.5:
            b, texts = self.packet_side("b"), texts[:1]
            times = times.replace("{b}.t", "{b}.time")
        if self._random.random() < 0.5:
            self._above = self._read_join
        return ";\n".join([*texts, self._joined(name, a, b, times)])

    def _merge_of_joins(self, name: str) -> str:
        texts = [
            self._inner_join(f"{name}_{x}", i) for x, i in zip("ab", self._interfaces, strict=True)
        ]
        merge = f"MERGE a.t : b.t FROM {name}_a a, {name}_b b"
        if self._random.random() < 0.3:
            return ";\n".join([*texts, f"DEFINE {{ query_name {name}; }}\n{merge}"])
        texts.append(f"DEFINE {{ query_name {name}_m; visibility internal; }}\n{merge}")
        self._columns = [Column("t", WHOLE, is_temporal=True), Column("len", WHOLE, is_small=True)]
        self._columns.append(Column("ttl", WHOLE, is_small=True))
        self._is_over_join = True
        return ";\n".join([*texts, self._reader(name, f"{name}_m")])


def _behind(column: Column, at: int) -> str:
    """A clock keeps its name, by which its unit is known."""
    own = column.name.partition(".")[2]
    return f"t_{own}" if column.is_temporal and own in CLOCKS else f"c{at}"
