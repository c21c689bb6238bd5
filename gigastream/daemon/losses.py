# SPDX-License-Identifier: Apache-2.0
"""What crashes took, in packets and in time."""

from __future__ import annotations

import time
from collections import Counter, deque

from msgspec.structs import replace as with_changes

from gigastream.daemon.messages import CaptureReport, Loss
from gigastream.engine.statistics import SourceStatistics
from gigastream.words import are, counted

_KEPT = 100
_SECOND_NS = 10**9
_LEAST_S = 0.01
_FEW_S = 10
_NAMES_SHOWN = 3

_Key = tuple[str, str]
"""Of a source: its label, and its interface."""


class Losses:
    """The last of them, oldest first, and all of them together."""

    def __init__(self) -> None:
        self._all: deque[Loss] = deque(maxlen=_KEPT)
        self._since_ns = 0
        self._is_open = False
        self._told: dict[_Key, int] = {}
        """By source: packets of its ring that reports have told of, or that are told to be lost."""
        self._lost: Counter[str] = Counter()

    @property
    def all(self) -> tuple[Loss, ...]:
        """As a status tells them."""
        return tuple(self._all)

    @property
    def packets(self) -> dict[str, int]:
        """By interface, what all crashes took."""
        return dict(self._lost)

    def crash(self, incarnation: int, last: CaptureReport | None, reason: str) -> None:
        """A capture process is gone, whose last report this was."""
        now = time.time_ns()
        if not self._is_open:  # one that never reported adds nothing to the gap of those before it
            self._since_ns = now
        if last is not None:
            self._since_ns = last.at_ns
        self._is_open = True
        away = now - self._since_ns
        held = None if last is None else _held(last)
        loss = Loss(
            incarnation=incarnation, at_ns=now, away_ns=away, packets={}, reason=reason, held=held
        )
        self._all.append(loss)

    def goes_on(self, report: CaptureReport) -> Loss | None:
        """Take what a report tells of; the first of an incarnation says what is lost: its loss.

        That is what those before it have taken of the ring, or the kernel has told them to be
        dropped, and no report tells of. What lies in the ring is not lost: it is read.
        """
        closes, self._is_open = self._is_open, False
        if closes:
            self._close(report)
        for source in report.sources:
            self._told[_key(source)] = _before(source) + source.read + source.kernel_dropped
        return self._all[-1] if closes else None

    def _close(self, report: CaptureReport) -> None:
        packets = Counter[str]()
        for source in report.sources:
            lost = _before(source) - self._told.get(_key(source), 0)
            packets[source.interface] += max(0, lost)
        self._lost.update(packets)
        last = self._all[-1]
        away = report.at_ns - self._since_ns
        self._all[-1] = with_changes(last, away_ns=away, packets=dict(packets))


def loss_text(loss: Loss) -> str:
    """What a crash took, for a person."""
    taken = {name: count for name, count in loss.packets.items() if count}
    packets = ", ".join(f"{counted(count, 'packet')} of {name}" for name, count in taken.items())
    lost = f"{packets} {are(sum(taken.values()))} lost" if taken else "no packet is lost"
    away = f"{seconds_text(loss.away_ns / _SECOND_NS)} without a capture process"
    return f"{lost}, {away}{_held_text(loss.held or {})}"


def _held_text(held: dict[str, int]) -> str:
    if not held:
        return ""
    most = sorted(held, key=lambda name: -held[name])
    shown = [f"{held[name]:,} of {name}" for name in most[:_NAMES_SHOWN]]
    if more := most[_NAMES_SHOWN:]:
        shown.append(f"{sum(held[name] for name in more):,} of others")
    gone = "groups and rows that were open went with it, by its last report"
    return f"; {gone}: {', '.join(shown)}"


def seconds_text(seconds: float) -> str:
    """A short time, as precise as anybody reads it."""
    if 0 < seconds < _LEAST_S:
        return f"less than {_LEAST_S} s"
    digits = 2 if seconds < _FEW_S else 0
    text = f"{seconds:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} s"


def _key(source: SourceStatistics) -> _Key:
    return source.label, source.interface


def _held(report: CaptureReport) -> dict[str, int]:
    """Groups and rows by who holds them: of an LFTA in all of its interfaces' tables."""
    found = Counter[str]()
    for each in report.sets:
        found.update({f"{each.name}/{node.name}": node.held for node in each.operators})
        for lfta in each.lftas:
            found[f"{each.name}/{lfta.name}"] += lfta.groups
    return dict(+found)


def _before(source: SourceStatistics) -> int:
    return source.taken_before + source.dropped_before
