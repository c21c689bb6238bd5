# SPDX-License-Identifier: Apache-2.0
"""Checked queries: what the binder gives and the planner takes."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from gigastream.flush_policy import FlushPolicy
from gigastream.gsql.expressions import Expression, PythonAggregateCall, StateFunction
from gigastream.gsql.reassembly import Reassembly
from gigastream.gsql.source import NOWHERE, Span
from gigastream.gsql.tunnels import Decapsulation
from gigastream.gsql.types import Column, Schema, Type
from gigastream.late_dataclass import dataclass, field, fields

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
    is_in_order: bool = False
    """Its packets come in the order of their time, from one interface."""
    decapsulation: Decapsulation | None = None
    """The tunnels that are opened: its packets are the innermost ones."""
    reassembly: Reassembly | None = None
    """What is done to its packets, if anything: fragments put together, TCP in order."""
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

    inputs: tuple[ProtocolSource | QuerySource | PacketRows, ...]


@dataclass(frozen=True, slots=True)
class JoinInput:
    """A side of a join: the rows of a source that pass `where`, and these columns of them."""

    name: str
    """What the query calls it; empty for a join within a join."""
    source: Source
    columns: tuple[OutputColumn, ...]
    """Over the source, as a selection's."""
    where: Expression | None = None


Sides = tuple[Expression, Expression]
"""An expression of each side of a join: over columns of port 0, and of port 1."""


@dataclass(frozen=True, slots=True)
class BloomOptions:
    """Filters that are filled one after the other."""

    filters: int
    bits: int
    """Of each."""


@dataclass(frozen=True, slots=True)
class TimeRelation:
    """Temporal expressions that a join relates, f of the one side and g of the other.

    Both move in one direction; decreasing ones are held as their negatives, as bounds are. With
    `reach` (F_0, F_1) a row of side i can match only rows of the other side whose value is at most
    its own + F_i (OPERATORS section 4): -F_1 <= g - f <= F_0, in the values' own unit.
    """

    sides: Sides
    reach: tuple[int, int]

    @property
    def is_equality(self) -> bool:
        return self.reach == (0, 0)


@dataclass(frozen=True, slots=True)
class JoinColumn:
    """A column of joined rows: which column of each side it is, None where of none.

    Of both: they are equated, and that of the side that is present is taken.
    """

    column: Column
    places: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class JoinSource:
    """Pairs of rows of two inputs that match; of a kept side those that match nothing too."""

    inputs: tuple[JoinInput, JoinInput]
    keeps: tuple[bool, bool]
    times: tuple[TimeRelation, ...]
    keys: tuple[Sides, ...]
    """Other equalities, both sides of one type."""
    residual: tuple[Expression, ...]
    """Conditions over both ports, or over one that is kept."""
    columns: tuple[JoinColumn, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class GroupVariable:
    name: str
    expression: Expression
    """Over the source: FieldRef or ColumnRef leaves."""


@dataclass(frozen=True, slots=True)
class UserState:
    """What a UDAF is made of, with its constants."""

    whole: StateFunction
    """Over rows."""
    below: StateFunction
    """Below the border; `whole` where its state crosses it."""
    above: StateFunction
    """Of what crosses it; `whole` where that is its state."""
    why_high: str = ""
    """Why it cannot begin below the border; empty if it can."""
    is_running: bool = False
    """Whether it goes on from window to window."""

    @property
    def merges(self) -> bool:
        """Whether it is the state itself that crosses the border."""
        return self.below is self.whole

    @property
    def partial(self) -> Type:
        """The type of what crosses it."""
        return self.whole.state if self.merges else self.below.type

    @property
    def functions(self) -> tuple[StateFunction, ...]:
        """All of them, each once."""
        return tuple({id(f): f for f in (self.whole, self.below, self.above)}.values())


@dataclass(frozen=True, slots=True)
class UserCall:
    """A UDAF in a query: what it keeps, and what its value is made by."""

    state: UserState
    extractor: StateFunction | None = None
    """None: the UDAF's own output."""


@dataclass(frozen=True, slots=True)
class GroupingMasks:
    """CUBE and its like: a row goes into a group of each set, whose mask is part of its key."""

    variables: tuple[int, ...]
    """The group variables that are not in every set; NULL in the groups of those without them."""
    masks: tuple[int, ...]
    """One for each set: bit k is set where it lacks the k-th of `variables`."""


ROWS = "ROWS"
"""The `function` of an AggregateCall that keeps rows for a function in Python."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One distinct aggregate call of a query."""

    function: str
    """A key of AGGREGATES (binder/aggregates.py): COUNT, SUM, MOVING_SUM …"""
    argument: Expression | None
    """None for COUNT(*)."""
    type: Type
    nullable: bool
    span: Span
    windows: int = 1
    """MOVING_…: over this one, and those before it."""
    filter: Expression | None = None
    """FILTER: of which rows the argument is looked at; None: of all."""
    distinct: bool = False
    """DISTINCT: each value of the argument counts once."""
    by: Expression | None = None
    """ARG_MIN, ARG_MAX: of the row in which this is the least, or the greatest."""
    others: tuple[Expression, ...] = ()
    """Of a UDAF: its further arguments that are no constants. Of TIME_AVG, whose argument is a
    value times for how long it held: that time, the value, from when, and until when."""
    user: UserCall | None = None
    in_python: PythonAggregateCall | None = None
    """Of rows that are kept: the function of them, whose argument they become."""
    separator: bytes = b""
    """STRING_AGG and its like: what stands between the values."""

    @property
    def called(self) -> str:
        """What a person calls it."""
        return self.function if self.in_python is None else self.in_python.name

    @property
    def expressions(self) -> Iterator[Expression]:
        """What is evaluated of a row for it."""
        found = (self.filter, self.argument, self.by, *self.others)
        return (e for e in found if e is not None)


@dataclass(frozen=True, slots=True)
class Superaggregate:
    """What is counted of the groups that a supergroup has at the moment."""

    aggregate: int | None
    """The aggregate whose values are summed; None: the groups are counted."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """SUPERGROUP, CLEANING_WHEN, CLEANING_BY (GSQL section 6.5)."""

    supergroup: tuple[int, ...]
    """The group variables that make a supergroup; that of the window is always one."""
    superaggregates: tuple[Superaggregate, ...]
    cleaning_when: Expression | None
    """Over GroupRef of `supergroup`, superaggregates and states."""
    cleaning_by: Expression | None
    """Over GroupRef and AggregateRef besides: groups of which it is not true leave."""
    span: Span = field(default=NOWHERE, compare=False)
    """What says that the query samples."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    expression: Expression
    """Selection: over the source. Aggregation: over GroupRef and AggregateRef."""
    subtype: str = ""
    clock: str = ""


@dataclass(frozen=True, slots=True)
class PacketRows:
    """Packets as rows of a stream: of each these fields."""

    source: ProtocolSource
    columns: tuple[OutputColumn, ...]
    """Over the packets."""


@dataclass(frozen=True, slots=True)
class FilterJoin:
    """What lets packets of a query through: an S packet of the source that came before.

    With the same keys, and 0 <= t - t_S <= `ticks` (GSQL section 6.9). All is over packets: `keys`
    and `times` are pairs of what an R packet has and what an S packet has, of one type.
    """

    source: ProtocolSource
    """What an S packet is, and must have."""
    where: tuple[Expression, ...]
    """Of an S packet."""
    keys: tuple[Sides, ...]
    times: Sides
    ticks: int
    bloom: BloomOptions | None = None
    """None: by hash."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that is evaluated of either packet."""
        return (*self.where, *(side for pair in (*self.keys, self.times) for side in pair))


Source = ProtocolSource | QuerySource | PacketRows | UnionSource | JoinSource


@dataclass(frozen=True, slots=True)
class MergeClause:
    """MERGE a.t : b.t SLACK n: all sources as one stream in the order of t."""

    column: int
    """In which place of every source, and of the output, t stands."""
    slack: int
    """How far a source may step back, in the unit of t."""


@dataclass(frozen=True, slots=True)
class SortKey:
    expression: Expression
    """Over GroupRef and AggregateRef."""
    descending: bool


ADAPTIVE_SLOTS = 0


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """`[RANGE …, SLIDE …]`: window w covers [(w + 1) * slide - range, (w + 1) * slide)."""

    range: int
    slide: int
    unit: str
    """What they count: a clock's `s`, `ms`, `us` or `ns`; empty: whatever the attribute does."""

    @property
    def has_panes(self) -> bool:
        """Windows overlap, and are made of panes; else a row is in one at most."""
        return self.range > self.slide

    @property
    def pane(self) -> int:
        """The length of what rows are aggregated by."""
        return gcd(self.range, self.slide) if self.has_panes else self.slide


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """What DEFINE says of a query (GSQL section 1); None: nothing, so that the engine decides."""

    aggregate_slots: int | None = None
    """Of its table, a power of two; ADAPTIVE_SLOTS: as many as the groups that there are need."""
    flush: FlushPolicy | None = None
    slow_flush: int | None = None
    """Accepted packets until one old group leaves."""
    max_lfta_disorder: int | None = None
    """Windows that a group may leave late."""
    max_silence: int | None = None
    """Silent windows of groups that go on that are put out, one after the other."""
    real_time: bool | None = None
    select_lfta: bool | None = None
    lfta_aggregation: bool | None = None
    in_order: bool | None = None
    """Its operators in the forms that need their input in order, for comparison."""
    no_temporal_aggr: bool | None = None
    algorithm: str | None = None
    num_bloom: int | None = None
    bloom_size: int | None = None
    visibility: str | None = None
    outer_default: str | None = None
    decapsulate: Decapsulation | None = None
    defragment: bool | None = None
    tcp_order: bool | None = None
    query_name: str | None = None
    comment: str | None = None
    title: str | None = None
    namespace: str | None = None

    @property
    def reassembly(self) -> Reassembly | None:
        """What is put together, or in order, before the query sees packets."""
        if not (self.defragment or self.tcp_order):
            return None
        return Reassembly(datagrams=bool(self.defragment), segments=bool(self.tcp_order))

    @property
    def of_table(self) -> tuple[object, ...]:
        """What it says of the table of the low level."""
        return self.aggregate_slots, self.flush, self.slow_flush, self.max_lfta_disorder

    @property
    def given(self) -> dict[str, str]:
        """What it says, be it what goes without saying, by name; switches as true and false."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.aggregate_slots == ADAPTIVE_SLOTS:
            said["aggregate_slots"] = "adaptive"
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
    """One but in a MERGE: a UNION is one, and a join, whose columns all expressions are over."""
    outputs: tuple[OutputColumn, ...]
    merge: MergeClause | None = None
    """Its outputs are the columns of the first source then, and it has no other clause."""
    where: Expression | None = None
    is_aggregation: bool = False
    groups: tuple[GroupVariable, ...] = ()
    grouping: GroupingMasks | None = None
    """Where there are several grouping sets: GroupRef of `len(groups)` is then a group's mask."""
    aggregates: tuple[AggregateCall, ...] = ()
    having: Expression | None = None
    closing_when: Expression | None = None
    """Over GroupRef and AggregateRef: groups of which it is not true go on into the next window."""
    sampling: Sampling | None = None
    """None: its groups leave as they are."""
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    """Rows of each closed window, or of a selection: all that it ever gives."""
    limit_per: tuple[Expression, ...] = ()
    """Over GroupRef and AggregateRef: of each window, rows with equal values have the limit."""
    window: SlidingWindow | None = None
    """Of an aggregation: the first of `groups` is the window, or the pane where it has some; in
    what is said of groups it is the window."""
    limit_span: Span = NOWHERE
    """Of a selection's."""
    filter: FilterJoin | None = None
    """Of packets: which of them are let through at all."""
    options: QueryOptions = QueryOptions()
    schema: Schema = NO_COLUMNS
    """Columns of the output."""

    @property
    def sole_source(self) -> Source:
        """The source of a query that is no merge."""
        (source,) = self.sources
        return source

    @property
    def is_output(self) -> bool:
        return self.options.visibility != "internal"
