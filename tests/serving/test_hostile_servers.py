# SPDX-License-Identifier: Apache-2.0
"""Servers that lie: what they send is bounded, checked against the manifest, and told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count, repeat
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import flight
from serving.servers import Keys
from spool.made import folder_of, only_track, write_run

from gigastream.serving.offered import OfferedSpool
from gigastream.serving.server import SpoolServer
from gigastream.spool import (
    Access,
    SegmentDamage,
    Spool,
    SpoolAwayError,
    SpoolReadError,
    Track,
    layout,
    server_host,
    track,
)
from gigastream.spool.entry import encode
from gigastream.spool.query_set import encode_schema
from tests.waiting import PATIENCE_S, wait_until

Answer = Callable[[Mapping[str, Any]], Iterator[bytes]]


class Lying(OfferedSpool):
    """A true spool, but for what is asked of some files, or for some actions."""

    def __init__(self, root: Path, lies: Mapping[str, Answer]) -> None:
        super().__init__(str(root))
        self._lies = lies

    def answer(self, action: str, question: Mapping[str, Any]) -> Iterator[bytes]:
        kind = question.get("address", {}).get("kind")
        lie = self._lies.get(f"{action} {kind}") or self._lies.get(action)
        return super().answer(action, question) if lie is None else lie(question)


@contextmanager
def lying(keys: Keys, root: Path, **lies: Answer) -> Iterator[str]:
    """The URL of a spool that is served with lies, by action and kind ("read_segment")."""
    named = {name.replace("_", " "): lie for name, lie in lies.items()}
    spools = {"it": Lying(root, named)}
    tokens = [keys.token.read_text().strip()]
    with SpoolServer("grpc://127.0.0.1:0", spools, tokens, None, print) as server:
        yield f"grpc://127.0.0.1:{server.port}/it"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_run(tmp_path / "true", 10, 20)
    return tmp_path / "true"


@pytest.fixture
def access(keys: Keys) -> Access:
    return Access(str(keys.token))


def the_track(url: str, access: Access) -> Track:
    (found,) = Spool(url, access=access).tracks()
    return found


def value(said: object) -> Answer:
    return lambda question: iter([json.dumps(said).encode()])


def endless(question: Mapping[str, Any]) -> Iterator[bytes]:
    return repeat(bytes(1 << 16))


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(endless, id="endless"),
        pytest.param(lambda question: repeat(b""), id="endless-nothing"),
        pytest.param(lambda question: iter([bytes(64 << 20)]), id="one-message-too-large"),
        pytest.param(lambda question: iter([b"[" * 100_000]), id="nested"),
        pytest.param(lambda question: iter([b"{"]), id="no-json"),
    ],
)
def test_more_than_was_asked_for_is_not_taken(
    root: Path, keys: Keys, access: Access, lie: Answer
) -> None:
    for action in ("read", "names", "size", "signature"):
        with lying(keys, root, **{action: lie}) as url:
            try:
                found = Spool(url, access=access)
                told = [*found.damage, *(t for each in found.tracks() for t in _damage(each))]
                told += found.damage
            except SpoolReadError as error:
                told = [str(error)]
        assert told or action == "names"


def _damage(track: Track) -> list[str]:
    track.poll()
    return track.damage


@pytest.mark.parametrize("said", ["x", -1, None, {}, [1, "2"], [[]], ["../.."], ["a/b"], True])
def test_answers_of_another_kind_are_refused(
    root: Path, keys: Keys, access: Access, said: object
) -> None:
    lies = {action: value(said) for action in ("names", "size", "signature")}
    with lying(keys, root, **lies) as url:
        track = the_track(url, access)
        track.poll()
        assert track.damage


def _first_segment(change: Callable[[bytes], bytes], root: Path) -> Answer:
    content = (folder_of(root) / layout.segment_name(0)).read_bytes()
    return lambda question: iter([change(content)])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content[:-9], "bytes of"),
        (lambda content: content + b"x", "more than the"),
        (lambda content: content + bytes(1 << 20), "sends more than it is asked for"),
        (lambda content: bytes(len(content)), "checksum does not fit"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "checksum does not fit"),
    ],
)
def test_a_segment_that_is_another_is_damage(
    root: Path, keys: Keys, access: Access, change: Callable[[bytes], bytes], says: str
) -> None:
    with lying(keys, root, read_segment=_first_segment(change, root)) as url:
        track = the_track(url, access)
        first = next(entry for entry in track.poll() if entry.is_segment)
        with pytest.raises(SegmentDamage, match=says):
            list(track.read(first))


def test_a_schema_that_is_not_the_segments_is_damage(
    root: Path, keys: Keys, access: Access
) -> None:
    path = root / "sets" / "000001" / layout.DESCRIPTIONS
    described = json.loads(path.read_text())
    stream = described["streams"]["flows"]
    schema = only_track(root).schema
    stream["arrow_schema"] = encode_schema(schema.set(0, schema.field(1).with_name("n")))
    with lying(keys, root, read_descriptions=value(described)) as url:
        track = the_track(url, access)
        first = next(entry for entry in track.poll() if entry.is_segment)
        with pytest.raises(SegmentDamage, match="its columns are not the track's"):
            list(track.read(first))


def test_a_manifest_without_end_is_not_read(
    root: Path, keys: Keys, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(track, "MAX_SERVED_ENTRIES", 5000)
    line = encode(next(entry for entry in only_track(root).poll() if entry.kind == "run"))

    def lines(question: Mapping[str, Any]) -> Iterator[bytes]:
        return iter([line * (question["size_bytes"] // len(line))])

    lies = {"read_manifest": lines, "size_manifest": value(2**40)}
    with lying(keys, root, **lies) as url, pytest.raises(SpoolReadError, match="without end"):
        the_track(url, access).poll()


def test_damage_without_end_is_not_listed(root: Path, keys: Keys, access: Access) -> None:
    def lines(question: Mapping[str, Any]) -> Iterator[bytes]:
        return iter([b"".join(b"%08x\n" % n for n in range(5000))])

    lies = {"read_manifest": lines, "size_manifest": value(2**40)}
    with lying(keys, root, **lies) as url, pytest.raises(SpoolReadError, match="damage without"):
        the_track(url, access).poll()


def test_a_line_without_end_is_given_up(root: Path, keys: Keys, access: Access) -> None:
    def bytes_asked_for(question: Mapping[str, Any]) -> Iterator[bytes]:
        return iter([b"x" * question["size_bytes"]])

    lies = {"read_manifest": bytes_asked_for, "size_manifest": value(2**40)}
    with lying(keys, root, **lies) as url:
        track = the_track(url, access)
        assert [entry for entry in track.poll() if entry.is_segment] == []
        assert "longer than what any writer makes" in " ".join(track.damage)


def test_who_never_answers_is_away(
    root: Path, keys: Keys, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = Event()

    def never(question: Mapping[str, Any]) -> Iterator[bytes]:
        for number in count():
            is_over.wait()
            yield b"%d" % number
            return

    with lying(keys, root, signature=never) as url:
        track = the_track(url, access)  # with time enough: all but one thing is answered
        monkeypatch.setattr(server_host, "ANSWER_SECONDS", 0.2)
        monkeypatch.setattr(server_host, "LEAST_BYTES_PER_SECOND", 1 << 30)
        # All else it would answer: who is asked once more would be there again.
        again = SimpleNamespace(sleep=lambda _seconds: is_over.wait())
        monkeypatch.setattr(server_host, "time", again)
        assert track.poll() == []
        assert track.away is not None
        assert track.damage == []
        with pytest.raises(SpoolAwayError):
            list(track._place.names(track.folder))  # nobody waits a second time
        monkeypatch.setattr(server_host, "ANSWER_SECONDS", PATIENCE_S)
        is_over.set()
        wait_until(lambda: track.poll() is not None and track.away is None, "it to be there again")


def test_another_server_of_flight_is_none(keys: Keys, access: Access) -> None:
    class Other(flight.FlightServerBase):  # type: ignore[misc]
        def do_action(self, context: object, action: object) -> Iterator[flight.Result]:
            yield flight.Result(b"hello")

    with (
        Other("grpc://127.0.0.1:0") as server,
        pytest.raises(SpoolReadError, match="does not speak as a server of spools"),
    ):
        Spool(f"grpc://127.0.0.1:{server.port}/it", access=access)
