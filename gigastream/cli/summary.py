# SPDX-License-Identifier: Apache-2.0
"""The account of a run on stderr: each line is a sum whose terms are counted where they happen.

Terms that are zero are left out; `--stats json` has all of them (OPERATORS section 7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from gigastream.cli.progress import in_bytes

if TYPE_CHECKING:
    from gigastream.engine.statistics import (
        LftaStatistics,
        OperatorStatistics,
        SourceStatistics,
        Statistics,
    )
    from gigastream.spool_account import StreamAccount

_SOURCE_TERMS = ("undecodable", "filtered", "late", "skew", "decoded")
_LFTA_TERMS = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
_SECOND_NS = 10**9


def as_json(
    statistics: Statistics, rows: int, seconds: float, streams: Sequence[StreamAccount] = ()
) -> str:
    """Return all counters as one JSON object; `streams` are those of a spool."""
    spooled = {"streams": [stream.as_json() for stream in streams]} if streams else {}
    account = {**asdict(statistics), **spooled, "rows": rows, "seconds": round(seconds, 6)}
    return json.dumps(account)


def as_text(
    statistics: Statistics, rows: int, seconds: float, streams: Sequence[StreamAccount] = ()
) -> str:
    """Return the summary that a person reads; `streams` are those of a spool."""
    read = sum(source.bytes for source in statistics.sources)
    if not statistics.sources:
        read = sum(stream.bytes for stream in streams)
    lines = [_source_line(source) for source in statistics.sources]
    lines += [_lfta_line(lfta, _decoded(statistics, lfta)) for lfta in statistics.lftas]
    lines += [_stream_line(stream) for stream in streams]
    lines += [_operator_line(operator) for operator in statistics.operators]
    lines += _remarks(statistics)
    return "\n".join([*lines, f"{rows:,} rows of {in_bytes(read)} in {seconds:.3g} s"])


def _source_line(source: SourceStatistics) -> str:
    cut = f"; {source.truncated:,} truncated" if source.truncated else ""
    terms = _sum(source, _SOURCE_TERMS)
    kernel = _kernel_terms(source) if source.link is not None else ""
    return f"{source.label} ({source.interface}): {kernel}read {source.read:,} = {terms}{cut}"


def _kernel_terms(source: SourceStatistics) -> str:
    """Return what a link's packets are by the kernel's count, of which what was read is a part."""
    dropped = f"dropped {source.kernel_dropped:,} + " if source.kernel_dropped else ""
    return f"received {source.kernel_received:,} = {dropped}"


def _lfta_line(lfta: LftaStatistics, decoded: int) -> str:
    return f"{lfta.name} on {lfta.interface}: decoded {decoded:,} = {_sum(lfta, _LFTA_TERMS)}"


def _decoded(statistics: Statistics, lfta: LftaStatistics) -> int:
    """Return what the sources of an LFTA's interface decoded: counted there, not by the LFTA."""
    return sum(s.decoded for s in statistics.sources if s.interface == lfta.interface)


def _stream_line(stream: StreamAccount) -> str:
    counts = (("damaged", stream.lost_rows), ("no longer kept", stream.retired_rows))
    terms = "".join(f", {count:,} rows {name}" for name, count in counts if count)
    return (
        f"{stream.stream} on {stream.interface}, generation {stream.generation}: "
        f"{stream.rows:,} rows in {_segments(stream.segments)} of {in_bytes(stream.bytes)}"
        f"{terms}{_lost(stream)}"
    )


def _segments(count: int) -> str:
    return f"{count:,} segment{'s' * (count != 1)}"


def _lost(stream: StreamAccount) -> str:
    """Say what runs have lost that did not end."""
    lost, parts = stream.lost, []
    if lost.damaged_segments:
        parts.append(f"{lost.damaged_rows:,} rows in {_segments(lost.damaged_segments)}")
    if lost.segments:
        parts.append(f"{_segments(lost.segments)} of {in_bytes(lost.segment_bytes)} not yet listed")
    if lost.manifest_bytes:
        parts.append(f"{in_bytes(lost.manifest_bytes)} of the manifest")
    return f"; a run that did not end lost {' and '.join(parts)}" if parts else ""


def _operator_line(operator: OperatorStatistics) -> str:
    counts = ("rejected", "no_value", "held", "groups_refused")
    return ", ".join(
        [
            f"{operator.name} ({operator.kind}): {operator.rows_in:,} rows in",
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


def _remarks(statistics: Statistics) -> Iterator[str]:
    """Say what a person can do about rows that are not there."""
    yield from _link_remarks([s for s in statistics.sources if s.link is not None])
    late = [source for source in statistics.sources if source.late and source.link is None]
    if late:
        worst = max(source.worst_lateness_ns for source in late) / _SECOND_NS
        yield (
            f"late packets were dropped, up to {worst:.3g} s behind: --disorder all (files) or a "
            "greater --slack (pipes) keeps them"
        )
    if any(operator.groups_refused for operator in statistics.operators):
        yield "some windows are incomplete: --max-groups allows more groups"


def _link_remarks(links: Sequence[SourceStatistics]) -> Iterator[str]:
    if any(link.kernel_dropped for link in links):
        yield (
            "packets were dropped while the ring was full: a greater --ring, or less to do for each"
        )
    for link in (link for link in links if link.nic_dropped):
        yield f"{link.label}: {link.nic_dropped:,} packets were dropped before the kernel saw them"
    if any(link.late for link in links):
        yield "late packets were dropped: a greater --link-slack keeps them"
    if any(link.skew for link in links):
        yield "packets too far behind the clock were dropped: a greater --max-skew keeps them"
