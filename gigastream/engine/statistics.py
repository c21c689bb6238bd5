# SPDX-License-Identifier: Apache-2.0
"""The counters of OPERATORS section 7, as the engine counted them: none is a remainder."""

from __future__ import annotations

from gigastream.late_dataclass import dataclass, replace
from gigastream.words import counted

NONE, END = -(1 << 63), (1 << 63) - 1
"""Of times in ns: nothing is known or promised; all is over."""
LINK_STATES = (None, "up", "down", "gone", "lost")


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """read = undecodable + filtered + late + skew + sampled_out + decoded."""

    label: str
    interface: str
    read: int
    undecodable: int
    filtered: int
    late: int
    skew: int
    decoded: int
    truncated: int
    """Packets cut by the snap length: a property, not a loss."""
    bytes: int
    total_bytes: int
    """Of the source; 0 where it is not known."""
    worst_lateness_ns: int
    """How far below W the latest packet was."""
    damage: str | None
    kernel_received: int = 0
    """Of a live link: what passed its filter, by the kernel's own count: read, and the next."""
    kernel_dropped: int = 0
    """By the kernel, because the ring was full."""
    freezes: int = 0
    """How often the ring was full."""
    nic_dropped: int = 0
    """By the device or its driver."""
    oversized: int = 0
    """Of a link: longer than its device sends or takes, so that they were joined from several."""
    unread: int = 0
    """By us, though the kernel had captured them, when the run was broken off (--count)."""
    filtered_tagged: int = 0
    """Of those filtered, the ones with a VLAN tag."""
    lag_ns: int = 0
    """Of a live link: how far its last packet is behind the clock, while more of them wait."""
    carried: int = 0
    """Of a live link: decoded packets whose timestamp was replaced, since its clock had stepped."""
    clock_steps: int = 0
    """Of a live link: how often its clock was seen to step."""
    clock_step_ns: int = 0
    """How far it stepped at last; negative: back."""
    high_ns: int = NONE
    """H: the greatest time that two packets in a row have reached; NONE: not yet any."""
    promise_ns: int = NONE
    """W: no later packet that counts is below it; END: the source has ended."""
    asked: int = 0
    """Requests for time that reached it (on demand)."""
    answered: int = 0
    """Of a live link: those of them that it could answer, before packets or the timer did."""
    failures: int = 0
    """How often it said nothing for longer than its liveness."""
    is_ended: bool = False
    """Nothing more comes of it."""
    is_failed: bool = False
    """It has said nothing since."""
    taken_before: int = 0
    """Of a ring that had other readers: packets that they took, since it was made."""
    dropped_before: int = 0
    """The same: packets that the kernel dropped, as far as it told them."""
    ring_blocks: int = 0
    """Of a live link's ring."""
    ring_used: int = 0
    """Of them, filled by the kernel and not given back."""
    sampled_out: int = 0
    """Of flows that were left out, since the host could not follow (Engine.sample)."""
    undecodable_first: str | None = None
    """Of a STREAM: where the first record stands that is none, and why."""
    notes: tuple[str, ...] = ()
    """Of a STREAM: what is missing, and never came here."""
    link: str | None = None
    """Of a live link: up, down, gone, or lost: gone, and not to be taken up again."""


LOST_FRAGMENTS = (
    *("fragments_incomplete", "fragments_no_room", "fragments_overlapping"),
    *("fragments_malformed", "fragments_repeated"),
)
"""Counters of those that were not put together, by cause."""
OF_FRAGMENTS = ("fragments", "datagrams", *LOST_FRAGMENTS)
"""Counters of an LFTA that puts datagrams together."""
GAPS = ("gaps_waited", "gaps_no_room", "gaps_ended")
"""Counters of what was missing between segments when it was given up, by cause."""
OF_SEGMENTS = (
    *("segments", "segments_held", "segments_repeated"),
    *(*GAPS, "directions_forgotten"),
)
"""Counters of an LFTA to which segments of TCP come in order."""


@dataclass(frozen=True, slots=True)
class LftaStatistics:
    """decoded = not_of_protocol + prefiltered + rejected + no_value + accepted.

    Where datagrams are put together, the sum is decoded - fragments + datagrams.
    """

    name: str
    interface: str
    not_of_protocol: int
    prefiltered: int
    rejected: int
    no_value: int
    accepted: int
    evicted: int
    """Partial groups that left by collision."""
    slots: int = 0
    """Of its table now, which may have grown; 0: it has none."""
    held_bytes: int = 0
    """Of its table."""
    peak_bytes: int = 0
    rows_out: int = 0
    """Rows, of an aggregation partial groups, that it has put out."""
    groups: int = 0
    """Its own in its table now."""
    groups_most: int = 0
    """In the table at once since it has that size, of all that fill it, as time moved on."""
    promised_ns: int = NONE
    """Packet time below which it puts out nothing more."""
    ways: int = 1
    """Slots of its table in which a group may lie."""
    forgotten: int = 0
    """Keys of a FILTER_JOIN that gave way to others, though a packet might match them yet."""
    opened: int = 0
    """Packets of tunnels, where it opens them, in whose place it saw the inner one."""
    unopened: int = 0
    """Packets with a tunnel that held none that could be read, which was seen as it was."""
    too_deep: int = 0
    """Packets with a tunnel further in than it goes."""
    fragments: int = 0
    """Packets that were fragments, where it puts datagrams together."""
    datagrams: int = 0
    """That were put together: they are among its packets, their fragments are not."""
    fragments_incomplete: int = 0
    """Dropped, because the others did not come in time or before the end."""
    fragments_no_room: int = 0
    """Dropped, the oldest first, for others."""
    fragments_overlapping: int = 0
    """Dropped, because fragments of the datagram contradict each other."""
    fragments_malformed: int = 0
    """Dropped, because they can be part of no datagram."""
    fragments_repeated: int = 0
    """Dropped, because they were there already."""
    segments: int = 0
    """Packets of TCP, where they come in the order of their sequence."""
    segments_held: int = 0
    """Of them, those that came before some that they follow, for which they waited."""
    segments_repeated: int = 0
    """Of them, those in which nothing was new, or that came when they had been given up."""
    gaps_waited: int = 0
    """Gaps in the sequence that were given up, because nothing filled them in time."""
    gaps_no_room: int = 0
    """The same, the one that was there the longest first, for others."""
    gaps_ended: int = 0
    """The same, because the input ended or the connection began anew."""
    directions_forgotten: int = 0
    """Directions of connections, the one that was silent the longest first, for others."""

    @property
    def packets(self) -> int:
        """What it was given: each is in one of these counters."""
        tried = self.not_of_protocol + self.prefiltered + self.rejected + self.no_value
        return tried + self.accepted

    @property
    def decoded(self) -> int:
        """The same before anything was put together."""
        return self.packets + self.fragments - self.datagrams


@dataclass(frozen=True, slots=True)
class RaisedStatistics:
    """What a function in Python has raised of rows, or groups, that have no value then."""

    function: str
    times: int
    first: str
    """Where, and what: `my.py, line 3: ValueError: no such day`."""

    def __str__(self) -> str:
        return f"{self.function} raised {counted(self.times, 'time')}, first {self.first}"


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """Rows of an operator of the high level; what is None nobody counted (on Spark)."""

    name: str
    kind: str
    rows_in: int
    rows_out: int
    rejected: int | None
    no_value: int | None
    held: int
    groups_refused: int
    """Rows of groups that were not let in: beyond max_groups, or the memory."""
    rows_refused: int = 0
    """Rows that had to wait, in a join or for their turn: beyond max_rows, or the memory."""
    refused_for_memory: int = 0
    """Those of groups_refused and rows_refused for which there was no memory."""
    beyond_limit: int | None = 0
    """Rows cut by LIMIT."""
    out_of_order: int = 0
    """Rows of an input that stepped back further than it may (MERGE: SLACK)."""
    passed_over: int = 0
    """Silent windows of groups that go on, beyond `max_silence` of them together."""
    held_bytes: int = 0
    """What its groups, or rows, take now: tables, strings and all."""
    peak_bytes: int = 0
    promised_ns: int = NONE
    """Packet time below which it puts out nothing more; NONE, too, where it has no clock."""
    raised: tuple[RaisedStatistics, ...] = ()
    """By the functions in Python that it calls."""


@dataclass(frozen=True, slots=True)
class ListStatistics:
    """A watchlist of a query set."""

    name: str
    rows: int
    refused: int
    """Lines of its file that were wrong, and left out."""
    replaced: int
    """Lines whose keys came again further down."""
    reads: int
    """How often it was read."""
    failures: int
    """How often it could not be, and stayed as it was."""


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """The budget of this process, and what tables, groups and held rows take of it."""

    limit_bytes: int
    held_bytes: int
    peak_bytes: int
    """The most since it was empty."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """All counters of a run."""

    sources: tuple[SourceStatistics, ...]
    lftas: tuple[LftaStatistics, ...]
    operators: tuple[OperatorStatistics, ...]
    memory: MemoryStatistics | None = None
    lists: tuple[ListStatistics, ...] = ()
    threads: int = 1
    """That read: of the rings of links, or those that divide a file."""
    have_parts: bool = False
    """Each of them has part of the groups and the whole plan; else one high level is for all."""

    @property
    def raised(self) -> tuple[RaisedStatistics, ...]:
        """By functions in Python, whatever operators call them."""
        found: dict[str, RaisedStatistics] = {}
        for each in (raised for operator in self.operators for raised in operator.raised):
            known = found.setdefault(each.function, replace(each, times=0))
            found[each.function] = replace(known, times=known.times + each.times)
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class StageCosts:
    """What the stages of a packet's way have cost, of all packets (csrc/base/stages.h)."""

    packets: int
    open_ns: int
    read_ns: int
    decode_ns: int
    unpack_ns: int
    """With the prefilter."""
    lfta_ns: int
    flush_ns: int
    high_ns: int
