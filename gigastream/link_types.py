# SPDX-License-Identifier: Apache-2.0
"""Link types by the names of the LINKTYPE_ registry, and what is meant by user-defined ones."""

from __future__ import annotations

LINK_TYPES = {
    "EN10MB": 1,
    "ETHERNET": 1,
    "NULL": 0,
    "IEEE802_5": 6,
    "PPP": 9,
    "FDDI": 10,
    "RAW": 101,
    "C_HDLC": 104,
    "IEEE802_11": 105,
    "FRELAY": 107,
    "LOOP": 108,
    "LINUX_SLL": 113,
    "PFLOG": 117,
    "SUNATM": 123,
    "IEEE802_11_RADIO": 127,
    "PPI": 192,
    "IPV4": 228,
    "IPV6": 229,
    "NFLOG": 239,
    "IPOIB": 242,
    "PKTAP": 258,
    "LINUX_SLL2": 276,
}
"""Those that are decoded, and ETHERNET, which the registry calls EN10MB."""
_GREATEST = 0xFFFF
_MOST = 16
"""As csrc/capture/link_types.h has room for."""

LinkTypes = tuple[tuple[int, int], ...]
"""Pairs of numbers: where the first stands in a file, the second is meant."""


def known_names() -> str:
    """All of them, for messages."""
    return ", ".join(f"{name} ({value})" for name, value in LINK_TYPES.items())


def parse_link_types(text: str) -> LinkTypes:
    """Read `147=ETHERNET,148=RAW`. ValueError."""
    found: dict[int, int] = {}
    for word in text.split(","):
        number, _, name = word.strip().partition("=")
        if not number.isascii() or not number.isdigit() or int(number[:9]) > _GREATEST:
            raise ValueError(f"'{word}' is not as 147=ETHERNET")
        if name.upper() not in LINK_TYPES:
            raise ValueError(f"the link type '{name}' is none of {known_names()}")
        found[int(number[:9])] = LINK_TYPES[name.upper()]
    if len(found) > _MOST:
        raise ValueError(f"more than {_MOST} link types")
    return tuple(found.items())


def link_types_text(link_types: LinkTypes) -> str:
    """Return what parse_link_types makes them of."""
    names = {value: name for name, value in reversed(LINK_TYPES.items())}
    return ",".join(f"{number}={names[meant]}" for number, meant in link_types)


def check_link_types(value: object) -> bool:
    """Whether it is what parse_link_types gives."""
    if not isinstance(value, tuple) or len(value) > _MOST:
        return False
    return all(_is_pair(pair) for pair in value)


def _is_pair(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2 or any(type(n) is not int for n in pair):
        return False
    return 0 <= pair[0] <= _GREATEST and pair[1] in LINK_TYPES.values()
