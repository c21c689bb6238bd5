# SPDX-License-Identifier: Apache-2.0
"""Checked queries: what the binder gives and the planner takes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gigastream.flush_policy import FlushPolicy
from gigastream.gsql.expressions import Expression
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.types import Schema, Type

NO_COLUMNS = Schema(())


@dataclass(frozen=True, slots=True)
class ProtocolSource:
    """Packets of a protocol on some interfaces."""

    protocol: str
    interface_set: str = "default"
    """A set's name; "" where `interface` names one interface."""
    interface: str = ""
    interfaces: tuple[str, ...] | None = None
    """Names of the set's interfaces; None: every one, or not known yet."""
    base_protocol: str = ""
    """The built-in protocol whose bit the decoder sets (equal to `protocol` for built-in ones)."""
    required: tuple[Expression, ...] = ()
    """Fields (FieldRef) that a packet must have to be a tuple: required ones of user protocols and
    every named field whose presence the protocol (or `narrowed_to`) does not guarantee."""
    headers: tuple[str, ...] = ()
    """C headers of user protocols that hold the accessors."""
    narrowed_to: str = ""
    """IPV4 or IPV6 where WHERE has `ipversion = 4` (6): fields are those of that protocol, so its
    bit is tested first; a packet without it would be rejected by WHERE in any case."""


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The output of another query of the set."""

    query: str


@dataclass(frozen=True, slots=True)
class UnionSource:
    """FROM a UNION b UNION c: rows of all, one schema."""

    inputs: tuple[ProtocolSource | QuerySource, ...]


Source = ProtocolSource | QuerySource | UnionSource


@dataclass(frozen=True, slots=True)
class GroupVariable:
    name: str
    expression: Expression
    """Over the source: FieldRef or ColumnRef leaves."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One distinct aggregate call of a query."""

    function: str
    """COUNT SUM MIN MAX AVG AND_AGGR OR_AGGR XOR_AGGR FIRST LAST VAR STDDEV (upper case)."""
    argument: Expression | None
    """None for COUNT(*)."""
    type: Type
    nullable: bool
    span: Span


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    expression: Expression
    """Selection: over the source. Aggregation: over GroupRef and AggregateRef."""
    subtype: str = ""
    clock: str = ""


@dataclass(frozen=True, slots=True)
class SortKey:
    expression: Expression
    """Over GroupRef and AggregateRef."""
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """What DEFINE says of a query (GSQL section 1); None: nothing, so that the engine decides."""

    aggregate_slots: int | None = None
    """Of its table, a power of two."""
    flush: FlushPolicy | None = None
    slow_flush: int | None = None
    """Accepted packets until one old group leaves."""
    max_lfta_disorder: int | None = None
    """Windows that a group may leave late."""
    real_time: bool | None = None
    select_lfta: bool | None = None
    lfta_aggregation: bool | None = None
    no_temporal_aggr: bool | None = None
    algorithm: str | None = None
    num_bloom: int | None = None
    bloom_size: int | None = None
    visibility: str | None = None
    outer_default: str | None = None
    query_name: str | None = None
    comment: str | None = None
    title: str | None = None
    namespace: str | None = None

    @property
    def of_table(self) -> tuple[object, ...]:
        """What it says of the table of the low level."""
        return self.aggregate_slots, self.flush, self.slow_flush, self.max_lfta_disorder

    @property
    def given(self) -> dict[str, str]:
        """What it says, be it what goes without saying, by name; switches as true and false."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in sorted(said.items())
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query whose every name and type is known.

    An aggregation has `groups` (or no_temporal_aggr) and/or `aggregates`; a SELECT DISTINCT is an
    aggregation whose groups are its columns and which has no aggregates.
    """

    name: str
    span: Span
    text: str
    """The query as printed back from the syntax tree."""
    sources: tuple[Source, ...]
    """One a port: what stands between the commas of FROM. A UNION is one."""
    outputs: tuple[OutputColumn, ...]
    where: Expression | None = None
    is_aggregation: bool = False
    groups: tuple[GroupVariable, ...] = ()
    aggregates: tuple[AggregateCall, ...] = ()
    having: Expression | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    """Rows of each closed window, or of a selection: all that it ever gives."""
    limit_span: Span = NOWHERE
    """Of a selection's."""
    options: QueryOptions = QueryOptions()
    schema: Schema = NO_COLUMNS
    """Columns of the output."""

    @property
    def sole_source(self) -> Source:
        """The source of a query that is no join."""
        (source,) = self.sources
        return source

    @property
    def is_output(self) -> bool:
        return self.options.visibility != "internal"
