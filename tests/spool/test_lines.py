# SPDX-License-Identifier: Apache-2.0
"""Lines of a manifest: any entry comes back as it was; no bytes are taken for what they are not."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigastream.punctuation import JointBound
from gigastream.spool import END, NOTHING, Entry, Lost
from gigastream.spool.entry import MAX_LINE_BYTES, BadLineError, decode, encode

BOUNDS = st.one_of(
    st.sampled_from([NOTHING, NOTHING + 1, -1, 0, END - 1, END]), st.integers(NOTHING, END)
)
COUNTS = st.one_of(st.sampled_from([0, 1, END]), st.integers(0, END))
JOINTS = st.sampled_from([((0, 1), (5, -6)), ((0, 2), (END, NOTHING))]).map(
    lambda pair: JointBound(*pair)
)
LOSSES = st.builds(Lost, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
COMMON = {
    "bounds": st.lists(BOUNDS, min_size=3, max_size=20).map(tuple),
    "joint": st.none() | JOINTS,
    "base_ns": BOUNDS,
    "first": COUNTS,
    "last": COUNTS,
    "made_ns": COUNTS,
}
NO_ROWS = {"segment": st.none(), **dict.fromkeys(("rows", "size_bytes", "checksum"), st.just(0))}
RANGES = st.tuples(BOUNDS, BOUNDS).map(lambda ends: (min(ends), max(ends)))
SEGMENTS = st.builds(
    Entry, st.just("segment"), COUNTS, COUNTS, COUNTS, COUNTS, **COMMON, lost=st.none()
).flatmap(
    lambda entry: st.lists(
        st.none() | RANGES, min_size=len(entry.bounds), max_size=len(entry.bounds)
    ).map(lambda ranges: replace(entry, ranges=tuple(ranges)))
)
LINES = st.builds(Entry, st.sampled_from(["punctuation", "end"]), **NO_ROWS, **COMMON)
RUNS = st.builds(Entry, st.just("run"), **NO_ROWS, **COMMON, lost=LOSSES)

JOINT = JointBound((0, 1), (7, -8))
GOOD = Entry("segment", 3, 10, 900, 17, (NOTHING, END), 5, 1, 2, 9, joint=JOINT)
RANGED = replace(GOOD, ranges=(None, (-3, 7)))
WITHOUT = (
    b'2a5f55d7 {"kind":"segment","segment":3,"rows":10,"size_bytes":900,"checksum":17,'
    b'"bounds":[null,9223372036854775807],"base_ns":5,"first":1,"last":2,"made_ns":9}\n'
)
"""Of format 2, and of 3 where no joint bound is known."""
WITH = WITHOUT[:-1].replace(
    b'"base_ns":5,', b'"base_ns":5,"joint":{"columns":[0,1],"bounds":[7,-8]},'
)


def line_of(text: bytes) -> bytes:
    """Return a line whose checksum fits, whatever the text."""
    return b"%08x %s" % (zlib.crc32(text), text)


def test_lines_are_what_they_were() -> None:
    assert encode(GOOD)[9:-1] == WITH[9:]
    assert encode(replace(GOOD, joint=None)) == WITHOUT
    assert encode(RANGED)[9:-1] == WITH[9:-1] + b',"ranges":[null,[-3,7]]}'
    assert decode(WITHOUT[:-1]) == replace(GOOD, joint=None)


@given(st.one_of(SEGMENTS, LINES, RUNS))
def test_an_entry_comes_back(entry: Entry) -> None:
    line = encode(entry)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert decode(line[:-1]) == entry


@given(st.one_of(SEGMENTS, RUNS), st.data())
def test_a_changed_bit_is_noticed(entry: Entry, data: st.DataObject) -> None:
    line = bytearray(encode(entry)[:-1])
    line[data.draw(st.integers(0, len(line) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadLineError):
        decode(bytes(line))


@given(st.one_of(SEGMENTS, RUNS), st.data())
def test_a_torn_line_is_noticed(entry: Entry, data: st.DataObject) -> None:
    line = encode(entry)[:-1]
    with pytest.raises(BadLineError):
        decode(line[: data.draw(st.integers(0, len(line) - 1))])


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_order(text: bytes) -> None:
    for line in (text, line_of(text)):
        with pytest.raises(BadLineError):
            decode(line)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children)
    ),
)


@given(st.sampled_from(sorted(json.loads(encode(RANGED)[9:]))), JSON)
def test_a_field_of_another_kind_is_refused_or_means_what_it_says(name: str, value: object) -> None:
    text = json.dumps(json.loads(encode(RANGED)[9:]) | {name: value}).encode()
    try:
        entry = decode(line_of(text))
    except BadLineError:
        return
    assert decode(encode(entry)[:-1]) == entry
    assert all(type(number) is int for number in (entry.rows, entry.last, *entry.bounds))


HOSTILE = {
    "deep": b"[" * 100_000,
    "deep object": b'{"kind":' * 50_000,
    "many digits": b'{"kind":"run","base_ns":' + b"9" * 5_000 + b"}",
    "infinite": b'{"kind":"end","bounds":[],"base_ns":1e999,"first":0,"last":0,"made_ns":0}',
    "a boolean": b'{"kind":"end","bounds":[],"base_ns":true,"first":0,"last":0,"made_ns":0}',
    "too great": b'{"kind":"end","bounds":[],"base_ns":0,"first":0,"last":0,"made_ns":%d}' % 2**63,
    "negative count": b'{"kind":"end","bounds":[],"base_ns":0,"first":-1,"last":0,"made_ns":0}',
    "no bounds": b'{"kind":"end","base_ns":0,"first":0,"last":0,"made_ns":0}',
    "nothing lost": b'{"kind":"run","bounds":[],"base_ns":0,"first":0,"last":0,"made_ns":0}',
    "no kind": b"{}",
    "no object": b"3",
    "half a letter": b'{"kind":"\xc3"}',
    "nothing": b"",
    **{
        f"joint {number}": b'{"kind":"end","bounds":[1,2],"base_ns":0,"joint":%s,'
        b'"first":0,"last":0,"made_ns":0}' % joint
        for number, joint in enumerate(
            [
                b"3",
                b"{}",
                b'{"columns":[0,1]}',
                b'{"columns":[0,1],"bounds":[1]}',
                b'{"columns":[1,0],"bounds":[1,2]}',
                b'{"columns":[0,2],"bounds":[1,2]}',
                b'{"columns":[0,true],"bounds":[1,2]}',
                b'{"columns":[0],"bounds":[1,2]}',
            ]
        )
    },
    **{
        f"ranges {number}": WITHOUT[9:-2] + b',"ranges":%s}' % ranges
        for number, ranges in enumerate(
            [b"3", b"{}", b"[]", b"[null]", b"[null,[1]]", b"[[2,1],null]", b"[[1,true],null]"]
        )
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lines_are_refused(name: str) -> None:
    with pytest.raises(BadLineError):
        decode(line_of(HOSTILE[name]))


def test_a_line_is_no_longer_than_readers_read() -> None:
    entry = Entry("end", None, 0, 0, 0, (NOTHING + 1,) * (MAX_LINE_BYTES // 20), 0, 0, 0, 0)
    with pytest.raises(ValueError, match="the limit is"):
        encode(entry)
