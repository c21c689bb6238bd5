# SPDX-License-Identifier: Apache-2.0
"""The console's server as a process: whom it answers, and what it says without a daemon."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

from gigastream.console import access
from gigastream.daemon.metrics import PACKET_OUTCOMES
from tests.cli.command import gigastream
from tests.daemon.consoles import Consoled, console
from tests.daemon.speaking import speaking, tail_line
from tests.waiting import PATIENCE_S

PAGE = Path(access.__file__).with_name("page")


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consoled]:
    """A console whose daemon is not there."""
    with console(tmp_path_factory.mktemp("console") / "socket") as made:
        yield made


@pytest.mark.parametrize("path", ["/api/status", "/api/tail?query=x", "/api/none", "/none"])
def test_without_the_token_nothing_is_shown(lonely: Consoled, path: str) -> None:
    token = lonely.token.removeprefix("Bearer ")
    for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": token}):
        status, text = lonely.asked(path, **shown)
        assert status == 401
        assert "open the address that gigastream console has printed" in text
    assert lonely.asked(path, Cookie=f"gigastream_token={token}")[0] == 401


def test_the_page_is_loaded_without_it(lonely: Consoled) -> None:
    """The token is in the fragment of the address, which no browser sends, and in no cookie."""
    for path in ("/", "/page/console.js"):
        with urllib.request.urlopen(lonely.root + path, timeout=PATIENCE_S) as answer:
            assert answer.status == 200
            assert "Set-Cookie" not in answer.headers
            assert lonely.token.removeprefix("Bearer ") not in answer.read().decode()


@pytest.mark.parametrize("body", [b'{"name": "x", "text": "y"}', None])
def test_a_token_in_the_address_opens_nothing(lonely: Consoled, body: bytes | None) -> None:
    token = lonely.address.partition("#")[2]
    assert lonely.asked(f"/api/{'add' if body else 'status'}?{token}", body)[0] == 401


def test_a_name_of_another_site_is_refused(lonely: Consoled) -> None:
    headers = {"Authorization": lonely.token}
    assert lonely.asked("/", **headers)[0] == 200
    assert lonely.asked("/", **headers, Host=f"evil.example:{lonely.port}")[0] == 421
    assert lonely.asked("/", **headers, Host=f"localhost:{lonely.port}")[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://[::1",
        "http://localhost",
        "http://127.0.0.1:1",
        "",
        "é",
    ],
)
def test_a_page_of_another_site_changes_nothing(lonely: Consoled, origin: str) -> None:
    body = b'{"name": "x", "text": "SELECT len FROM IP"}'
    headers = {"Authorization": lonely.token, "Origin": origin}
    status, text = lonely.asked("/api/add", body, **headers)
    assert status == 403
    assert "another site" in text


def test_without_a_daemon_it_says_so(lonely: Consoled) -> None:
    status, text = lonely.asked("/api/status", Authorization=lonely.token)
    assert status == 503
    answer = json.loads(text)
    assert not answer["ok"]
    assert answer["message"].startswith("no daemon answers at /")
    assert "No such file" in answer["message"]


def test_a_daemon_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with speaking(path, say=lambda _: b'{"ok":true,"new":1}\n'), console(path) as made:
        status, text = made.asked("/api/status", Authorization=made.token)
        _, events = made.asked("/api/tail?query=x", Authorization=made.token)
    assert status == 503
    assert "is it of another version" in json.loads(text)["hint"]
    assert events.startswith("event: refused\n")
    assert "is it of another version" in events


def test_a_daemon_that_hangs_up(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with speaking(path, say=lambda _: b"", holds=False), console(path) as made:
        _, events = made.asked("/api/tail?query=x", Authorization=made.token)
    assert "the daemon has hung up without an answer" in events
    assert "its log says why" in events


def test_a_tail_that_hangs_up_ends(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    rows = tail_line(pyarrow.RecordBatch.from_pydict({"n": [1, 2**60]}), lost=3)
    with speaking(path, rows=[rows], holds=False), console(path) as made:
        status, events = made.asked("/api/tail?query=x", Authorization=made.token)
    assert status == 200
    shown = json.loads(events.partition("data: ")[2])
    assert shown["rows"] == [["1"], [str(2**60)]]  # a browser's numbers would end before that
    assert (shown["columns"], shown["numeric"], shown["lost"]) == (["n"], [True], 3)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"name": 3}', b'{"text": "x", "more": 1}', b'{"text": "\xff"}'],
)
def test_what_is_no_request_is_told(lonely: Consoled, body: bytes) -> None:
    status, text = lonely.asked("/api/check", body, Authorization=lonely.token)
    assert status == 400
    assert not json.loads(text)["ok"]


def test_a_query_that_has_no_end(lonely: Consoled) -> None:
    body = json.dumps({"text": "x" * (2 << 20)}).encode()
    status, text = lonely.asked("/api/check", body, Authorization=lonely.token)
    assert status == 413
    assert "too long for a query" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it(tmp_path: Path, number: signal.Signals) -> None:
    with console(tmp_path / "socket") as made:
        made.process.send_signal(number)
        assert made.process.wait(PATIENCE_S) == 0
        assert made.process.stderr is not None
        assert made.process.stderr.read() == ""


def test_a_signal_ends_it_though_rows_are_followed(tmp_path: Path) -> None:
    rows = tail_line(pyarrow.RecordBatch.from_pydict({"n": [1]}))
    path = tmp_path / "socket"
    with speaking(path, rows=[rows]), console(path) as made:
        asked = urllib.request.Request(
            f"{made.root}/api/tail?query=x", headers={"Authorization": made.token}
        )
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            assert answer.readline() == b"event: rows\n"
            for _ in range(2):
                made.process.send_signal(signal.SIGTERM)
            assert made.process.wait(PATIENCE_S) == 0


def test_a_port_that_is_taken(lonely: Consoled) -> None:
    listen = f"127.0.0.1:{lonely.port}"
    refused = gigastream("console", "--socket", "/nowhere/socket", "--listen", listen)
    assert refused.code == 2
    assert f"{listen}: Address already in use" in refused.err


def test_beyond_the_loopback_it_wants_tls() -> None:
    refused = gigastream("console", "--listen", "0.0.0.0:0")
    assert refused.code == 2
    assert "0.0.0.0 is not the loopback" in refused.err


def test_the_page_adds_up_what_the_metrics_do() -> None:
    script = (PAGE / "console.js").read_text()
    terms = script.partition("const ACCOUNT = {")[2].partition("};")[0]
    assert [term.split(":")[0].strip() for term in terms.split(",") if term.strip()] == list(
        PACKET_OUTCOMES
    )


def test_the_page_needs_nothing_from_elsewhere() -> None:
    for name in ("index.html", "console.js", "console.css"):
        text = (PAGE / name).read_text()
        assert "//" not in text.replace("// ", "")
        assert "style=" not in text
