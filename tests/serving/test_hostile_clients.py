# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for what is not offered, send too much, read nothing, or have no token."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import flight
from serving.servers import TOKEN, Keys, Server, serving
from spool.made import all_numbers, folder_of, write_run

from gigastream.serving.offered import MAX_READERS, OfferedSpool
from gigastream.serving.slots import MAX_ANSWERS_OF_A_HOST, BusyError, Slots
from gigastream.spool import Spool, layout
from gigastream.spool.address import Address, address_of
from gigastream.spool.place import NoFileError
from gigastream.spool.protocol import ACTIONS, MAX_REQUEST_BYTES
from tests.waiting import wait_until

WITH_TOKEN = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())])


def client_of(server: Server) -> flight.FlightClient:
    roots = server.keys.certificate.read_bytes()
    return flight.FlightClient(server.location, tls_root_certs=roots)


def ask(
    client: flight.FlightClient, action: str, question: object, options: Any = WITH_TOKEN
) -> tuple[Mapping[str, str], bytes]:
    """What a server says, and what it gives."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    results = client.do_action(flight.Action(action, body), options)
    header, *pieces = [result.body.to_pybytes() for result in results]
    return json.loads(header), b"".join(pieces)


def address(kind: str, **others: Any) -> dict[str, Any]:
    return {"spool": "it", "address": {**Address(kind).to_json(), **others}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("served") / "it"
    write_run(root, 10, 20)
    (root.parent / "secret.json").write_text("{}")
    with serving(keys, root) as server:
        yield server


_TRACK = {"stream": "flows", "interface": "eth0", "number": 1}
_NO_TRACK = {**_TRACK, "number": 7}
_OUT = "../../secret"


@pytest.mark.parametrize(
    ("action", "question"),
    [
        ("read", {**address("progress", interface=_OUT), "offset": 0, "size_bytes": 9}),
        ("read", {**address("progress", interface="eth9"), "offset": 0, "size_bytes": 9}),
        ("read", {**address("segment", **_TRACK, part=77), "offset": 0, "size_bytes": 9}),
        ("read", {**address("segment", **_TRACK), "offset": -1, "size_bytes": 9}),
        ("read", {**address("segment", **_TRACK), "offset": 0, "size_bytes": 2**70}),
        ("read", {**address("segment", **_TRACK), "offset": 0}),
        ("read", {**address("streams"), "offset": 0, "size_bytes": 9}),
        ("size", address("secret.json")),
        ("size", address("index", path="secret.json")),
        ("size", address("plan", number="../..")),
        ("size", address("plan", number=-1)),
        ("size", address("segment", **{**_TRACK, "interface": "../eth0"})),
        ("size", address("segment", **{**_TRACK, "stream": ".."})),
        ("size", {"spool": "../it", "address": address("index")["address"]}),
        ("size", {"address": address("index")["address"]}),
        ("names", address("interfaces", stream="..")),
        ("names", address("interfaces", stream="/etc")),
        ("names", address("index")),
        ("signature", {"spool": "it", "address": "spool.json"}),
        ("commit", {**address("generation", **_TRACK), "reader": "", "segment": 1}),
        ("commit", {**address("generation", **_TRACK), "reader": "a\nb", "segment": 1}),
        ("commit", {**address("generation", **_TRACK), "reader": "a" * 300, "segment": 1}),
        ("commit", {**address("generation", **_TRACK), "reader": "a", "segment": "1"}),
        ("commit", {**address("generation", **_NO_TRACK), "reader": "a", "segment": 1}),
        ("commit", {**address("streams"), "reader": "a", "segment": 1}),
        ("shell", {"spool": "it"}),
        ("size", [1]),
        ("size", b"\xff"),
        ("size", b"[" * 5000),
        ("size", b" " * (MAX_REQUEST_BYTES + 1)),
    ],
)
def test_what_is_not_offered_is_refused(server: Server, action: str, question: object) -> None:
    before = sorted(server.roots[0].rglob("*"))
    said, given_ = ask(client_of(server), action, question)
    assert said["error"] in ("gone", "no-file", "refused")
    assert given_ == b""
    assert "Traceback" not in said["text"]
    assert "fault" not in said["text"]
    assert sorted(server.roots[0].rglob("*")) == before


_WHOLE = st.integers(0, 10**18 - 1)


@given(st.text(), st.text(max_size=20), st.text(max_size=20), _WHOLE, _WHOLE)
def test_no_address_leads_out_of_a_spool(
    kind: str, stream: str, interface: str, number: int, part: int
) -> None:
    kinds = ("progress", "interfaces", "generations", "generation", "manifest", "segment", kind)
    for each in kinds:
        with suppress(ValueError):
            path = Address(each, stream, interface, number, part).path()
            assert not path.startswith("/")
            assert not any(name in ("", ".", "..") for name in path.split("/"))


@given(st.sampled_from(["manifest", "segment", "retained", "description", "generation"]), _WHOLE)
def test_what_a_reader_asks_for_is_what_the_server_finds(kind: str, number: int) -> None:
    part = number if kind in ("manifest", "segment") else 0
    asked = Address(kind, "a/b", ".hid den", max(1, number), part)
    assert address_of(asked.path()) == Address.from_json(asked.to_json()) == asked


@pytest.mark.parametrize("shown", [None, b"Bearer x", b"Basic " + TOKEN.encode(), TOKEN.encode()])
def test_without_a_token_nothing_is_answered(server: Server, shown: bytes | None) -> None:
    headers = [] if shown is None else [(b"authorization", shown)]
    for action in ACTIONS:
        with pytest.raises(flight.FlightUnauthenticatedError):
            ask(client_of(server), action, {}, flight.FlightCallOptions(headers=headers))
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(client_of(server).list_flights(options=flight.FlightCallOptions(headers=headers)))


def test_a_server_that_is_sent_too_much_begins_again(tmp_path: Path, keys: Keys) -> None:
    """Before anybody sees the token: what it holds is bounded all the same."""
    write_run(tmp_path / "it", 10)
    with serving(keys, tmp_path / "it", words=("--memory", "192MiB")) as server:

        def is_cut_off() -> bool:
            """Sent once more where it was refused, and forgotten, before anybody looked."""
            with suppress(flight.FlightError, OSError):
                ask(client_of(server), "list", bytes(200 << 20), flight.FlightCallOptions())
            return "MiB are held for what clients send" in server.said()

        wait_until(is_cut_off, "the end of who is sent too much")
        wait_until(lambda: server.said().count("is offered as") > 1, "another beginning")
        assert "serving begins again" in server.said()
        (track,) = Spool(server.url(), access=keys.access).tracks()
        assert len(all_numbers(track)) == 10


def test_who_reads_nothing_holds_a_place_and_gives_it_back(tmp_path: Path, keys: Keys) -> None:
    write_run(tmp_path / "it", 10)
    # longer than what the kernels and gRPC take on the way
    (folder_of(tmp_path / "it") / layout.segment_name(9)).write_bytes(bytes(64 << 20))
    asked = {**address("segment", **_TRACK, part=9), "offset": 0, "size_bytes": 64 << 20}
    with serving(keys, tmp_path / "it") as server, ExitStack() as clients:
        held = []
        for _ in range(MAX_ANSWERS_OF_A_HOST):
            client = clients.enter_context(client_of(server))
            held.append(
                client.do_action(flight.Action("read", json.dumps(asked).encode()), WITH_TOKEN)
            )
            next(held[-1])
        with pytest.raises(flight.FlightUnavailableError, match="as many answers as it may"):
            ask(client_of(server), "list", {})
        held.clear()
        clients.close()

        def is_free() -> bool:
            with suppress(flight.FlightUnavailableError):
                return ask(client_of(server), "list", {})[0] == {}
            return False

        wait_until(is_free, "a place")


def test_one_host_leaves_places_to_others() -> None:
    slots = Slots(most=3, most_of_a_host=2)
    with slots.taken("a"), slots.taken("a"):
        with pytest.raises(BusyError), slots.taken("a"):
            pass
        with slots.taken("b"), pytest.raises(BusyError), slots.taken("c"):
            pass
    with slots.taken("a"), slots.taken("a"):
        pass


def test_readers_are_not_made_without_end(tmp_path: Path) -> None:
    write_run(tmp_path / "it", 1)
    spool = OfferedSpool(str(tmp_path / "it"))

    def commit(reader: str) -> None:
        list(spool.answer("commit", {**address("generation", **_TRACK), **_of(reader)}))

    for number in range(MAX_READERS):
        commit(f"reader {number}")
    with pytest.raises(NoFileError, match="readers already"):
        commit("one more")
    commit("reader 0")


def _of(reader: str) -> dict[str, Any]:
    return {"reader": reader, "segment": 1}
