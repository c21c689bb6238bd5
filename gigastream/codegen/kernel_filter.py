# SPDX-License-Identifier: Apache-2.0
"""The union of all prefilters as a program of classic BPF, which the kernel runs on each packet.

A packet is rejected only where it is plain (Ethernet, then IPv4 or IPv6, then TCP, UDP or ICMP: no
tag that is left, no fragment, no extension header) and every LFTA is sure to reject it: a predicate
that is not translated may hold. So it says less than the queries do, never more. Frames whose tag
the kernel has put aside pass (csrc/capture/kernel_filter.c).

What is rejected costs nothing, but is seen by nobody: it tells no time (the clock of the link does,
max-skew later), and it is in no counter. Queries that number packets need all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gigastream.gsql.expressions import (
    ROW_NUMBER,
    Cast,
    Constant,
    Expression,
    FieldRef,
    Operation,
    walk,
)
from gigastream.gsql.stream_names import is_of_stream
from gigastream.gsql.tunnels import TunnelRule
from gigastream.plan import Plan
from gigastream.plan.operators.low_node import LowNode

Instruction = tuple[int, int, int, int]
"""Code, jt, jf, k: a `struct sock_filter`."""
MAX_INSTRUCTIONS = 2048
"""More are not worth their time; the kernel takes 4096 with what it puts before them."""
_LD_LEN, _LD_W, _LD_H, _LD_B = 0x80, 0x20, 0x28, 0x30
_LDX_MSH, _LD_H_IND = 0xB1, 0x48
_JA, _JEQ, _JGT, _JGE, _JSET, _JGE_X = 0x05, 0x15, 0x25, 0x35, 0x45, 0x3D
_AND, _SUB, _RET = 0x54, 0x14, 0x06
_ACCEPT = 0xFFFFFFFF
_WORD = 1 << 32
_ETHERNET_BYTES = 14
_ETHER_TYPE_AT, _IPV4, _IPV6, _ARP = 12, 0x0800, 0x86DD, 0x0806
_VERSION_AT, _FRAGMENT_AT, _FRAGMENT_BITS, _PROTOCOL_AT = 14, 20, 0x3FFF, 23
_SOURCE_AT, _DESTINATION_AT, _TTL_AT = 26, 30, 22
_NEXT_HEADER_AT, _HOP_LIMIT_AT, _PORTS_V6_AT = 20, 21, 54
_LEAST_V4, _PORT_BYTES = 34, 4
_TCP, _UDP = 6, 17
_PLAIN = {4: (1, 2, _TCP, _UDP), 6: (_TCP, _UDP, 58)}
"""Protocols behind which no other IP header is looked for, by version."""
_PROTOCOLS = {"TCP": (_TCP,), "UDP": (_UDP,), "DataProtocol": (_TCP, _UDP), "ICMP": (1, 58)}
"""What a packet of these must have; others of _OF_IP may have anything."""
_OF_IP = {"IPV4": (4,), "IPV6": (6,), "IP": (4, 6)} | dict.fromkeys(_PROTOCOLS, (4, 6))
_NUMBERING = (ROW_NUMBER, "packet_id")
_OF_DIRECTION = ("srcIP_ip", "destIP_ip", "srcPort", "destPort", "protocol")
_COMPARISONS = {
    "=": (_JEQ, True), "<>": (_JEQ, False), ">": (_JGT, True), ">=": (_JGE, True),
    "<": (_JGE, False), "<=": (_JGT, False),
}  # fmt: skip
"""The jump that decides, and whether it holds where the jump is taken."""


class _Label:
    """A place in a program, known when it is put there."""

    def __init__(self) -> None:
        self.at = -1


class _Assembler:
    """Instructions with labels. A conditional jump reaches 255, so each goes by way of others."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, int, int | _Label]] = []

    def load(self, code: int, k: int = 0) -> None:
        self._lines.append((code, 0, 0, k))

    def go(self, target: _Label) -> None:
        self._lines.append((_JA, 0, 0, target))

    def branch(self, code: int, k: int, yes: _Label, no: _Label) -> None:
        self._lines.append((code, 0, 1, k))
        self.go(yes)
        self.go(no)

    def put(self, label: _Label) -> None:
        label.at = len(self._lines)

    def program(self) -> tuple[Instruction, ...]:
        found = []
        for at, (code, jt, jf, k) in enumerate(self._lines):
            found.append((code, jt, jf, k.at - at - 1 if isinstance(k, _Label) else k))
        return tuple(found)


def kernel_filter(plans: Iterable[Plan]) -> tuple[Instruction, ...] | None:
    """A program that accepts what any LFTA of these plans might; None: that may be everything."""
    of_links = [(plan, node) for plan in plans for node in plan.low if not _is_of_stream(node)]
    lftas = [(node, _predicates(plan, node)) for plan, node in of_links]
    if not lftas or any(_needs_all(node, predicates) for node, predicates in lftas):
        return None
    program = _Compiler(lftas).program()
    return program if len(program) <= MAX_INSTRUCTIONS else None


def _is_of_stream(node: LowNode) -> bool:
    return is_of_stream(node.source.interface)


def _predicates(plan: Plan, node: LowNode) -> list[Expression]:
    """What it asks; of TCP in order, what may be rejected so that no segment waits for it."""
    predicates = [*(plan.prefilter[bit] for bit in node.signature), *node.predicates]
    reassembly = node.source.reassembly
    if reassembly is None or not reassembly.segments:
        return predicates
    return [each for each in predicates if _is_of_direction(each)]


def _is_of_direction(predicate: Expression) -> bool:
    """Whether it is the same for all segments of a connection that go the same way."""
    fields = [found for found in walk(predicate) if isinstance(found, FieldRef)]
    return all(field.accessor in _OF_DIRECTION for field in fields)


def _rules(node: LowNode) -> Iterator[TunnelRule]:
    opened = node.source.decapsulation
    return iter(()) if opened is None else opened.rules


def _needs_all(node: LowNode, predicates: Sequence[Expression]) -> bool:
    """Whether it takes other packets than IP's, or counts those that it rejects."""
    numbers = (
        isinstance(found, FieldRef) and found.accessor in _NUMBERING
        for expression in (*node.expressions, *predicates)
        for found in walk(expression)
    )
    return node.source.base_protocol not in _OF_IP or any(numbers)


class _Compiler:
    """Writes the program: per IP version, one LFTA behind the other until one may accept."""

    def __init__(self, lftas: Sequence[tuple[LowNode, Sequence[Expression]]]) -> None:
        self._lftas = lftas
        self._out = _Assembler()
        self._accept, self._reject = _Label(), _Label()

    def program(self) -> tuple[Instruction, ...]:
        out, version_4, version_6, other = self._out, _Label(), _Label(), _Label()
        out.load(_LD_LEN)
        self._then(_JGE, _LEAST_V4, self._accept, wanted=True)
        out.load(_LD_H, _ETHER_TYPE_AT)
        self._case(_IPV4, version_4)
        self._case(_IPV6, version_6)
        out.branch(_JEQ, _ARP, self._reject, other)
        out.put(other)
        out.go(self._accept)
        out.put(version_4)
        self._version_4()
        out.put(version_6)
        self._version_6()
        out.put(self._accept)
        out.load(_RET, _ACCEPT)
        out.put(self._reject)
        out.load(_RET, 0)
        return out.program()

    def _then(self, code: int, k: int, otherwise: _Label, *, wanted: bool) -> None:
        """Go on where the jump's outcome is the wanted one."""
        on = _Label()
        yes, no = (on, otherwise) if wanted else (otherwise, on)
        self._out.branch(code, k, yes, no)
        self._out.put(on)

    def _case(self, k: int, target: _Label) -> None:
        on = _Label()
        self._out.branch(_JEQ, k, target, on)
        self._out.put(on)

    # ---- what is plain ----

    def _version_4(self) -> None:
        out = self._out
        out.load(_LD_B, _VERSION_AT)
        self._then(_JGE, 0x45, self._accept, wanted=True)  # version 4, 20 bytes or more
        self._then(_JGT, 0x4F, self._accept, wanted=False)
        out.load(_LD_H, _FRAGMENT_AT)
        self._then(_JSET, _FRAGMENT_BITS, self._accept, wanted=False)
        self._plain(4, _PROTOCOL_AT)
        out.load(_LDX_MSH, _VERSION_AT)
        out.load(_LD_LEN)
        out.load(_SUB, _ETHERNET_BYTES + _PORT_BYTES)
        self._then(_JGE_X, 0, self._accept, wanted=True)
        self._alternatives(4)

    def _version_6(self) -> None:
        out = self._out
        out.load(_LD_LEN)
        self._then(_JGE, _PORTS_V6_AT + _PORT_BYTES, self._accept, wanted=True)
        out.load(_LD_B, _VERSION_AT)
        out.load(_AND, 0xF0)
        self._then(_JEQ, 0x60, self._accept, wanted=True)
        self._plain(6, _NEXT_HEADER_AT)
        self._alternatives(6)

    def _plain(self, version: int, at: int) -> None:
        plain = _Label()
        self._out.load(_LD_B, at)
        for protocol in _PLAIN[version]:
            self._case(protocol, plain)
        self._out.go(self._accept)
        self._out.put(plain)

    # ---- what the LFTAs say of it ----

    def _alternatives(self, version: int) -> None:
        for node, predicates in self._lftas:
            versions = _OF_IP[node.source.narrowed_to or node.source.base_protocol]
            self._tunnels(version, node)
            if version not in versions or version not in _OF_IP[node.source.base_protocol]:
                continue
            next_one = _Label()
            self._protocol(version, node.source.base_protocol, next_one)
            for predicate in predicates:
                on = _Label()
                self._may_hold(version, predicate, on, next_one)
                self._out.put(on)
            self._out.go(self._accept)
            self._out.put(next_one)
        self._out.go(self._reject)

    def _tunnels(self, version: int, node: LowNode) -> None:
        """What is in a tunnel that the LFTA opens may be anything; the others are not plain."""
        ports = [rule for rule in _rules(node) if rule.udp_port]
        if not ports:
            return
        on = _Label()
        self._out.load(_LD_B, _PROTOCOL_AT if version == 4 else _NEXT_HEADER_AT)
        self._then(_JEQ, _UDP, on, wanted=True)
        self._load(version, _port(2))
        for rule in ports:
            self._case(rule.udp_port, self._accept)
        either = [rule for rule in ports if rule.is_port_of_either]
        if either:
            self._load(version, _port(0))
        for rule in either:
            self._case(rule.udp_port, self._accept)
        self._out.go(on)
        self._out.put(on)

    def _protocol(self, version: int, name: str, otherwise: _Label) -> None:
        wanted = _PROTOCOLS.get(name)
        if wanted is None:
            return
        on = _Label()
        self._out.load(_LD_B, _PROTOCOL_AT if version == 4 else _NEXT_HEADER_AT)
        for protocol in wanted:
            self._case(protocol, on)
        self._out.go(otherwise)
        self._out.put(on)

    def _may_hold(self, version: int, predicate: Expression, yes: _Label, no: _Label) -> None:
        """Go to `no` where it is sure not to hold."""
        if isinstance(predicate, Operation) and predicate.operator in ("AND", "OR"):
            self._junction(version, predicate, yes, no)
        elif isinstance(predicate, Operation) and predicate.operator in (*_COMPARISONS, "IN"):
            self._comparison(version, predicate, yes, no)
        elif isinstance(predicate, Operation) and predicate.operator == "IS_PREFIX":
            self._prefix(version, predicate, yes, no)
        else:
            self._out.go(yes)

    def _junction(self, version: int, predicate: Operation, yes: _Label, no: _Label) -> None:
        is_and = predicate.operator == "AND"
        for operand in predicate.operands:
            on = _Label()
            self._may_hold(version, operand, *((on, no) if is_and else (yes, on)))
            self._out.put(on)
        self._out.go(yes if is_and else no)

    def _comparison(self, version: int, predicate: Operation, yes: _Label, no: _Label) -> None:
        left, *right = predicate.operands
        loading = _loading(version, left)
        values = [_value(operand) for operand in right]
        if loading is None or any(value is None for value in values):
            self._out.go(yes)
            return
        self._load(version, loading)
        code, when_taken = _COMPARISONS.get(predicate.operator, (_JEQ, True))
        for value in values:
            on = _Label()
            self._out.branch(code, value or 0, *((yes, on) if when_taken else (on, yes)))
            self._out.put(on)
        self._out.go(no)

    def _prefix(self, version: int, predicate: Operation, yes: _Label, no: _Label) -> None:
        address, prefix = predicate.operands
        loading, value = _loading(version, address), _value(prefix)
        if loading is None or value is None or version != 4:
            self._out.go(yes)
            return
        mask = (_WORD - 1) << (32 - predicate.prefix_length) & (_WORD - 1)
        self._load(version, loading)
        self._out.load(_AND, mask)
        self._out.branch(_JEQ, value & mask, yes, no)

    def _load(self, version: int, loading: Callable[[int], tuple[int, int]]) -> None:
        self._out.load(*loading(version))


def _port(behind: int) -> Callable[[int], tuple[int, int]]:
    """A port: behind the header, whose length X has, or behind that of version 6."""

    def loading(version: int) -> tuple[int, int]:
        at = (_ETHERNET_BYTES, _PORTS_V6_AT)[version == 6] + behind
        return (_LD_H_IND if version == 4 else _LD_H), at

    return loading


_LOADINGS: dict[str, dict[int, Callable[[int], tuple[int, int]]]] = {
    "protocol": {4: lambda _: (_LD_B, _PROTOCOL_AT), 6: lambda _: (_LD_B, _NEXT_HEADER_AT)},
    "ttl": {4: lambda _: (_LD_B, _TTL_AT), 6: lambda _: (_LD_B, _HOP_LIMIT_AT)},
    "ttl_ipv4": {4: lambda _: (_LD_B, _TTL_AT)},
    "ttl_ipv6": {6: lambda _: (_LD_B, _HOP_LIMIT_AT)},
    "srcIP_ip": {4: lambda _: (_LD_W, _SOURCE_AT)},
    "destIP_ip": {4: lambda _: (_LD_W, _DESTINATION_AT)},
    "srcPort": dict.fromkeys((4, 6), _port(0)),
    "destPort": dict.fromkeys((4, 6), _port(2)),
}
"""How a field is loaded, by its accessor and the version; others are not translated."""


def _loading(version: int, operand: Expression) -> Callable[[int], tuple[int, int]] | None:
    if isinstance(operand, Cast) and not operand.checked and operand.type.is_integer:
        operand = operand.operand  # the fields are unsigned and narrower than what they become
    if not isinstance(operand, FieldRef):
        return None
    return _LOADINGS.get(operand.accessor, {}).get(version)


def _value(operand: Expression) -> int | None:
    """A constant that an instruction holds; addresses of IPv4 are words."""
    value = operand.value if isinstance(operand, Constant) else None
    is_word = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _WORD
    return value if is_word else None  # type: ignore[return-value]
