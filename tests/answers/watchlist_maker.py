# SPDX-License-Identifier: Apache-2.0
"""WATCHLIST_JOINs at random, and lists at random for them (GSQL section 6.10)."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from random import Random

from tests.answers.passing_maker import PLACE, PassingMaker
from tests.answers.query_maker import (
    ADDRESSES,
    BOOL,
    FLOAT,
    INET,
    IP,
    IPV6,
    PROTOCOLS,
    STRING,
    WHOLE,
    Column,
)
from tests.answers.reference import sources
from tests.answers.reference.typed import Typed, at
from tests.answers.reference.types import MAPPED
from tests.answers.reference.watchlists import Listed

LISTS: dict[str, list[tuple[str, str]]] = {
    "nets": [("net key", "INET"), ("label", "string"), ("score", "uint")],
    "services": [
        ("host key", "INET"),
        ("port key", "ushort"),
        ("points", "llong"),
        ("good", "bool"),
    ],
    "fours": [("four key", "IP"), ("weight", "float"), ("via", "INET")],
    "sixes": [("six key", "IPV6"), ("rank", "ullong")],
    "links": [("link key", "string"), ("place", "string"), ("speed", "int")],
    "sizes": [("size key", "uint"), ("is_short key", "bool"), ("via_four", "IP")],
}
"""Their columns and types."""
KINDS = {"bool": BOOL, "float": FLOAT, "string": STRING, "INET": INET, "IP": IP, "IPV6": IPV6}
KEYS = {
    "nets": ("net = {address}",),
    "services": ("host = {address}", "port = {port}"),
    "fours": ("four = {address}",),
    "sixes": ("six = {address}",),
    "links": ("link = {text}",),
    "sizes": ("size = {number}", "is_short = {truth}"),
}
PROTOCOLS_OF = {"fours": ("IPV4",), "sixes": ("IPV6",), "services": ("TCP", "UDP", "DataProtocol")}
TEXTS = ("left", "right", "GET", "a,b", 'say "so"')


def definitions(folder: Path) -> str:
    """What declares the lists, whose files are in a folder."""
    texts = []
    for name, columns in LISTS.items():
        shown = " ".join(f"{type_} {_own(column)};" for column, type_ in columns)
        texts.append(f"WATCHLIST {name} {{ {shown} }} FROM '{folder}/{name}.csv';\n")
    return "".join(texts)


def _own(column: str) -> str:
    return column.replace(" key", " (key)")


class WatchlistMaker(PassingMaker):
    """Each query joins packets with a list, and asks about both."""

    def _text(self, name: str) -> str:
        listed = self._pick(*LISTS)
        protocol = self._pick(*PROTOCOLS_OF.get(listed, ("IP", "IPV4", "IPV6", "TCP", "UDP")))
        packets = self._some(PROTOCOLS[protocol])
        conditions = self._conditions(listed, packets, protocol)
        self._columns = [*packets, *self._listed_columns(listed)]
        if self._random.random() < 0.3:
            return self._read(name, listed, protocol, conditions)
        return self._joined(self._asked(name), listed, protocol, conditions)

    def _read(self, name: str, listed: str, protocol: str, conditions: list[str]) -> str:
        """Another query reads the rows."""
        body, columns = self._selection(PLACE)
        text = f"DEFINE {{ query_name {name}_in; visibility internal; }}\n{body}"
        self._columns = columns
        outer, _ = self._query(name, f"{name}_in", "")
        return f"{self._joined(text, listed, protocol, conditions)};\n{outer}"

    def _joined(self, text: str, listed: str, protocol: str, conditions: list[str]) -> str:
        where = self._pick("", *(f"{i}." for i in self._interfaces))
        sources = (f"{where}{protocol} p", f"{listed} w")
        return self._placed(text, "WATCHLIST_JOIN", sources, conditions)

    def _listed_columns(self, listed: str) -> list[Column]:
        return [
            Column(name.removesuffix(" key"), KINDS.get(type_, WHOLE), is_small=type_ == "uint")
            for name, type_ in LISTS[listed]
        ]

    def _conditions(self, listed: str, packets: list[Column], protocol: str) -> list[str]:
        """Every key equated with an expression of the packet."""
        kind = next((c.kind for c in PROTOCOLS[protocol] if c.kind in ADDRESSES), INET)
        address = self._pick("p.srcIP", "p.destIP")
        address = self._pick(address, address, f"prefix({address}, {self._pick('8', '30')})")
        chosen = {
            "address": address,
            "port": self._pick("srcPort", "p.destPort", "UMIN(srcPort, destPort)"),
            "text": self._pick("p.interface", "left(p.interface, 4)"),
            "number": self._pick("p.protocol", "len % 10", "packet_id & 7"),
            "truth": self._pick("(len < 100)", "more_frag" if kind == IP else "(ttl = 64)"),
        }
        written = []
        for key in KEYS[listed]:
            own, _, value = key.format(**chosen).partition(" = ")
            own = self._pick(own, f"w.{own}")
            written.append(self._pick(f"{own} = {value}", f"{value} = {own}"))
        return written


def lists(chance: Random, folder: Path) -> dict[str, Listed]:
    """Lists at random: their files are written, and what the reference reads is given."""
    return {name: _list(name, chance, folder) for name in LISTS}


def _list(name: str, chance: Random, folder: Path) -> Listed:
    columns = LISTS[name]
    lines, rows, lengths = [], [], []
    for _ in range(chance.choice((0, 6, 40, 80))):
        texts, values, bits = [], [], []
        for column, type_ in columns:
            text, value, length = _cell(type_, chance, is_key=column.endswith(" key"))
            texts.append(text)
            values.append(value)
            bits += [] if length is None else [length]
        lines.append(",".join(texts) + chance.choice(("\n", "\r\n")))
        rows.append(tuple(values))
        lengths.append(tuple(bits))
    (folder / f"{name}.csv").write_text("".join(lines), newline="")
    own = tuple(
        sources.Column(column.removesuffix(" key"), Typed(type_, at(place)))
        for place, (column, type_) in enumerate(columns)
    )
    keys = frozenset(c.removesuffix(" key") for c, _ in columns if c.endswith(" key"))
    return Listed(own, rows, is_output=False, keys=keys, lengths=tuple(lengths))


def _cell(type_: str, chance: Random, *, is_key: bool) -> tuple[str, object, int | None]:
    """A cell's text, its value, and of an address that is a key how many of its bits count."""
    if type_ in ADDRESSES:
        return _address(type_, chance, is_key=is_key)
    if type_ == "string":
        text = chance.choice(TEXTS)
        return '"' + text.replace('"', '""') + '"', text.encode(), None
    if type_ == "bool":
        truth = chance.random() < 0.5
        return str(truth).lower(), truth, None
    if type_ == "float":
        number = chance.choice((0.5, -2.25, 1e6))
        return repr(number), number, None
    low = -5 if type_ in ("int", "llong") else 0
    whole = chance.choice(
        (chance.randrange(low, 9), chance.choice((22, 53, 80, 443, 60, 64, 6, 17)))
    )
    return str(whole), whole, None


def _address(type_: str, chance: Random, *, is_key: bool) -> tuple[str, object, int | None]:
    four = ipaddress.IPv4Address(0x0A000000 + chance.randrange(8))
    six = ipaddress.IPv6Address(f"2001:db8::{chance.randrange(8):x}")
    address = four if type_ == IP or (type_ == INET and chance.random() < 0.6) else six
    if not is_key:
        return str(address), _value(type_, address), None
    most = address.max_prefixlen
    bits = chance.choice((most, most, most - 1, most - 2, most - 8, 8, 8, 0))
    network = ipaddress.ip_network(f"{address}/{bits}", strict=False)
    counted = bits + 96 if type_ == INET and address.version == 4 else bits
    text = str(network) if bits < most or chance.random() < 0.5 else str(address)
    return text, _value(type_, network.network_address), counted


def _value(type_: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> object:
    if type_ == IP:
        return int(address)
    return MAPPED + address.packed if address.version == 4 else address.packed
