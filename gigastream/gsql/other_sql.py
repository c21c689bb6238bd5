# SPDX-License-Identifier: Apache-2.0
"""What SQL has elsewhere and GSQL has not: what is written here instead, for hints.

DuckDB's and Postgres' words, functions and types, and the names that other tools give columns.
"""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import UTC, datetime

from gigastream.gsql.diagnostics import printable
from gigastream.gsql.durations import NANOSECONDS_OF_UNIT, duration_ns

NO_INSTANTS = "times have no literals"

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MAC = r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}"
_IP_PROTOCOLS = {
    "icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "ipv6": 41, "gre": 47, "esp": 50, "ah": 51,
    "icmpv6": 58, "icmp6": 58, "eigrp": 88, "ospf": 89, "pim": 103, "vrrp": 112, "sctp": 132,
}  # fmt: skip
_MOST_DIGITS = 20
_TOP = "LIMIT k PER g keeps the first k rows of each group of a window"

CLAUSE_WORDS = {
    "EXCEPT": "FROM a LEFT JOIN b ON a.t = b.t AND a.x = b.x WHERE b.x IS NULL, of two queries",
    "FETCH": "LIMIT 3",
    "FILTER": "behind an aggregate, and in brackets: count(*) FILTER (WHERE x > 1)",
    "INTERSECT": "FROM a JOIN b ON a.t = b.t AND a.x = b.x, of two queries",
    "IS": "x IS NULL, x IS NOT NULL; x = y is NULL where one of them is",
    "NULLS": "NULL stands below everything: first as ASC, last as DESC",
    "OFFSET": "LIMIT 10 keeps the first 10 rows of each window: none can be passed over",
    "OVER": f"windows are GROUP BY time/60, or [RANGE 5 min, SLIDE 1 min] behind FROM; {_TOP}",
    "QUALIFY": _TOP,
    "SAMPLE": "WHERE rsample(packet_id, 100) and its CLEANING_BY sample",
    "SETS": "one word: GROUPING_SETS((a, b), (b))",
    "TABLESAMPLE": "WHERE rsample(packet_id, 100) and its CLEANING_BY sample",
    "USING": "ON a.time = b.time",
    "WINDOW": "[RANGE 5 min, SLIDE 1 min] behind FROM",
    "WITHIN": "quantile_of(x, 0.5), median_of(x)",
}
"""Where a clause ends. What stands in brackets behind them is none of ours either."""

STATEMENTS = {
    "CREATE": "a query has a name by DEFINE { query_name hosts; }, others read it FROM hosts",
    "DESCRIBE": "gigastream check FILE.gsql, gigastream fields IPV4",
    "EXPLAIN": "gigastream explain FILE.gsql",
    "FROM": "SELECT stands first: SELECT … FROM …",
    "DELETE": "a stream is read, and never changed",
    "INSERT": "gigastream run FILE.gsql -o duckdb:PATH writes a table",
    "SHOW": "gigastream queries, gigastream fields",
    "VALUES": "rows from elsewhere are a STREAM or a WATCHLIST",
}
"""With which a statement begins."""

TYPED_TEXTS = frozenset(("CIDR", "DATE", "INET", "INTERVAL", "TIMESTAMP", "TIMESTAMPTZ"))
"""Types with a text behind them."""

WRITTEN_HERE = {
    "age": "epoch(x) - epoch(y)",
    "approx_distinct": "approx_count_distinct(x)",
    "approx_quantile": "quantile_of(x, 0.5)",
    "approx_top_k": "heavy_hitters(x, 10)",
    "argmax": "arg_max(x, y)",
    "argmin": "arg_min(x, y)",
    "bit_and": "and_aggr(x)",
    "bit_or": "or_aggr(x)",
    "bit_xor": "xor_aggr(x)",
    "bool_and": "and_aggr(x)",
    "bool_or": "or_aggr(x)",
    "char_length": "length(x)",
    "concat_ws": "concat(x, ', ', y)",
    "count_if": "count(*) FILTER (WHERE x)",
    "countif": "count(*) FILTER (WHERE x)",
    "date_diff": "epoch(x) - epoch(y)",
    "datediff": "epoch(x) - epoch(y)",
    "first_value": "first(x)",
    "group_concat": "string_agg(x, ', ')",
    "host": "text(x)",
    "iff": "IF(p, x, y)",
    "inet_ntoa": "text(x)",
    "last_value": "last(x)",
    "list": "array_agg(x)",
    "listagg": "string_agg(x, ', ')",
    "ln": "log(x)",
    "max_by": "arg_max(x, y)",
    "mean": "avg(x)",
    "median": "median_of(x)",
    "min_by": "arg_min(x, y)",
    "network": "prefix(x, 24)",
    "percentile": "quantile_of(x, 0.99)",
    "percentile_cont": "quantile_of(x, 0.5)",
    "percentile_disc": "quantile_of(x, 0.5)",
    "power": "pow(x, y)",
    "quantile": "quantile_of(x, 0.5)",
    "quantile_cont": "quantile_of(x, 0.5)",
    "quantile_disc": "quantile_of(x, 0.5)",
    "regexp_extract": "str_extract_regex(x, 'pattern')",
    "regexp_like": "x ~ 'pattern'",
    "stddev_samp": "stddev(x)",
    "to_char": "strftime(x, '%Y-%m-%d')",
    "try_cast": "CAST(x AS int)",
    "tumble": "time_bucket('1 min', timestamp)",
    "uniq": "approx_count_distinct(x)",
    "var_samp": "var(x)",
    "variance": "var(x)",
}
"""Functions: how the same is called."""

_OF_WINDOWS = "a join of a query with itself relates windows: ON a.tb = b.tb + 1"
_CLOCK = "there is no clock but that of the packets: time, timestamp"
_OWN = "a function of your own can: docs/extensions.md"

_ABOUT = {
    **dict.fromkeys(("lag", "lead"), _OF_WINDOWS),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile"), _TOP),
    **dict.fromkeys(("now", "current_timestamp", "current_date", "today"), _CLOCK),
    **dict.fromkeys(("md5", "sha1", "sha256"), f"string_hash(x) is 64 bits; {_OWN}"),
    **dict.fromkeys(("corr", "covar_samp", "covar_pop", "regr_slope", "entropy", "kurtosis"), _OWN),
    **dict.fromkeys(("var_pop", "stddev_pop"), "var(x) and stddev(x) are of the sample"),
    **dict.fromkeys(("random", "rand"), "rsample and ssample draw, by a seed: docs/gsql.md"),
    **dict.fromkeys(("hop", "session"), "windows: FROM PKT [RANGE 5 min, SLIDE 1 min]"),
    **dict.fromkeys(("strptime", "to_date"), "times are numbers here: compare time with one"),
    **dict.fromkeys(("mad", "skewness", "product", "geomean"), _OWN),
    **dict.fromkeys(("unnest", "list_distinct", "array_length"), "array_agg(x) is a text, no list"),
    **dict.fromkeys(("any", "all", "some"), "x IN [1, 2]"),
    "exists": "join it: FROM a JOIN b ON a.t = b.t AND a.x = b.x; a FILTER_JOIN looks back only",
    "regexp_replace": f"replace(x, 'from', 'to'), of texts alone; {_OWN}",
}
"""Functions of which there is no twin: what comes near."""

_TYPES = {
    "ushort": ("usmallint", "uint16"),
    "int": ("integer", "int4", "int32", "smallint", "short", "int2"),
    "uint": ("uinteger", "uint32"),
    "llong": ("bigint", "long", "int8", "int64"),
    "ullong": ("ubigint", "uint64"),
    "float": ("double", "real", "numeric", "decimal", "float4", "float8"),
    "bool": ("boolean",),
}
_TYPE_OF = {other: here for here, others in _TYPES.items() for other in others}
_TEXTS = ("text", "varchar", "char")

_COLUMNS = {
    "srcIP": ("src", "saddr", "src_addr", "ip_src", "src_address"),
    "destIP": ("dst", "dest", "daddr", "dst_ip", "dst_addr", "ip_dst", "dst_address", "dstip"),
    "srcPort": ("sport", "src_port"),
    "destPort": ("dport", "dst_port", "dstport"),
    "protocol": ("proto", "ip_proto", "l4_proto"),
    "len": ("length", "bytes", "size", "frame_len", "packet_length"),
    "timestamp": ("ts", "frame_time", "datetime"),
    "flags": ("tcp_flags", "tcpflags"),
}
_COLUMN_OF = {other: here for here, others in _COLUMNS.items() for other in others}


def function_hint(name: str) -> str | None:
    """What is written instead of a function that is not here; None of one that nobody has."""
    word = name.lower()
    return f"write {WRITTEN_HERE[word]}" if word in WRITTEN_HERE else _ABOUT.get(word)


def type_hint(name: str) -> str | None:
    """The type that is meant."""
    if name.lower() in _TEXTS:
        return "text(x) makes text of a whole number or an address; string is the type"
    here = _TYPE_OF.get(name.lower())
    return None if here is None else f"write {here}"


def column_hint(name: str, columns: Container[str]) -> str | None:
    """The column that other tools call so, if it is there; a word that stands for the time."""
    here = _COLUMN_OF.get(name.lower())
    if here in columns:
        return f"here it is {here}"
    return _CLOCK if name.lower().startswith("current_") else None


def instant_hint(text: str) -> str | None:
    """How an instant is written; None where the text is none."""
    if not _DATE.match(text):
        return None
    try:
        instant = datetime.fromisoformat(text)
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        seconds = int(instant.timestamp())
    except (ValueError, OverflowError):
        return None
    return f"{NO_INSTANTS}: in `time`, seconds since the epoch, it is {seconds}"


def number_hint(text: str) -> str | None:
    """How what is a number here is written, where a text has its digits or its name."""
    if re.fullmatch(_MAC, text):
        return f"a MAC address is a number: LHEX'{re.sub('[^0-9A-Fa-f]', '', text).lower()}'"
    if (number := _IP_PROTOCOLS.get(text.lower())) is not None:
        return f"{printable(text, 50)} has the number {number}"
    if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS:
        return f"a number stands without quotes: {int(text)}"
    return None


def typed_text_hint(word: str, text: str) -> str:
    """How a text with a type before it, or a length of time, is written."""
    if word.upper() in ("INET", "CIDR"):
        return f"write {'IPV6_VAL' if ':' in text else 'IP_VAL'}'{printable(text, 50)}'"
    if word.upper() != "INTERVAL":
        return instant_hint(text) or f"{NO_INSTANTS}: compare `time` with a number"
    try:
        length = duration_ns(text)
    except ValueError:
        return "a length of time is a number: 60 for time, 60000000000 for timestamp"
    shown = printable(text, 50)
    seconds = f"{length / NANOSECONDS_OF_UNIT['s']:g} for time, {length} for timestamp"
    return f"'{shown}' in time_bucket; elsewhere a number: {seconds}"
