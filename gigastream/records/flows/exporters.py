# SPDX-License-Identifier: Apache-2.0
"""What is remembered of exporters: templates, sampling rates, where their numbers stand.

Anybody who reaches the port can claim to be a million exporters: each store has a greatest size,
and the least recently used goes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from gigastream.records.flows.templates import Template

MAX_STREAMS = 4096
MAX_TEMPLATES = 1 << 14
"""Of all streams together."""
MAX_FIELDS_HELD = 1 << 19
"""Of all templates together, each of which takes some 100 bytes at most."""
MAX_SAMPLERS = 64
"""Of a stream."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """A dictionary of a greatest size: the least recently used goes, and is counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[_Key, _Value] = OrderedDict()
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: _Key) -> _Value | None:
        """What is held under a key, which is used by that."""
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Hold a value."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self.forget()

    def forget(self) -> _Value:
        """Hold the least recently used no more."""
        self.forgotten += 1
        return self._held.popitem(last=False)[1]

    def drop(self, key: _Key) -> _Value | None:
        """Hold it no more, if it was."""
        return self._held.pop(key, None)


StreamKey = tuple[bytes, int, str]
"""Address of the exporter, its domain (source id, engine, sub-agent), the format."""


class ExportStream:
    """A stream of records with numbers of its own: an exporter may have several."""

    def __init__(self) -> None:
        self.samplers: Recent[int, int] = Recent(MAX_SAMPLERS)
        """Sampling rate by the sampler's number; -1 is that of all records."""
        self.begun_ns: int | None = None
        self.withdrawn = [0, 0]
        """How many templates there had been when it withdrew all of its own, and all of options."""
        self._next: int | None = None

    def rate_of(self, sampler: int | None) -> int | None:
        """One in how many packets, as far as options have said so."""
        rate = None if sampler is None else self.samplers.get(sampler)
        return self.samplers.get(-1) if rate is None else rate

    def missing(self, sequence: int, counted: int) -> int:
        """How many units are missing before this datagram, which has `counted` of them.

        A number below the one that was due is a datagram that came late, or an exporter that began
        anew; neither is a loss.
        """
        due, self._next = self._next, (sequence + counted) & 0xFFFFFFFF
        if due is None:
            return 0
        ahead = (sequence - due) & 0xFFFFFFFF
        if ahead < _MOST_MISSING:
            return ahead
        if -ahead & 0xFFFFFFFF < _MOST_LATE:  # late: the due one stays due
            self._next = due
        return 0


_MOST_MISSING = 1 << 24
"""Beyond it the exporter began anew with some number."""
_MOST_LATE = 1 << 10


_Announced = tuple[int, Template]
"""Its number among all that came, and the template."""


class Exporters:
    """All streams and templates."""

    def __init__(self) -> None:
        self.streams: Recent[StreamKey, ExportStream] = Recent(MAX_STREAMS)
        self._templates: Recent[tuple[StreamKey, int], _Announced] = Recent(MAX_TEMPLATES)
        self._fields = 0
        self._announced = 0
        """Templates so far."""

    def stream(self, key: StreamKey) -> ExportStream:
        """The stream of a key, a new one if it is not known (any more)."""
        found = self.streams.get(key)
        if found is None:
            found = ExportStream()
            self.streams.put(key, found)
        return found

    def template(self, key: StreamKey, number: int) -> Template | None:
        """A template that the stream has announced, and not withdrawn."""
        found = self._templates.get((key, number))
        if found is None or found[0] <= self.stream(key).withdrawn[found[1].is_options]:
            return None
        return found[1]

    def announce(self, key: StreamKey, number: int, template: Template) -> None:
        """Hold a template; one of the same number is replaced."""
        self.withdraw(key, number)
        self._announced += 1
        self._fields += template.field_count
        while len(self._templates) >= MAX_TEMPLATES or self._fields > MAX_FIELDS_HELD:
            self._fields -= self._templates.forget()[1].field_count
        self._templates.put((key, number), (self._announced, template))

    def withdraw(self, key: StreamKey, number: int) -> None:
        """Hold a template no more (RFC 7011, section 8.1)."""
        found = self._templates.drop((key, number))
        self._fields -= 0 if found is None else found[1].field_count

    def withdraw_all(self, key: StreamKey, *, is_options: bool) -> None:
        """Believe no template, or options template, that a stream has announced so far.

        A datagram may say it a thousand times: they are not looked through.
        """
        self.stream(key).withdrawn[is_options] = self._announced
