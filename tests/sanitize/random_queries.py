# SPDX-License-Identifier: Apache-2.0
"""Queries made at random, mostly of right types: whatever the checker passes must compile and run.

The maker knows the types that it means, not the checker's rules: what it makes wrongly is refused,
which is an answer too.
"""

from __future__ import annotations

from random import Random

from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.catalog.catalog import Catalog, Field, Function
from gigastream.gsql.types import Type

PROTOCOLS = ("PKT", "ETH", "IPV4", "IPV6", "IP", "DataProtocol", "TCP", "UDP", "ICMP")
NUMBERS = (Type.USHORT, Type.UINT, Type.INT, Type.ULLONG, Type.LLONG, Type.FLOAT)
INTEGERS = NUMBERS[:-1]
NUMBER_LITERALS = ("0", "1", "2", "7", "60", "255", "1500", "65535", "4294967295", "35UL", "0-1")
LARGE_LITERALS = ("9223372036854775807", "18446744073709551615ULL", "4294967296")
LITERALS: dict[Type, tuple[str, ...]] = {
    Type.BOOL: ("TRUE", "FALSE"),
    Type.FLOAT: ("0.0", "1.5", "1e300", "0.0-2.5", "1e-300"),
    Type.STRING: ("''", "'GET'", "'it''s'", "'a*b'", "'\\n%s\"'", "'" + "x" * 70 + "'"),
    Type.IP: ("IP_VAL'10.0.0.1'", "IP_VAL'0.0.0.0'", "IP_VAL'255.255.255.255'"),
    Type.IPV6: ("IPV6_VAL'2001:db8::1'", "IPV6_VAL'::'"),
    Type.INET: ("IP_VAL'10.0.0.1'", "IPV6_VAL'::1'"),
    Type.TIMESTAMP: ("CAST(0 AS timestamp)", "CAST(1700000000000000000 AS timestamp)"),
} | dict.fromkeys(INTEGERS, NUMBER_LITERALS + LARGE_LITERALS)
HANDLES = ("'GET.*HTTP'", "'^[a-z]+'", "''", "'(a|b)*c'", "'[^ ]+ '")
WINDOWS = (
    "time",
    "time/60",
    "time_ms/100",
    "timestamp/1000000000",
    "time_ms - 7",
    "time/5*5",
    "0 - time_ms/1000",
    "time_bucket('10 sec', timestamp)",
    "time + 1",
    "time_ms >> 12",
)
AGGREGATES = (
    "SUM",
    "MIN",
    "MAX",
    "AVG",
    "FIRST",
    "LAST",
    "COUNT",
    "VAR",
    "STDDEV",
    "AND_AGGR",
    "OR_AGGR",
    "XOR_AGGR",
)
ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class QueryMaker:
    """Makes queries; equal generators make equal queries."""

    def __init__(self, random: Random, catalog: Catalog | None = None) -> None:
        self._random = random
        self._catalog = catalog or load_catalog()
        self._columns: list[tuple[str, Type]] = []
        functions = list(self._catalog.all_functions)
        self._functions = [f for f in functions if not f.is_predicate and f.name != "getlpmid"]
        self._predicates = [f for f in functions if f.is_predicate]

    def query(self, name: str) -> str:
        """A query over a protocol, or two of which one reads the other."""
        if self._random.random() < 0.15:
            return self._query_of_query(name)
        fields = self._choose_fields()
        self._columns = [(field.name, field.type) for field in fields]
        protocol = self._protocol
        return f"DEFINE {{ query_name {name}; }} {self._body(protocol, WINDOWS)}"

    def _choose_fields(self) -> list[Field]:
        """Some fields: every one that is named must be there, so that few are left of many."""
        self._protocol = self._random.choice(PROTOCOLS)
        protocol = self._catalog.protocol(self._protocol)
        assert protocol is not None
        fields = list(protocol.fields.values())
        return self._random.sample(fields, min(len(fields), self._random.randint(2, 8)))

    def _query_of_query(self, name: str) -> str:
        fields = self._choose_fields()
        columns = ", ".join(f"{field.name} AS c{at}" for at, field in enumerate(fields))
        inner = (
            f"DEFINE {{ query_name {name}_inner; visibility internal; }} "
            f"SELECT time AS t, {columns} FROM {self._protocol}"
        )
        self._columns = [(f"c{at}", field.type) for at, field in enumerate(fields)]
        self._columns.append(("t", Type.UINT))
        body = self._body(f"{name}_inner", ("t", "t/60", "t + 5", "0 - t"))
        return f"{inner};\nDEFINE {{ query_name {name}; }} {body}"

    def _body(self, source: str, windows: tuple[str, ...]) -> str:
        return self._random.choice((self._selection, self._aggregation))(source, windows)

    def _selection(self, source: str, windows: tuple[str, ...]) -> str:
        outputs = [
            f"{self.expression(self._type())} AS o{at}" for at in range(self._random.randint(1, 5))
        ]
        return f"SELECT {', '.join(outputs)} FROM {source}{self._where()}"

    def _where(self) -> str:
        if self._random.random() < 0.5:
            return ""
        return f" WHERE {self.expression(Type.BOOL)}"

    def _aggregation(self, source: str, windows: tuple[str, ...]) -> str:
        groups = [f"{self._random.choice(windows)} AS w"]
        groups += [
            f"{self.expression(self._type(), 1)} AS g{at}"
            for at in range(self._random.randint(0, 3))
        ]
        names = [group.rsplit(" ", 1)[1] for group in groups]
        calls = [f"{self._aggregate()} AS a{at}" for at in range(self._random.randint(1, 4))]
        text = f"SELECT {', '.join([*names, *calls])} FROM {source}{self._where()}"
        text += f" GROUP BY {', '.join(groups)}"
        if self._random.random() < 0.3:
            text += f" HAVING {self._aggregate()} {self._random.choice(COMPARISONS)} 3"
        if self._random.random() < 0.3:
            text += f" ORDER BY a0 DESC, w LIMIT {self._random.randint(1, 9)}"
        return text

    def _aggregate(self) -> str:
        if self._random.random() < 0.2:
            return "count(*)"
        return f"{self._random.choice(AGGREGATES)}({self.expression(self._type(), 1)})"

    def _type(self) -> Type:
        if self._random.random() < 0.6:
            return self._random.choice(self._columns)[1]
        return self._random.choice(list(Type))

    def expression(self, type_: Type, depth: int = 3) -> str:
        """An expression that is meant to have this type."""
        if depth == 0 or self._random.random() < 0.3:
            return self._leaf(type_)
        makers = [self._leaf, self._conditional, self._call]
        if type_ is Type.BOOL:
            makers += [self._comparison, self._logic, self._predicate, self._membership]
        elif type_.is_numeric:
            makers += [self._arithmetic, self._arithmetic, self._cast]
        maker = self._random.choice(makers)
        return maker(type_) if maker == self._leaf else maker(type_, depth - 1)

    def _leaf(self, type_: Type, depth: int = 0) -> str:
        fitting = [name for name, own in self._columns if own is type_]
        if fitting and self._random.random() < 0.8:
            return self._random.choice(fitting)
        return self._random.choice(LITERALS[type_])

    def _conditional(self, type_: Type, depth: int) -> str:
        condition = self.expression(Type.BOOL, depth)
        yes, no = self.expression(type_, depth), self.expression(type_, depth)
        forms = (
            f"IF({condition}, {yes}, {no})",
            f"CASE WHEN {condition} THEN {yes} ELSE {no} END",
            f"CASE WHEN {condition} THEN {yes} END",
        )
        return self._random.choice(forms)

    def _call(self, type_: Type, depth: int) -> str:
        fitting = [f for f in self._functions if f.result is type_]
        if not fitting:
            return self._leaf(type_)
        return self._called(self._random.choice(fitting), "()", depth)

    def _predicate(self, type_: Type, depth: int) -> str:
        return self._called(self._random.choice(self._predicates), "[]", depth)

    def _called(self, function: Function, brackets: str, depth: int) -> str:
        arguments = []
        for position, parameter in enumerate(function.parameters):
            if position == function.handle:
                arguments.append(self._random.choice(HANDLES))
            elif position in function.constants:
                arguments.append(self._random.choice(("0", "8", "24", "32", "128", "129")))
            else:
                arguments.append(self.expression(parameter, depth))
        return f"{function.name}{brackets[0]}{', '.join(arguments)}{brackets[1]}"

    def _arithmetic(self, type_: Type, depth: int) -> str:
        operator = self._random.choice(ARITHMETIC[:4] if type_ is Type.FLOAT else ARITHMETIC)
        return f"({self.expression(type_, depth)} {operator} {self.expression(type_, depth)})"

    def _cast(self, type_: Type, depth: int) -> str:
        return f"CAST({self.expression(self._random.choice(NUMBERS), depth)} AS {type_})"

    def _comparison(self, type_: Type, depth: int) -> str:
        of = self._type()
        left, right = self.expression(of, depth), self.expression(of, depth)
        if self._random.random() < 0.2:
            return f"({left} BETWEEN {right} AND {self._leaf(of)})"
        return f"({left} {self._random.choice(COMPARISONS)} {right})"

    def _logic(self, type_: Type, depth: int) -> str:
        left, right = self.expression(Type.BOOL, depth), self.expression(Type.BOOL, depth)
        forms = (
            f"({left} AND {right})",
            f"({left} OR {right})",
            f"(NOT {left})",
            f"({left} IS NULL)",
        )
        return self._random.choice(forms)

    def _membership(self, type_: Type, depth: int) -> str:
        of = self._type()
        if of.is_address:
            return f"{self.expression(of, depth)} IN IP_VAL'10.0.0.0/8'"
        literals = ", ".join(self._random.choice(LITERALS[of]) for _ in range(3))
        return f"{self.expression(of, depth)} IN [{literals}]"
