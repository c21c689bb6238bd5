# SPDX-License-Identifier: Apache-2.0
"""Whatever comes is decoded or counted, in bounded memory."""

from __future__ import annotations

import random
import struct
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

from gigastream.records.flows import exporters
from gigastream.records.flows.columns import BITS, COLUMNS
from gigastream.records.flows.decoder import FlowDecoder
from tests.flows import datagrams as made
from tests.flows.test_sflow import frame

SEEDS = [
    made.v5(made.v5_record("10.0.0.1", "10.0.0.2", 7, 700)),
    made.v9(
        made.one_set(0, made.template(256, (8, 4), (12, 4), (2, 4), (48, 1))),
        made.one_set(1, made.v9_options(257, [(1, 4)], (48, 1), (50, 4))),
        made.one_set(257, bytes(4) + b"\1\0\0\0\7"),
        made.one_set(256, bytes(12) + b"\1", bytes(12) + b"\2"),
    ),
    made.ipfix(
        made.one_set(2, made.template(256, (8, 4), (82, 0xFFFF), (0x8001, 3), (22, 4), (154, 8))),
        made.one_set(3, made.ipfix_options(257, 1, (302, 8), (309, 4), (310, 4), (160, 8))),
        made.one_set(257, struct.pack(">QIIQ", 1, 1, 100, 1)),
        made.one_set(256, bytes(4) + b"\2ab" + bytes(15), bytes(4) + b"\0" + bytes(15)),
    ),
    made.sflow(
        made.flow_sample(made.raw_header(frame(is_tagged=True), 1500)),
        made.expanded_sample(made.part(1001, bytes(16)), made.part(3, bytes(32))),
        made.part(2, bytes(8)),
    ),
]


def _mutated(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(changed))
        kind = chance.randrange(4)
        if kind == 0:
            changed[at] = chance.choice((0, 1, 255, chance.randrange(256)))
        elif kind == 1 and at + 2 <= len(changed):
            changed[at : at + 2] = struct.pack(">H", chance.choice((0, 1, 4, 256, 65535)))
        elif kind == 2:
            del changed[at : at + chance.randint(1, 8)]
        else:
            changed[at:at] = chance.randbytes(chance.randint(1, 8))
        if not changed:
            return b""
    return bytes(changed)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_decoded_or_counted(seed: int) -> None:
    chance = random.Random(seed)
    decoder = FlowDecoder()
    records = 0
    for number in range(3_000):
        data = _mutated(chance, chance.choice(SEEDS)) if number % 10 else chance.choice(SEEDS)
        decoder.take(data, made.EXPORTER, made.CAME_NS)
        rows = decoder.rows()
        records += rows.count
        for name, values in rows.columns.items():
            assert len(values) == rows.count
            assert all(_fits(COLUMNS[name], value) for value in values), name
    account = decoder.account
    assert account.datagrams == 3_000
    assert account.datagrams == account.unknown + account.damaged + account.decoded
    assert account.records == records > 1_000


def _fits(kind: str, value: Any) -> bool:
    if value is None:
        return True
    if kind == "INET":
        return isinstance(value, bytes) and len(value) == 16
    if kind == "string":
        return isinstance(value, str)
    most = 2**63 if kind == "timestamp" else 1 << BITS[kind]
    return isinstance(value, int) and 0 <= value < most


def test_exporters_templates_and_samplers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "MAX_STREAMS", 64)
    monkeypatch.setattr(exporters, "MAX_TEMPLATES", 256)
    decoder = FlowDecoder()
    many = [made.template(256 + at, (8, 4), (12, 4)) for at in range(100)]
    for at in range(2 * exporters.MAX_STREAMS):
        decoder.take(made.v9(made.one_set(0, *many), domain=at), made.EXPORTER, 0)
    held = decoder._exporters
    assert len(held.streams) == exporters.MAX_STREAMS
    assert len(held._templates) == exporters.MAX_TEMPLATES
    options = made.one_set(1, made.v9_options(400, [(1, 4)], (48, 4), (50, 4)))
    decoder.take(made.v9(options), made.EXPORTER, 0)
    samplers = (struct.pack(">III", 1, at, 5) for at in range(1_000))
    decoder.take(made.v9(made.one_set(400, *samplers)), made.EXPORTER, 0)
    stream = held.stream((made.EXPORTER, 7, "netflow9"))
    assert len(stream.samplers) == exporters.MAX_SAMPLERS


def test_a_template_that_is_used_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "MAX_TEMPLATES", 256)
    decoder = FlowDecoder()
    decoder.take(made.v9(made.one_set(0, made.template(256, (8, 4), (12, 4)))), made.EXPORTER, 0)
    flood = [made.template(256 + at, (8, 4), (12, 4)) for at in range(100)]
    for at in range(8):
        decoder.take(made.v9(made.one_set(0, *flood), domain=100 + at), made.EXPORTER, 0)
        decoder.take(made.v9(made.one_set(256, bytes(8))), made.EXPORTER, 0)
    assert decoder.account.unknown_sets == 0


def test_fields_of_templates_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "MAX_FIELDS_HELD", 1_000)
    decoder = FlowDecoder()
    held = decoder._exporters
    for at in range(40):
        fields = [(8, 4)] * (10 + at)
        for number in (300 + at, 300):
            data = made.one_set(2, made.template(number, *fields))
            decoder.take(made.ipfix(data), made.EXPORTER, 0)
        found = [template.field_count for _, template in held._templates._held.values()]
        assert held._fields == sum(found) <= 1_000
    assert held._templates.forgotten > 0


class _Unseen(OrderedDict[Any, Any]):
    """One that nobody goes through."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a datagram may ask for it a thousand times")


def test_withdrawing_goes_through_no_templates() -> None:
    decoder = FlowDecoder()
    templates = decoder._exporters._templates
    templates._held = _Unseen(templates._held)
    decoder.take(made.ipfix(made.one_set(2, made.template(256, (8, 4)))), made.EXPORTER, 0)
    decoder.take(made.ipfix(made.one_set(2, struct.pack(">HH", 2, 0))), made.EXPORTER, 0)
    decoder.take(made.ipfix(made.one_set(256, bytes(4))), made.EXPORTER, 0)
    assert decoder.account.unknown_sets == 1


@pytest.mark.parametrize("fields", [(160,), (305, 306), (309, 310), (310, 309), (50,), (34,)])
@pytest.mark.parametrize("lengths", [(20, 20), (8, 20), (20, 8)])
def test_options_of_numbers_that_nothing_holds(
    fields: tuple[int, ...], lengths: tuple[int, int]
) -> None:
    decoder = FlowDecoder()
    given = [*zip(fields, lengths, strict=False)]
    decoder.take(
        made.ipfix(
            made.one_set(3, made.ipfix_options(257, 1, (302, 8), *given)),
            made.one_set(257, bytes(8), *(b"\xff" * length for _, length in given)),
        ),
        made.EXPORTER,
        made.CAME_NS,
    )
    assert (decoder.account.decoded, decoder.account.damaged_sets) == (1, 0)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 15, 19])
def test_the_shortest_datagrams(length: int) -> None:
    for data in SEEDS:
        decoder = FlowDecoder()
        decoder.take(data[:length], made.EXPORTER, 0)
        assert decoder.account.decoded == 0 or length >= 16
