# SPDX-License-Identifier: Apache-2.0
"""The account of a run on stderr: each line is a sum whose terms are counted where they happen.

Terms that are zero are left out; `--stats json` has all of them (OPERATORS section 7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gigastream.cli.progress import in_bytes
from gigastream.cli.table_slots import collides, wanted_slots
from gigastream.gsql.stream_names import is_of_stream
from gigastream.late_dataclass import asdict, replace
from gigastream.words import counted

if TYPE_CHECKING:
    from gigastream.engine.statistics import (
        LftaStatistics,
        ListStatistics,
        OperatorStatistics,
        SourceStatistics,
        Statistics,
    )
    from gigastream.outputs.delivery import Delivered
    from gigastream.spool.account import StreamAccount

_SOURCE_TERMS = ("undecodable", "filtered", "late", "skew", "sampled_out", "decoded")
_SUMMED = (*_SOURCE_TERMS, "truncated", "carried", "kernel_received", "kernel_dropped")
FILES_SHOWN = 10
"""Captures of one interface that have a line each; more of them share one."""
_LFTA_TERMS = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
_SECOND_NS = 10**9


def as_json(
    statistics: Statistics,
    delivered: Delivered,
    seconds: float,
    streams: Sequence[StreamAccount] = (),
) -> str:
    """Return all counters as one JSON object; `streams` are those of a spool."""
    from gigastream.engine.privileges import confinement

    held = confinement()
    confined = {} if held is None else {"confinement": asdict(held)}
    spooled = {"streams": [stream.as_json() for stream in streams]} if streams else {}
    account = {
        **asdict(statistics),
        **confined,
        **spooled,
        "rows": delivered.rows,
        "rows_lost": delivered.rows_lost,
        "rows_left_out": delivered.left_out,
        "rows_known": delivered.known,
        "rows_left_open": delivered.left_open,
        "trace_lines": delivered.trace_lines,
        "trace_lines_lost": delivered.trace_lines_lost,
        "output_waits": delivered.waits,
        "output_waited_s": round(delivered.waited_s, 6),
        "seconds": round(seconds, 6),
    }
    return json.dumps(account)


def as_text(
    statistics: Statistics,
    delivered: Delivered,
    seconds: float,
    streams: Sequence[StreamAccount] = (),
) -> str:
    """Return the summary that a person reads; `streams` are those of a spool."""
    read = sum(source.bytes for source in statistics.sources)
    if not statistics.sources:
        read = sum(stream.bytes for stream in streams)
    lines = list(source_lines(statistics.sources))
    lines += [lfta_line(lfta, _decoded(statistics, lfta)) for lfta in statistics.lftas]
    lines += [list_line(item) for item in statistics.lists]
    lines += [_stream_line(stream) for stream in streams]
    lines += [operator_line(operator) for operator in statistics.operators]
    lines += [*remarks(statistics), *_output_remarks(delivered)]
    if delivered.left_out:
        lines.append(f"{counted(delivered.left_out, 'row')} of later windows left out (--windows)")
    if delivered.known:
        lines.append(f"{counted(delivered.known, 'row')} in the tables already, by a run before")
    if delivered.left_open:
        lines.append(
            f"{counted(delivered.left_open, 'row')} of windows that were cut: the same command "
            "writes them whole"
        )
    lost = f" and {delivered.rows_lost:,} lost" if delivered.rows_lost else ""
    rows = f"{counted(delivered.rows, 'row')}{lost} of {in_bytes(read)} in {seconds:.3g} s"
    return "\n".join([*lines, rows + _by_whom(statistics)])


def _by_whom(statistics: Statistics) -> str:
    if statistics.threads == 1:
        return ""
    share = ", each with part of the groups" if statistics.have_parts else " and one high level"
    return f" by {statistics.threads} threads{share}"


def source_lines(sources: Sequence[SourceStatistics]) -> Iterator[str]:
    """Yield a line a source; many captures of one interface are summed."""
    files: dict[str, list[SourceStatistics]] = {}
    for source in sources:
        files.setdefault(source.interface, []).append(source)
    for of_interface in files.values():
        if len(of_interface) <= FILES_SHOWN or of_interface[0].link is not None:
            yield from (_source_line(source) for source in of_interface)
        else:
            yield from _lines_of_many(of_interface)


def _lines_of_many(sources: Sequence[SourceStatistics]) -> Iterator[str]:
    """Yield their sum, then a line for each of the first of which something is not answered."""
    sums = {name: sum(getattr(s, name) for s in sources) for name in ("read", *_SUMMED)}
    yield _source_line(replace(sources[0], label=f"{len(sources):,} captures", **sums))
    short = [s for s in sources if s.decoded + s.filtered < s.read or s.damage]
    yield from (f"  of these {_source_line(source)}" for source in short[:FILES_SHOWN])
    if len(short) > FILES_SHOWN:
        yield f"  and {len(short) - FILES_SHOWN:,} more (--stats json)"


def _source_line(source: SourceStatistics) -> str:
    properties = "".join(
        f"; {count:,} {name}"
        for name in ("truncated", "carried")
        if (count := getattr(source, name))
    )
    terms = _sum(source, _SOURCE_TERMS)
    kernel = _kernel_terms(source) if source.link is not None else ""
    failed = f"failed {counted(source.failures, 'time')}; " if source.failures else ""
    return (
        f"{source.label} ({source.interface}): {failed}{kernel}read {source.read:,} = "
        f"{terms}{properties}"
    )


def _kernel_terms(source: SourceStatistics) -> str:
    """Return what a link's packets are by the kernel's count, of which what was read is a part."""
    dropped = f"dropped {source.kernel_dropped:,} + " if source.kernel_dropped else ""
    unread = f"unread {source.unread:,} + " if source.unread else ""
    return f"received {source.kernel_received:,} = {dropped}{unread}"


def lfta_line(lfta: LftaStatistics, decoded: int) -> str:
    """Return the line of a query's low level, which was given so many packets."""
    whole = f" - fragments {lfta.fragments:,} + datagrams {lfta.datagrams:,}"
    given = f"decoded {decoded:,}{whole if lfta.fragments else ''}"
    line = f"{lfta.name} on {lfta.interface}: {given} = {_sum(lfta, _LFTA_TERMS)}"
    return line + _tunnels(lfta) + _fragments(lfta) + _in_order(lfta)


def _tunnels(lfta: LftaStatistics) -> str:
    """Return what became of tunnels, of a query that opens some."""
    if not (lfta.opened or lfta.unopened or lfta.too_deep):
        return ""
    closed = f", {lfta.unopened:,} could not be" if lfta.unopened else ""
    deep = f", {lfta.too_deep:,} have more inside" if lfta.too_deep else ""
    return f"; tunnels of {lfta.opened:,} were opened{closed}{deep}"


def _fragments(lfta: LftaStatistics) -> str:
    """Return what became of fragments, of a query that puts datagrams together."""
    causes = (
        ("incomplete", lfta.fragments_incomplete),
        ("without room", lfta.fragments_no_room),
        ("overlapping", lfta.fragments_overlapping),
        ("malformed", lfta.fragments_malformed),
        ("repeated", lfta.fragments_repeated),
    )
    lost = ", ".join(f"{count:,} {cause}" for cause, count in causes if count)
    return f"; fragments dropped: {lost}" if lost else ""


def _in_order(lfta: LftaStatistics) -> str:
    """Return what became of segments of TCP, of a query to which they come in order."""
    if not lfta.segments:
        return ""
    causes = (
        ("after 2 seconds", lfta.gaps_waited),
        ("without room", lfta.gaps_no_room),
        ("at an end", lfta.gaps_ended),
    )
    gaps = ", ".join(f"{count:,} {cause}" for cause, count in causes if count)
    given_up = f"; gaps given up: {gaps}" if gaps else ""
    forgotten = f"; {lfta.directions_forgotten:,} directions forgotten"
    return (
        f"; TCP in order: held {lfta.segments_held:,} of {lfta.segments:,}, repeated"
        f" {lfta.segments_repeated:,}{given_up}{forgotten if lfta.directions_forgotten else ''}"
    )


def list_line(item: ListStatistics) -> str:
    """Return the line of a watchlist."""
    counts = (("refused", item.refused), ("given again", item.replaced))
    terms = "".join(f", {counted(count, 'line')} {name}" for name, count in counts if count)
    failures = f", {item.failures:,} failed" if item.failures else ""
    reads = counted(item.reads, "time")
    return f"list {item.name}: {counted(item.rows, 'row')}{terms}; read {reads}{failures}"


def _decoded(statistics: Statistics, lfta: LftaStatistics) -> int:
    """Return what the sources of an LFTA's interface decoded: counted there, not by the LFTA."""
    return sum(s.decoded for s in statistics.sources if s.interface == lfta.interface)


def _stream_line(stream: StreamAccount) -> str:
    counts = (("damaged", stream.lost_rows), ("no longer kept", stream.retired_rows))
    terms = "".join(f", {counted(count, 'row')} {name}" for name, count in counts if count)
    spool = "" if stream.spool is None else f" of {stream.spool}"
    return (
        f"{stream.stream} on {stream.interface}{spool}, generation {stream.generation}: "
        f"{counted(stream.rows, 'row')} in {_segments(stream.segments)} of {in_bytes(stream.bytes)}"
        f"{terms}{_lost(stream)}"
    )


def _segments(count: int) -> str:
    return counted(count, "segment")


def _lost(stream: StreamAccount) -> str:
    """Say what runs have lost that did not end."""
    lost, parts = stream.lost, []
    if lost.damaged_segments:
        parts.append(f"{counted(lost.damaged_rows, 'row')} in {_segments(lost.damaged_segments)}")
    if lost.segments:
        parts.append(f"{_segments(lost.segments)} of {in_bytes(lost.segment_bytes)} not yet listed")
    if lost.manifest_bytes:
        parts.append(f"{in_bytes(lost.manifest_bytes)} of the manifest")
    if lost.unwritten_rows:
        parts.append(f"{counted(lost.unwritten_rows, 'row')} that could not be written")
    return f"; a run that did not end lost {' and '.join(parts)}" if parts else ""


def operator_line(operator: OperatorStatistics) -> str:
    """Return the line of an operator of the high level."""
    refused = ("groups_refused", "rows_refused", "out_of_order")
    counts = ("rejected", "no_value", "held", *refused, "beyond_limit", "passed_over")
    return ", ".join(
        [
            f"{operator.name} ({operator.kind}): {counted(operator.rows_in, 'row')} in",
            f"{operator.rows_out:,} out",
            *(_term(operator, name) for name in counts if getattr(operator, name)),
        ]
    )


def _sum(counted: object, terms: Sequence[str]) -> str:
    """Return `late 2 + decoded 10`; the last term stands even if it is zero."""
    shown = [name for name in terms[:-1] if getattr(counted, name)]
    return " + ".join(_term(counted, name) for name in (*shown, terms[-1]))


def _term(counted: object, name: str) -> str:
    return f"{name.replace('_', ' ')} {getattr(counted, name):,}"


def remarks(statistics: Statistics) -> Iterator[str]:
    """Say what a person can do about rows that are not there."""
    yield from _link_remarks([s for s in statistics.sources if s.link is not None])
    yield from _record_remarks(statistics.sources)
    yield from map(str, statistics.raised)
    unlinked = [source for source in statistics.sources if source.link is None]
    late = [s for s in unlinked if s.late and not is_of_stream(s.interface)]
    if late:
        worst = max(source.worst_lateness_ns for source in late) / _SECOND_NS
        yield (
            f"late packets were dropped, up to {worst:.3g} s behind: --disorder all (files) or a "
            "greater --slack (pipes) keeps them"
        )
    yield from map(_evictions, filter(collides, statistics.lftas))
    for lfta in statistics.lftas:
        if lfta.forgotten:
            yield (
                f"{lfta.name} on {lfta.interface}: forgot {lfta.forgotten:,} keys that packets "
                "might match yet: a shorter window, or DEFINE { algorithm 'bloom'; }"
            )
    if any(o.groups_refused > o.refused_for_memory for o in statistics.operators):
        yield "some windows are incomplete: --max-groups allows more groups"
    if any(o.rows_refused > o.refused_for_memory for o in statistics.operators):
        yield "rows, or matches of rows, are missing: --max-rows allows more of them to wait"
    for operator in statistics.operators:
        if operator.passed_over:
            yield (
                f"{operator.name}: {counted(operator.passed_over, 'silent window')} passed over: a "
                "timestamp far ahead of the others, or DEFINE { max_silence …; } for more of them"
            )


def _record_remarks(sources: Sequence[SourceStatistics]) -> Iterator[str]:
    """Say which records of STREAMs are none, and which came too late."""
    records = [source for source in sources if is_of_stream(source.interface)]
    for source in records:
        if source.undecodable_first is not None:
            others = f", the first of {source.undecodable:,}" if source.undecodable > 1 else ""
            yield f"undecodable{others}: {source.undecodable_first}"
        yield from (f"{source.label}: {note}" for note in source.notes)
    late = [source for source in records if source.late]
    if late:
        worst = max(source.worst_lateness_ns for source in late) / _SECOND_NS
        yield (
            f"late records were dropped, up to {worst:.3g} s behind: a greater --slack keeps them"
        )


def _output_remarks(delivered: Delivered) -> Iterator[str]:
    if delivered.waits:
        yield (
            f"the rows were read more slowly than they came: for {delivered.waited_s:.3g} s no "
            "packet was read; a greater --output-queue holds more of them"
        )
    if delivered.trace_lines_lost:
        lost = counted(delivered.trace_lines_lost, "line")
        yield f"trace (--trace): {delivered.trace_lines:,} written, {lost} lost"


def _evictions(lfta: LftaStatistics) -> str:
    """Say why groups left a table, and what keeps more in, where anything does."""
    evicted = f"{lfta.name} on {lfta.interface}: evicted {lfta.evicted:,}: so many "
    if wanted_slots(lfta) == lfta.slots:
        return (
            f"{evicted}groups left while its table was smaller than its {lfta.slots:,} slots, or "
            "because windows as short as its own crowd each other out; longer ones are less to do "
            "for the high level"
        )
    return (
        f"{evicted}packets found another group in one of its {lfta.slots:,} slots, which is more "
        "to do for the high level; a greater --slots, or without --slots a greater --memory, "
        "keeps more in"
    )


def _link_remarks(links: Sequence[SourceStatistics]) -> Iterator[str]:
    if any(link.kernel_dropped for link in links):
        yield (
            "packets were dropped while the ring was full: a greater --ring, or less to do for each"
        )
    for link in (link for link in links if link.nic_dropped):
        dropped = counted(link.nic_dropped, "packet")
        yield f"{link.label}: {dropped} dropped before the kernel saw them"
    if any(link.late for link in links):
        yield "late packets were dropped: a greater --link-slack keeps them"
    if any(link.carried for link in links):
        yield (
            "this host's clock has stepped: the timestamps of packets that were carried are not "
            "their own, but none is lost; let NTP slew it"
        )
    if any(link.skew for link in links):
        yield "packets too far behind the clock were dropped: a greater --max-skew keeps them"
