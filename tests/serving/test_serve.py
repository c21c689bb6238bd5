# SPDX-License-Identifier: Apache-2.0
"""What a server offers is what is in the folder; it dies, comes back, and is asked wrongly."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from cli.command import gigastream
from serving.servers import (
    TOKEN,
    Keys,
    Server,
    environment_without_token,
    free_port,
    secret,
    serving,
)
from spool.made import NEVER_NS, all_numbers, folder_of, open_track, rows, write_run

from gigastream.spool import (
    NOTHING,
    Access,
    Spool,
    SpoolAwayError,
    SpoolReadError,
    SpoolSettings,
    SpoolWriter,
    Track,
    TrackWriter,
    manifest,
)
from gigastream.spool.commits import committed_floor
from tests.waiting import wait_until


def only_track(url: str, access: Access) -> Track:
    (track,) = Spool(url, access=access).tracks()
    return track


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_run(tmp_path / "of one", 10, 20, 30)
    return tmp_path / "of one"


def test_what_is_served_is_what_is_there(root: Path, tmp_path: Path, keys: Keys) -> None:
    write_run(tmp_path / "ended", 5, end=True)
    with serving(keys, root, tmp_path / "ended") as server:
        for path, name in ((root, "of%20one"), (tmp_path / "ended", "ended")):
            served = Spool(f"{server.location}/{name}", access=keys.access)
            here = Spool(path)
            assert served.identity == here.identity is not None
            assert (served.plan(), served.queries()) == (here.plan(), here.queries())
            (track,), (own,) = served.tracks(), here.tracks()
            assert all_numbers(track) == all_numbers(own) != []
            assert (track.is_ended, track.damage, track.away) == (own.is_ended, [], None)
        assert server.stop() == 0


def test_who_writes_is_told(root: Path, keys: Keys) -> None:
    with serving(keys, root) as server:
        spool = Spool(f"{server.location}/of%20one", access=keys.access)
        assert spool.has_writer() is False
        with SpoolWriter(root) as writer:
            open_track(writer)
            assert spool.has_writer() is True


def test_a_commit_goes_to_the_host(root: Path, keys: Keys) -> None:
    with serving(keys, root) as server:
        only_track(f"{server.location}/of%20one", keys.access).commit("spark", 2)
    assert committed_floor(folder_of(root) / "readers") == 2


def test_a_host_that_comes_back_is_read_on(root: Path, keys: Keys) -> None:
    with serving(keys, root) as server:
        track = only_track(f"{server.location}/of%20one", keys.access)
        assert len([entry for entry in track.poll() if entry.is_segment]) == 3
        server.kill()
        write_run(root, 7)
        assert (track.poll(), track.damage) == ([], [])
        assert track.away is not None
        assert server.location in track.away
        with pytest.raises(SpoolAwayError):
            Spool(f"{server.location}/of%20one", access=keys.access)
        server.begin()
        new: list[int] = []

        def has_come() -> bool:
            new.extend(entry.rows for entry in track.poll() if entry.is_segment)
            return new == [7]

        wait_until(has_come, "what was written meanwhile")
        assert (track.damage, track.away) == ([], None)


def test_nothing_is_lost_where_a_host_dies_between_lines(
    root: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has come is given, and the rest comes later; what is promised of it waits, too."""
    monkeypatch.setattr(manifest, "_READ_BYTES", 400)  # a line or so
    with serving(keys, root) as server:
        track = only_track(f"{server.location}/of%20one", keys.access)
        read_at, reads = track._place.read_at, 0

        def dying(path: str, offset: int, size_bytes: int) -> bytes:
            nonlocal reads
            reads += "manifest" in path
            if reads == 3:
                raise SpoolAwayError("it is away")
            return read_at(path, offset, size_bytes)

        monkeypatch.setattr(type(track._place), "read_at", lambda self, *asked: dying(*asked))
        first = track.poll()
        assert track.away == "it is away"
        assert track.damage == []
        second = track.poll()
    entries = [entry for entry in (*first, *second) if entry.is_segment]
    assert [entry.segment for entry in entries] == [0, 1, 2]
    assert len(first) > 0
    assert all(entry.kind != "punctuation" for entry in first)
    assert track.damage == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("other", "offers no spool other"),
        ("", "is not the URL of a spool"),
        ("..%2F..%2Fetc", "offers no spool ../../etc"),
        ("one?x=1", "no user, password or parameters"),
    ],
)
def test_a_url_that_is_none(root: Path, keys: Keys, name: str, says: str) -> None:
    with serving(keys, root) as server, pytest.raises(SpoolReadError, match=says) as caught:
        Spool(f"{server.location}/{name}", access=keys.access)
    assert caught.value.hint is not None
    assert "grpc+tls://" in caught.value.hint


def test_who_has_no_token_or_believes_nobody_is_refused(
    root: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIGASTREAM_TOKEN", raising=False)
    wrong = str(secret(tmp_path / "wrong", TOKEN[::-1]))
    with serving(keys, root) as server:
        url, authority = f"{server.location}/of%20one", str(keys.certificate)
        with pytest.raises(SpoolReadError, match="refuses the token") as caught:
            Spool(url, access=Access(wrong, authority))
        assert TOKEN[::-1] not in str(caught.value)
        with pytest.raises(SpoolReadError, match="GIGASTREAM_TOKEN is not set"):
            Spool(url, access=Access(None, authority))
        with pytest.raises(SpoolAwayError, match="certificate verify failed") as refused:
            Spool(url, access=Access(str(keys.token)))
        assert refused.value.hint is not None
        assert "--ca-file" in refused.value.hint
        with pytest.raises(SpoolReadError, match=f"{keys.token} holds no certificate"):
            Spool(url, access=Access(str(keys.token), str(keys.token)))
        monkeypatch.setenv("GIGASTREAM_TOKEN", TOKEN)
        assert len(all_numbers(only_track(url, Access(None, authority)))) == 60


def test_without_tls_only_where_it_is_said(root: Path, keys: Keys) -> None:
    port = free_port()
    words = ("serve", root, "--listen", f"127.0.0.1:{port}", "--token-file", keys.token)
    refused = gigastream(*words)
    assert refused.code == 2
    assert "--insecure" in refused.err
    tls = ("--tls-cert", keys.certificate, "--tls-key", keys.key)
    both = gigastream(*words, *tls, "--insecure")
    assert both.code == 2
    assert "without a certificate" in both.err
    server = Server(keys, (root,), port=port, tls=("--insecure",))
    server.begin()
    try:
        url = f"grpc://127.0.0.1:{port}/of%20one"
        assert len(all_numbers(only_track(url, Access(str(keys.token))))) == 60
    finally:
        assert server.stop() == 0


def test_an_executor_without_the_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigastream.spool.served_place", None)
    with pytest.raises(SpoolReadError, match="only the package itself reads"):
        Spool("grpc+tls://127.0.0.1:1/it")


def test_a_host_that_is_away_may_be_asked_later(keys: Keys) -> None:
    """2 would say to whoever watches over a run that it is not to be started again."""
    words = ("run", "--spool", f"grpc+tls://127.0.0.1:{free_port()}/it", "-o", "json")
    access = ("--token-file", keys.token, "--ca-file", keys.certificate)
    away = gigastream(*words, *access)
    assert (away.code, "does not answer" in away.err) == (1, True)
    without = gigastream(*words, env=environment_without_token())
    assert (without.code, "takes a token" in without.err) == (2, True)


@pytest.mark.parametrize("which", ["token", "key"])
def test_secrets_that_others_may_read_are_refused(
    root: Path, keys: Keys, tmp_path: Path, which: str
) -> None:
    open_one = tmp_path / which
    open_one.write_bytes((keys.token if which == "token" else keys.key).read_bytes())
    open_one.chmod(0o640)
    files = {"token": keys.token, "key": keys.key, which: open_one}
    done = gigastream(
        *("serve", root, "--listen", f"127.0.0.1:{free_port()}", "--token-file", files["token"]),
        *("--tls-cert", keys.certificate, "--tls-key", files["key"]),
    )
    assert done.code == 2
    assert f"{open_one} may be read or written by others\nhint: chmod 600" in done.err


def test_what_cannot_be_served_is_told(root: Path, keys: Keys, tmp_path: Path) -> None:
    def serve(*words: object, port: int = 0) -> str:
        tls = ("--tls-cert", keys.certificate, "--tls-key", keys.key, "--token-file", keys.token)
        done = gigastream("serve", *map(str, words), "--listen", f"127.0.0.1:{port}", *tls)
        assert done.code == 2
        return done.err

    write_run(tmp_path / "b" / root.name, 1)
    assert "two spools are called of one" in serve(root, tmp_path / "b" / root.name)
    assert "is no spool" in serve(tmp_path / "nothing")
    assert "is no folder of this host" in serve("grpc+tls://other:1/a")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot be listened on" in serve(root, port=taken.getsockname()[1])


def test_retention_waits_for_a_reader_far_away(tmp_path: Path, keys: Keys) -> None:
    """Committed is let go, what is not stays."""

    def write(track: TrackWriter, sequence: int) -> None:
        track.write(rows(sequence, 1), (sequence, NOTHING), sequence, sequence)

    settings = SpoolSettings(
        segment_rows=1, segment_age_ns=NEVER_NS, keep_bytes=1, keep_margin_ns=0
    )
    with SpoolWriter(tmp_path / "kept", settings) as writer:
        track = open_track(writer)
        with serving(keys, tmp_path / "kept") as server:
            far = only_track(server.url(), keys.access)
            far.commit("spark", 0)  # of a track that has nothing yet
            segments: list[int | None] = []
            for sequence in range(5):
                write(track, sequence)

            def are_listed() -> bool:
                segments.extend(entry.segment for entry in far.poll() if entry.is_segment)
                return segments == [0, 1, 2, 3, 4]

            wait_until(are_listed, "five segments")
            assert far.retained().first == 0
            far.commit("spark", 3)

            def is_let_go() -> bool:
                nonlocal sequence
                sequence += 1
                write(track, sequence)
                return far.retained().first == 3

            wait_until(is_let_go, "retention")
