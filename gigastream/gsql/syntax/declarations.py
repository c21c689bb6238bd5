# SPDX-License-Identifier: Apache-2.0
"""What the parser makes of definition files (GSQL.md §2, and interface sets of §6)."""

from __future__ import annotations

from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.syntax.ast import Name, SyntaxExpression, SyntaxNode, TypeName
from gigastream.late_dataclass import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Attribute(SyntaxNode):
    """An attribute of a field, such as `increasing`, `clock ns`, `snap_len 54`."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class FieldDeclaration(SyntaxNode):
    """`type field accessor (attributes) [unpack functions];`; a STREAM's field has no accessor."""

    type: TypeName
    name: str
    accessor: str | None = None
    attributes: tuple[Attribute, ...] = ()
    unpack: tuple[Name, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProtocolBlock(SyntaxNode):
    """`PROTOCOL name (base, …) [unpack functions] { fields }`."""

    name: str
    bases: tuple[Name, ...]
    fields: tuple[FieldDeclaration, ...]
    unpack: tuple[Name, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnpackFunction(SyntaxNode):
    """`name function cost;` of an UNPACK_FCNS block."""

    name: str
    function: str
    cost: int


@dataclass(frozen=True, slots=True)
class Stream(SyntaxNode):
    """`STREAM name { type field (attributes); … }`."""

    name: str
    fields: tuple[FieldDeclaration, ...]
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListBlock(SyntaxNode):
    """`WATCHLIST name { type column [(key)]; … } FROM 'file' [EVERY 10 s]`.

    The attribute `key` is the only one of a column; `every_s` is in seconds.
    """

    name: str
    fields: tuple[FieldDeclaration, ...]
    path: str
    every_s: int | None = None
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Modifier(SyntaxNode):
    """A modifier of a declaration: `LFTA_LEGAL`, `COST HIGH`, `SUBAGGR u`; the name in capitals."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ParameterType(SyntaxNode):
    """`type [HANDLE|CONST]` of a declared function."""

    type: TypeName
    handle: bool = False
    const: bool = False


@dataclass(frozen=True, slots=True)
class Declaration(SyntaxNode):
    """What the declarations of functions have in common."""

    name: str
    parameters: tuple[ParameterType, ...] = ()
    modifiers: tuple[Modifier, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class FunctionDeclaration(Declaration):
    """`type FUN [mods] f(type, …);`."""

    result: TypeName = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class PredicateDeclaration(Declaration):
    """`PRED [mods] p[type, …];`."""


@dataclass(frozen=True, slots=True)
class AggregateDeclaration(Declaration):
    """`type UDAF [mods] f storage (type, …);`."""

    result: TypeName = field(kw_only=True)
    storage: TypeName = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ExtractorDeclaration(Declaration):
    """`type EXTR f udaf extractor (type, …);`."""

    result: TypeName = field(kw_only=True)
    aggregate: Name = field(kw_only=True)
    extractor: Name = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class StateDeclaration(Declaration):
    """`storage STATE s;`."""

    storage: TypeName = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class StatefulFunctionDeclaration(Declaration):
    """`type SFUN f state (type, …);`."""

    result: TypeName = field(kw_only=True)
    state: Name = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class InterfaceSet(SyntaxNode):
    """`name : Contains[type, pcap] and not Equals[role, 'backup'];`.

    The arguments of the predicates are a property's Name and a Name, string or number.
    """

    name: str
    predicate: SyntaxExpression
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definitions:
    """All that definition files declare, each kind in the order written."""

    protocols: tuple[ProtocolBlock, ...] = ()
    unpack_functions: tuple[UnpackFunction, ...] = ()
    streams: tuple[Stream, ...] = ()
    watchlists: tuple[ListBlock, ...] = ()
    functions: tuple[FunctionDeclaration, ...] = ()
    predicates: tuple[PredicateDeclaration, ...] = ()
    aggregates: tuple[AggregateDeclaration, ...] = ()
    extractors: tuple[ExtractorDeclaration, ...] = ()
    states: tuple[StateDeclaration, ...] = ()
    stateful_functions: tuple[StatefulFunctionDeclaration, ...] = ()
    interface_sets: tuple[InterfaceSet, ...] = ()

    def __add__(self, other: Definitions) -> Definitions:
        """Return the definitions of both, those of the left first."""
        names = [item.name for item in fields(self)]
        return Definitions(**{name: getattr(self, name) + getattr(other, name) for name in names})
