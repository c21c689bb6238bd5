# SPDX-License-Identifier: Apache-2.0
"""Queries made at random, of right types by construction; equal generators make equal queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.answers.kept_maker import kept

WHOLE, FLOAT, BOOL, STRING, TIMESTAMP = "whole", "float", "bool", "string", "timestamp"
IP, IPV6, INET = "IP", "IPV6", "INET"
ADDRESSES = (IP, IPV6, INET)
KINDS = (WHOLE, WHOLE, WHOLE, FLOAT, BOOL, STRING)


@dataclass(frozen=True)
class Column:
    """A name that expressions may use; of a small one sums and squares stay exact."""

    name: str
    kind: str
    is_temporal: bool = False
    is_small: bool = False


def _small(*names: str) -> list[Column]:
    return [Column(name, WHOLE, is_small=True) for name in names]


PACKET = [
    Column("time", WHOLE, is_temporal=True),
    Column("time_ms", WHOLE, is_temporal=True),
    Column("timestamp", TIMESTAMP, is_temporal=True),
    *_small("len", "caplen", "packet_id"),
    Column("interface", STRING),
]
LINK = _small("etherType", "vlan", "inner_vlan")
NETWORK = _small("ipversion", "ttl", "tos", "protocol", "total_length", "hdr_length")
FRAGMENT = [*_small("id", "offset"), Column("more_frag", BOOL)]
PORTS = _small("srcPort", "destPort", "data_length")
FLAGS = [Column(name, BOOL) for name in ("syn", "ack", "fin", "rst", "psh")]


def _addresses(kind: str) -> list[Column]:
    return [Column("srcIP", kind), Column("destIP", kind)]


_IP = [*PACKET, *LINK, *NETWORK, *FRAGMENT, *_addresses(INET)]
PROTOCOLS: dict[str, list[Column]] = {
    "PKT": PACKET,
    "ETH": [*PACKET, *LINK, *_small("srcMAC", "mpls_label")],
    "IPV4": [*PACKET, *LINK, *NETWORK, *FRAGMENT, *_addresses(IP)],
    "IPV6": [*PACKET, *LINK, *NETWORK, *_small("flow_label"), *_addresses(IPV6)],
    "IP": _IP,
    "DataProtocol": [*_IP, *PORTS],
    "TCP": [*_IP, *PORTS, *FLAGS, *_small("flags", "window"), Column("TCP_data", STRING)],
    "UDP": [*_IP, *PORTS, Column("UDP_data", STRING)],
    "ICMP": [*_IP, *_small("icmp_type", "icmp_code")],
}
UNIONS = (("TCP", "UDP"), ("ICMP", "DataProtocol"), ("TCP", "IP"))

NUMBERS = ("0", "1", "2", "7", "64", "100", "255", "1500", "65535", "35UL", "9ULL", "HEX'ff0f'")
BEYOND = ("9223372036854775808", "18446744073709551615", "-1", "-9223372036854775808")
"""What no signed number, or no unsigned one, is."""
TEXTS = ("'GET'", "'one two'", "''", "'a,b'", "'left'")
LITERALS = {
    BOOL: ("TRUE", "FALSE"),
    FLOAT: ("0.5", "1e3", "2.25"),
    STRING: TEXTS,
    IP: ("IP_VAL'10.0.0.1'", "IP_VAL'10.0.0.3'"),
    IPV6: ("IPV6_VAL'2001:db8::1'", "IPV6_VAL'::ffff:10.0.0.1'"),
    INET: ("IP_VAL'10.0.0.2'", "IPV6_VAL'2001:db8::'"),
    TIMESTAMP: ("CAST(1700000100000000000 AS timestamp)",),
    WHOLE: NUMBERS,
}
PREFIXES = {
    IP: ("IP_VAL'10.0.0.0/30'", "IP_VAL'0.0.0.0/0'"),
    IPV6: ("IPV6_VAL'2001:db8::/127'", "IPV6_VAL'::/96'", "IPV6_VAL'::/3'"),
    INET: ("IP_VAL'10.0.0.0/31'", "IPV6_VAL'2001:db8::/32'", "IPV6_VAL'::ffff:0:0/100'",
           "IPV6_VAL'::/0'"),
}  # fmt: skip
WHOLE_OF_WHOLE = ("abs({})", "UMIN({}, 1000)", "UMAX({}, 7)", "CAST({} AS llong)", "UINT({})",
                  "CAST({} AS ushort)", "INT({} / 2)", "ULLONG({})", "non_temporal({})",
                  "coalesce({}, 5)", "coalesce(nullif({}, 64), 100)", "nullif({}, 6)",
                  "greatest({}, 90)", "least({}, 200, 300)", "hour(UINT({}))", "second(UINT({}))",
                  "coalesce({}, 100 / ({} - 64))")  # fmt: skip
WHOLE_OF_STRING = ("str_length({})", "length({})", "strpos({}, 'e')", "get_byte({}, 2)",
                   "get_bit({}, 9)", "coalesce(nullif(length({}), 0), 7)")  # fmt: skip
WHOLE_OF_TIME = ("extract('minute', {})", "day({})", "dayofweek({})", "epoch_ms({})",
                 "millisecond({})", "week({})")  # fmt: skip
STRING_OF_STRING = ("upper({})", "lower({})", "str_truncate({}, 5)", "str_suffix({}, 4)",
                    "to_hex_string({})", "get_list_entry({}, ' ', 1)", "substring({}, 2, 4)",
                    "substring({}, -5)", "left({}, -2)", "right({}, 3)", "split_part({}, 'e', -1)",
                    "trim({})", "ltrim({}, 'GET ')", "replace({}, 'e', '--')", "reverse({})",
                    "lpad({}, 7, '.')", "rpad({}, 5, 'ab')", "repeat(left({}, 3), 2)", "hex({})",
                    "printable({})", "from_base64(to_base64({}))", "unhex({})",
                    "concat('<', {}, NULL, '>')", "coalesce(nullif({}, ''), 'none')",
                    "greatest({}, 'GET')")  # fmt: skip
PATTERNS = ("LIKE 'GET%'", "NOT LIKE '%e'", "LIKE '%e%'", "ILIKE '%Ft'", "LIKE '_e%'", "LIKE ''",
            "~ '^[A-Z]+'", "!~ 'e+f?'", "LIKE 'one two'", "LIKE '%#_%' ESCAPE '#'")  # fmt: skip
KINDS_OF_ADDRESSES = ("is_private({})", "is_multicast({})", "NOT is_link_local({})",
                      "is_loopback({})", "family({}) = 4")  # fmt: skip
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
CASTS = ("uint", "int", "llong", "ullong", "ushort", "float")

SECONDS = ("{}/60", "{}/7*7", "{} >> 5", "{} & LHEX'fffffffffffffff0'", "2*{}/45", "0-{}/20",
           "-{}/60", "({} - 17)/30", "UMAX({}, 1700000130)/10", "UMIN({}/30, {}/20)",
           "CAST({} AS llong)/50", "{} + {}/10", "{}", "2000000000 - {}/15")  # fmt: skip
MILLISECONDS = ("{}/1500", "{}/60000", "0 - {}/30000", "{} >> 14")
NANOSECONDS = ("time_bucket('10 sec', {})", "time_bucket('1 min', {} + 5000000000)",
               "{} / 20000000000")  # fmt: skip


class QueryMaker:
    """Makes sets of queries: over protocols, over each other, over unions of both."""

    def __init__(self, random: Random, interfaces: Sequence[str]) -> None:
        self._random = random
        self._interfaces = interfaces
        self._columns: list[Column] = []

    def query_set(self, count: int) -> list[str]:
        """So many texts, each a query with those that it reads."""
        return [self._text(f"q{number}") for number in range(count)]

    def _text(self, name: str) -> str:
        kind = self._random.random()
        if kind < 0.6:
            return self._over_packets(name, "")[0]
        if kind < 0.9:
            return self._over_query(name)
        return self._over_union(name)

    # Sources

    def _over_packets(self, name: str, options: str) -> tuple[str, list[Column]]:
        protocols: Sequence[str] = [self._random.choice(list(PROTOCOLS))]
        if self._random.random() < 0.12:
            protocols = self._random.choice(UNIONS)
        shared = [set(PROTOCOLS[protocol]) for protocol in protocols]
        columns = [c for c in PROTOCOLS[protocols[0]] if all(c in others for others in shared)]
        where = self._random.choice(("", "", "", *(f"{i}." for i in self._interfaces)))
        source = " UNION ".join(f"{where}{protocol}" for protocol in protocols)
        self._columns = self._some(columns)
        return self._query(name, source, options)

    def _some(self, columns: Sequence[Column]) -> list[Column]:
        """A few, since a packet must have every field that is named; one of them is temporal."""
        chosen = self._random.sample(list(columns), min(len(columns), 5))
        temporal = [column for column in columns if column.is_temporal]
        return list(dict.fromkeys([self._random.choice(temporal), *chosen]))

    def _over_query(self, name: str) -> str:
        options = self._random.choice(("", " visibility internal;"))
        inner, columns = self._over_packets(f"{name}_in", options)
        if not any(column.is_temporal for column in columns):
            return inner.replace(f"{name}_in", name).replace(" visibility internal;", "")
        self._columns = columns
        return f"{inner};\n{self._query(name, f'{name}_in', '')[0]}"

    def _over_union(self, name: str) -> str:
        """Two selections of the same columns, read as one."""
        self._columns = [Column("time", WHOLE, is_temporal=True), *_small("len", "packet_id")]
        inputs = []
        for part, protocol in zip("ab", self._random.sample(sorted(PROTOCOLS), 2), strict=True):
            text = f"SELECT time, len, packet_id FROM {protocol}{self._where()}"
            inputs.append(f"DEFINE {{ query_name {name}_{part}; visibility internal; }} {text}")
        outer = self._query(name, f"{name}_a UNION {name}_b", "")[0]
        return ";\n".join([*inputs, outer])

    # Queries: the text, and the columns of the answer

    def _query(self, name: str, source: str, options: str) -> tuple[str, list[Column]]:
        kind = self._random.random()
        make = self._selection if kind < 0.35 else self._aggregation
        make = self._distinct if kind > 0.9 else make
        body, columns = make(source)
        return f"DEFINE {{ query_name {name};{options} }}\n{body}", columns

    def _selection(self, source: str) -> tuple[str, list[Column]]:
        temporal = self._random.choice([c for c in self._columns if c.is_temporal])
        columns = [Column("o0", temporal.kind, is_temporal=True)]
        items = [f"{temporal.name} AS o0"]
        for at in range(1, self._random.randint(2, 5)):
            kind = self._kind()
            items.append(f"{self.expression(kind)} AS o{at}")
            columns.append(Column(f"o{at}", kind))
        return f"SELECT {', '.join(items)}\nFROM {source}{self._where()}", columns

    def _where(self) -> str:
        if self._random.random() < 0.4:
            return ""
        return f"\nWHERE {self.expression(BOOL)}"

    def _aggregation(self, source: str) -> tuple[str, list[Column]]:
        groups, columns = self._groups()
        calls = [self._aggregate() for _ in range(self._random.randint(1, 4))]
        calls += [kept(self._random, self._columns, self.expression)] * (len(calls) == 2)
        items = [column.name for column in columns]
        if self._random.random() < 0.25:
            groups, rolled_up = self._in_sets(groups)
            items += [f"grouping({', '.join(rolled_up)}) AS lacks"] if rolled_up else []
            columns += [Column("lacks", WHOLE, is_small=True)] if rolled_up else []
        for at, (call, kind) in enumerate(calls):
            items.append(f"{call} AS a{at}")
            columns.append(Column(f"a{at}", kind))
        text = f"SELECT {', '.join(items)}\nFROM {source}{self._where()}"
        text += f"\nGROUP BY {', '.join(groups)}{self._having()}"
        return text + self._order(columns), columns

    def _groups(self) -> tuple[list[str], list[Column]]:
        groups, columns = [], []
        for at in range(self._random.choice((1, 1, 1, 2))):
            window, kind = self._window()
            groups.append(f"{window} AS w{at}")
            columns.append(Column(f"w{at}", kind, is_temporal=True))
        for at in range(self._random.randint(0, 3)):
            group, kind = self._group()
            groups.append(f"{group} AS g{at}")
            columns.append(Column(f"g{at}", kind))
        return groups, columns

    def _in_sets(self, groups: Sequence[str]) -> tuple[list[str], list[str]]:
        """The group variables that are no windows in sets, and their names."""
        windows = [group for group in groups if group.rpartition(" ")[2][0] == "w"]
        others = [group.rpartition(" AS ") for group in groups if group not in windows]
        written = [f"non_temporal({text}) AS {name}" for text, _, name in others]
        names = [name for _, _, name in others]
        if not names:
            return windows, names
        form = self._pick("CUBE", "ROLLUP", "GROUPING_SETS", "both")
        if form == "both":
            return [*windows, f"CUBE({written[0]})", *(f"ROLLUP({w})" for w in written[1:])], names
        if form != "GROUPING_SETS":
            return [*windows, f"{form}({', '.join(written)})"], names
        chosen = ([n for n in names if self._pick("", "x")] for _ in range(3))
        sets = "".join(f", ({', '.join(some)})" for some in chosen)
        return [*windows, f"GROUPING_SETS(({', '.join(written)}){sets})"], names

    def _group(self) -> tuple[str, str]:
        """An expression that is no constant, and its kind."""
        names = {column.name for column in self._columns}
        while True:
            kind = self._kind()
            text = self.expression(kind, self._random.choice((0, 1, 1, 2)))
            if names & set(re.findall(r"\w+", text)):
                return text, kind

    def _window(self) -> tuple[str, str]:
        column = self._random.choice([c for c in self._columns if c.is_temporal])
        if column.kind == TIMESTAMP:
            form = self._random.choice(NANOSECONDS)
            return form.replace("{}", column.name), WHOLE if "/" in form else TIMESTAMP
        forms = MILLISECONDS if column.name == "time_ms" else SECONDS
        return self._random.choice(forms).replace("{}", column.name), WHOLE

    def _aggregate(self) -> tuple[str, str]:
        """A call and the kind of its result."""
        makers: tuple[Callable[[], tuple[str, str]], ...] = (
            lambda: ("count(*)", WHOLE),
            lambda: (f"count({self.expression(self._kind(), 1)})", WHOLE),
            lambda: (f"count(DISTINCT {self.expression(self._kind(), 1)})", WHOLE),
            lambda: (f"sum({self._pick('', '', 'DISTINCT ')}{self._summable()})", WHOLE),
            lambda: (f"sum({self._small_name()} * {self._pick('0.5', '0.1', '1e306')})", FLOAT),
            lambda: (f"avg({self.expression(WHOLE, 1)})", FLOAT),
            lambda: (f"{self._pick('var', 'stddev')}({self._varied()})", FLOAT),
            lambda: (f"{self._pick('and', 'or', 'xor')}_aggr({self.expression(WHOLE, 1)})", WHOLE),
            self._extreme,
            self._end,
        )
        call, kind = self._random.choice(makers)()
        if self._random.random() < 0.25:
            call = f"{call} FILTER (WHERE {self.expression(BOOL, 2)})"
        return call, kind

    def _summable(self) -> str:
        name = self._small_name()
        forms = ("{}", "{} + 1", "{} - 100", "100 - {}", "{} * 3", "{} / (len_ - 64)",
                 "CASE WHEN {} > 80 THEN {} END")  # fmt: skip
        return self._random.choice(forms).replace("len_", name).replace("{}", name)

    def _varied(self) -> str:
        """Times and floats too: their squares are exact."""
        number = self._field(self._pick(WHOLE, WHOLE, TIMESTAMP))
        return self._pick("{}", "{}", "({} / 4.0)").format(number if number[0] != "C" else "1")

    def _small_name(self) -> str:
        small = [column.name for column in self._columns if column.is_small]
        return self._random.choice(small) if small else "1"

    def _extreme(self) -> tuple[str, str]:
        kinds = [c.kind for c in self._columns if c.kind in (*ADDRESSES, TIMESTAMP)]
        kind = self._random.choice([*kinds, WHOLE, WHOLE])
        return f"{self._pick('min', 'max')}({self.expression(kind, 1)})", kind

    def _end(self) -> tuple[str, str]:
        kind = self._kind()
        value = self.expression(kind, 1)
        if self._random.random() < 0.4:
            kinds = [c.kind for c in self._columns if c.kind in (*ADDRESSES, TIMESTAMP)]
            by = self.expression(self._pick(*kinds, WHOLE, WHOLE, FLOAT), 1)
            return f"{self._pick('arg_min', 'arg_max')}({value}, {by})", kind
        return f"{self._pick('first', 'last', 'any_value')}({value})", kind

    def _having(self) -> str:
        if self._random.random() < 0.6:
            return ""
        tests = ("count(*) > 2", "count(*) % 2 = 0", "max(len_) > 100", "NOT sum(len_) < 300",
                 "sum(len_) / (count(*) - 1) > 90", "count(*) BETWEEN 2 AND 9")  # fmt: skip
        test = self._random.choice(tests).replace("len_", self._small_name())
        return f"\nHAVING {test}"

    def _order(self, columns: Sequence[Column]) -> str:
        if self._random.random() < 0.6:
            return ""
        sortable = [column.name for column in columns if column.kind != FLOAT]
        keys = self._random.sample(sortable, min(len(sortable), self._random.randint(1, 2)))
        order = ", ".join(f"{key}{self._pick('', ' ASC', ' DESC')}" for key in keys)
        limit = self._pick("", " LIMIT 1", " LIMIT 3", " LIMIT 0")
        if limit and self._random.random() < 0.4:
            limit += f" PER {self._pick(*sortable)}"
        return f"\nORDER BY {order}{limit}"

    def _distinct(self, source: str) -> tuple[str, list[Column]]:
        groups, columns = self._groups()
        text = f"SELECT DISTINCT {', '.join(groups)}\nFROM {source}{self._where()}"
        return text + self._order(columns), columns

    # Expressions

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _kind(self) -> str:
        if self._random.random() < 0.6:
            return self._random.choice(self._columns).kind
        return self._random.choice(KINDS)

    def expression(self, kind: str, depth: int = 3) -> str:
        """An expression of a kind, in brackets where an operator could take it apart."""
        if depth == 0 or self._random.random() < 0.35:
            return self._leaf(kind)
        makers = {
            WHOLE: (self._arithmetic, self._arithmetic, self._whole_call, self._conditional),
            FLOAT: (self._float_call, self._conditional),
            BOOL: (self._comparison, self._comparison, self._logic, self._membership),
            STRING: (self._string_call, self._conditional),
            TIMESTAMP: (self._moved, self._conditional),
        }
        chosen = makers.get(kind, (self._address_call, self._conditional))
        return self._random.choice(chosen)(kind, depth - 1)

    def _leaf(self, kind: str) -> str:
        fitting = [column.name for column in self._columns if column.kind == kind]
        if fitting and self._random.random() < 0.8:
            return self._random.choice(fitting)
        if kind == FLOAT and self._random.random() < 0.7:
            return f"({self._small_name()} / 4.0)"
        if kind == BOOL and self._random.random() < 0.9:
            number = self._pick(*NUMBERS, *BEYOND)
            return f"{self._field(WHOLE)} {self._pick(*COMPARISONS)} {number}"
        return self._random.choice(LITERALS[kind])

    def _field(self, kind: str) -> str:
        """A column where there is one: constants alone are for the checker."""
        fitting = [column.name for column in self._columns if column.kind == kind]
        return self._random.choice(fitting) if fitting else self._leaf(kind)

    def _arithmetic(self, kind: str, depth: int) -> str:
        left = self._field(WHOLE) if depth < 2 else self.expression(WHOLE, depth)
        right = self.expression(WHOLE, depth)
        form = self._pick(
            *(
                "({} + {})",
                "({} - {})",
                "({} * 3 - {})",
                "({} / ({} + 1))",
                "({} / ({} - 64))",
                "({} % 97 + {})",
            ),
            *("({} & {})", "({} | {})", "({} ^ {})", "(({} >> 3) + {})", "({} << ({} & 7))"),
            *("(-({}) + {})", "(~{} & {})", "{} / 3 * 2 - {} % 5", "({} + 1 << 2 | {})"),
        )
        text = form.format(left, right)
        return text if text.startswith("(") else f"({text})"

    def _whole_call(self, kind: str, depth: int) -> str:
        kind = self._pick(*[WHOLE] * 7, STRING, STRING, TIMESTAMP)
        forms = {STRING: WHOLE_OF_STRING, TIMESTAMP: WHOLE_OF_TIME}.get(kind, WHOLE_OF_WHOLE)
        return self._pick(*forms).replace("{}", self.expression(kind, depth))

    def _float_call(self, kind: str, depth: int) -> str:
        name = self._small_name()
        forms = ("({} * 0.25)", "sqrt({})", "log({})", "FLOAT({})", "({} / 3.0)", "floor({} / 7.0)",
                 "round({} / 2.0)", "pow({}, 0.5)", "({} / ({} - 64.0))",
                 "({} * 1e306)")  # fmt: skip
        return self._random.choice(forms).replace("{}", name)

    def _string_call(self, kind: str, depth: int) -> str:
        if self._random.random() < 0.2:
            name = self._pick("to_hex_string({})", "hex({})").format(self._small_name())
            moment = f"strftime({self._field(TIMESTAMP)}, '%Y-%m-%d %H:%M:%S %j')"
            return self._pick(name, moment)
        return self._pick(*STRING_OF_STRING).format(self.expression(STRING, depth))

    def _address_call(self, kind: str, depth: int) -> str:
        return f"prefix({self.expression(kind, depth)}, {self._pick('0', '24', '30', '31', '128')})"

    def _moved(self, kind: str, depth: int) -> str:
        amount = self._pick("1000", "len_").replace("len_", self._small_name())
        if self._random.random() < 0.4:
            unit = self._pick("second", "minute", "hour", "day", "week", "month", "quarter", "year")
            return f"date_trunc('{unit}', {self._field(TIMESTAMP)})"
        return f"({self._field(TIMESTAMP)} {self._pick('+', '-')} {amount})"

    def _conditional(self, kind: str, depth: int) -> str:
        condition = self.expression(BOOL, depth)
        yes, no = self.expression(kind, depth), self.expression(kind, depth)
        form = self._pick(
            "IF({0}, {1}, {2})",
            "CASE WHEN {0} THEN {1} ELSE {2} END",
            "CASE WHEN {0} THEN {1} END",
            "CASE WHEN {0} THEN {1} WHEN {3} THEN {2} END",
        )
        return form.format(condition, yes, no, self.expression(BOOL, 0))

    def _comparison(self, kind: str, depth: int) -> str:
        of = self._random.choice(self._columns).kind
        if of == BOOL:
            return self._field(BOOL)
        if of in ADDRESSES and self._random.random() < 0.3:
            return self._pick(*KINDS_OF_ADDRESSES).format(self._field(of))
        if of == STRING and self._random.random() < 0.5:
            return f"{self._field(of)} {self._pick(*PATTERNS)}"
        left = self._field(of) if depth < 2 else self.expression(of, depth)
        right = self.expression(of, depth)
        if self._random.random() < 0.2:
            return f"{left} BETWEEN {right} AND {self._leaf(of)}"
        return f"{left} {self._pick(*COMPARISONS)} {right}"

    def _logic(self, kind: str, depth: int) -> str:
        left, right = self.expression(BOOL, depth), self.expression(BOOL, depth)
        form = self._pick(
            *(
                "({0} AND {1})",
                "({0} OR {1})",
                "NOT ({0})",
                "({0}) IS NULL",
                "({0} AND {1} OR {2})",
            ),
            *("(NOT {0} AND {1})", "({0} OR {1} AND {2})", "NOT ({0} OR {1})"),
        )
        return form.format(_bracketed(left), _bracketed(right), _bracketed(self._leaf(BOOL)))

    def _membership(self, kind: str, depth: int) -> str:
        of = self._random.choice(self._columns).kind
        if of in ADDRESSES and self._random.random() < 0.7:
            return f"{self._field(of)} {self._pick('', 'NOT ')}IN {self._pick(*PREFIXES[of])}"
        if of in (BOOL, TIMESTAMP, FLOAT):
            return self._comparison(kind, depth)
        values = self._random.sample(LITERALS[of], 2)
        return f"{self._field(of)} {self._pick('', 'NOT ')}IN [{', '.join(values)}]"


def _bracketed(condition: str) -> str:
    return f"({condition})" if " " in condition else condition
