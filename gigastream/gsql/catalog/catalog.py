# SPDX-License-Identifier: Apache-2.0
"""What queries can name besides each other: protocols with their fields, functions, predicates.

A catalog is made from definition files by catalog_build.py and never changes after that.
All names are looked up in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.syntax import declarations
from gigastream.gsql.types import Temporal, Type
from gigastream.gsql.watchlists import Watchlist
from gigastream.late_dataclass import dataclass, field

COSTS = {"FREE": 1, "LOW": 10, "HIGH": 100, "EXPENSIVE": 1000}
"""What COST means beside the cost of reading a field, which is 1."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a protocol, or of a stream (without an accessor)."""

    name: str
    type: Type
    accessor: str
    protocol: str
    """The protocol whose block declares it."""
    temporal: Temporal = Temporal.VARYING
    clock: str = ""
    required: bool = False
    """Every packet of the protocol has it."""
    snap_len: int | None = None
    """So many bytes of the frame suffice to read it; None: not known."""
    subtype: str = ""
    low_cardinality: bool = False
    is_unlisted: bool = False
    """`SELECT *` does not give it."""
    unpack: tuple[str, ...] = ()
    """Unpack functions that set it, its own or its protocol's."""
    alias_of: str = ""
    """The field that this is another name of."""
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Protocol:
    """A kind of packets with all its fields, inherited ones first."""

    name: str
    bases: tuple[str, ...]
    fields: Mapping[str, Field]
    """By lower-case name, in order of declaration."""
    ancestors: frozenset[str]
    """All protocols that it inherits from, in lower case, and itself."""
    is_builtin: bool
    base_protocol: str
    """The built-in protocol whose bit the decoder sets: itself, or the nearest it inherits from."""
    headers: tuple[str, ...] = ()
    """C headers of its user-defined accessors."""
    is_stream: bool = False
    """Its packets are the records of a STREAM."""
    span: Span = NOWHERE

    def field(self, name: str) -> Field | None:
        """The field of that name."""
        return self.fields.get(name.lower())


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a STREAM: what it is called outside, and where a record has it."""

    name: str
    type: Type
    offset: int
    """In bytes."""
    unit: str = "ns"
    """Of numbers that stand for a time: `s`, `ms`, `us` or `ns`."""
    is_time: bool = False
    """It is the record's time."""


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """How records of a STREAM are read outside, and written for the engine."""

    name: str
    fields: tuple[RecordField, ...]
    size: int
    """Bytes of a record, without those of its strings."""


@dataclass(frozen=True, slots=True)
class RecordStream:
    """Records that arrive from outside: how they are read there, and as a protocol here."""

    name: str
    fields: tuple[RecordField, ...]
    protocol: Protocol
    size: int
    """Bytes of a record, without those of its strings."""

    @property
    def layout(self) -> RecordLayout:
        """What is needed to read them."""
        return RecordLayout(self.name, self.fields, self.size)


@dataclass(frozen=True, slots=True)
class Function:
    """One overload of a scalar function or predicate."""

    name: str
    is_predicate: bool
    result: Type
    parameters: tuple[Type, ...]
    handle: int | None
    """Position of the HANDLE argument."""
    constants: frozenset[int]
    """Positions of arguments that must be constants, the HANDLE among them."""
    lfta_legal: bool
    hfta_legal: bool
    partial: bool
    cost: int
    header: str = ""
    """C header of a user's function; empty for one that comes with Gigastream."""
    include: str = ""
    """Header of csrc/abi that holds one that comes with Gigastream."""
    span: Span = NOWHERE

    @property
    def symbol(self) -> str:
        """The name of the C function: gs_function_getlpmid_ip_string."""
        return self._symbol("predicate" if self.is_predicate else "function", self.name)

    def _symbol(self, kind: str, name: str) -> str:
        types = [str(type_).lower() for type_ in self.parameters]
        return "_".join((f"gs_{kind}", name.lower(), *types))

    @property
    def signature(self) -> str:
        """How it is called: `getlpmid(IP, string HANDLE)`."""
        opening, closing = "[]" if self.is_predicate else "()"
        words = [self._parameter(position) for position in range(len(self.parameters))]
        return f"{self.name}{opening}{', '.join(words)}{closing}"

    def _parameter(self, position: int) -> str:
        word = str(self.parameters[position])
        if position == self.handle:
            return f"{word} HANDLE"
        return f"{word} CONST" if position in self.constants else word


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAggregate(Function):
    """One overload of a UDAF: C functions over a state of fixed size."""

    state: Type
    """What a slot or a group keeps: fstringN, or one value."""
    is_running: bool
    below: UserAggregate | None = None
    """SUBAGGR: what runs below the border, and gives what crosses it."""
    above: UserAggregate | None = None
    """SUPERAGGR: what that is an argument of. Without them the state crosses, and is merged."""

    @property
    def symbol(self) -> str:
        """What its C functions begin with: gs_udaf_entropy_string, and behind it _update."""
        return self._symbol("udaf", self.name)

    @property
    def may_begin_low(self) -> bool:
        """Whether anything lets it run below the border."""
        return self.lfta_legal or self.below is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor(Function):
    """A function over the state of a UDAF: its arguments, then constants of its own."""

    aggregate: UserAggregate
    reads: str
    """What the C function is called."""

    @property
    def symbol(self) -> str:
        """The name of the C function: gs_extractor_quantile_float_uint_float."""
        return self._symbol("extractor", self.reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulFunction(Function):
    """One overload of an SFUN: a C function that is given the state of a supergroup."""

    state: str
    """The name of a STATE, as declared."""
    storage: Type
    """What that keeps: fstringN, or one value."""

    @property
    def symbol(self) -> str:
        """The name of the C function: gs_sfun_ssample_uint_uint."""
        return self._symbol("sfun", self.name)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All definitions. The mappings have lower-case keys."""

    protocols: Mapping[str, Protocol] = field(default_factory=dict)
    functions: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    predicates: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    streams: Mapping[str, RecordStream] = field(default_factory=dict)
    watchlists: Mapping[str, Watchlist] = field(default_factory=dict)
    aggregates: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    extractors: Mapping[str, tuple[Extractor, ...]] = field(default_factory=dict)
    stateful_functions: Mapping[str, tuple[StatefulFunction, ...]] = field(default_factory=dict)
    interface_sets: Mapping[str, declarations.InterfaceSet] = field(default_factory=dict)
    unpack_functions: Mapping[str, declarations.UnpackFunction] = field(default_factory=dict)

    def protocol(self, name: str) -> Protocol | None:
        """The protocol of that name."""
        return self.protocols.get(name.lower())

    def overloads(self, name: str, is_predicate: bool = False) -> tuple[Function, ...]:
        """The overloads of a function, or of a predicate; none if there is no such name."""
        return (self.predicates if is_predicate else self.functions).get(name.lower(), ())

    def aggregated(self, name: str) -> tuple[Function, ...]:
        """The overloads of a UDAF, in C or Python, or of an extractor; none where none is."""
        key = name.lower()
        return (*self.aggregates.get(key, ()), *self.extractors.get(key, ()))

    @property
    def all_functions(self) -> Iterator[Function]:
        """All functions, then all predicates, in order of declaration."""
        yield from _flat(self.functions.values())
        yield from _flat(self.predicates.values())

    @property
    def all_aggregates(self) -> Iterator[Function]:
        """All UDAFs, then all extractors, in order of declaration."""
        yield from _flat(self.aggregates.values())
        yield from _flat(self.extractors.values())

    @property
    def all_stateful(self) -> Iterator[Function]:
        """All stateful functions, in order of declaration."""
        yield from _flat(self.stateful_functions.values())


def _flat(groups: Iterable[tuple[Function, ...]]) -> Iterator[Function]:
    for group in groups:
        yield from group
