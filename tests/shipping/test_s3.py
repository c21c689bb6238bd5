# SPDX-License-Identifier: Apache-2.0
"""Spools shipped to a server that speaks S3, by HTTP on the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import gigastream
from shipping.s3_server import SECRET, S3Server
from shipping.shippers import ShippedReader, shipping, track_at
from spark_command.written import SETS
from spark_command.written import spool as written_spool
from spool.made import all_numbers, folder_of, query_set, rows, write_run

from gigastream.spool import NOTHING, Spool, SpoolAwayError, SpoolWriter, shipped_files
from tests.waiting import wait_until


def test_answers_are_those_of_the_spool(s3: S3Server, tmp_path: Path) -> None:
    root, there = written_spool(tmp_path / "spool", SETS), s3.uri("answers")
    for _ in range(2):
        done = gigastream("ship", root, there)
        assert (done.code, done.out) == (0, b"")
        assert SECRET not in done.err
    here = gigastream("run", "-q", "--spool", root, "-o", "json")
    shipped = gigastream("run", "-q", "--spool", there, "-o", "json")
    assert (shipped.code, sorted(shipped.lines)) == (0, sorted(here.lines))
    assert len(here.lines) > 40
    segments = [name for name in s3.names("answers") if "segment-" in name]
    assert len(segments) == len(list(root.rglob("segment-*")))


def test_it_follows_and_readers_commit(s3: S3Server, tmp_path: Path) -> None:
    root, there = tmp_path / "spool", s3.uri("follows")
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log") as shipper:
        reader = ShippedReader(there)
        for size in (4, 5, 6):
            write_run(root, size)
        reader.wait_for(18)
        reader.track.commit("job", 3)
        write_run(root, 7, end=True)
        reader.wait_for(25)
        assert shipper.ended() == 0
    assert "follows/streams/flows/eth0/000001/readers/job.json" in "\n".join(s3.names("follows"))
    assert SECRET not in shipper.said()


def test_what_readers_are_done_with_is_deleted(s3: S3Server, tmp_path: Path) -> None:
    root, there = tmp_path / "spool", s3.uri("deleted")
    words = ("--once", "--keep-bytes", "0", "--keep-margin", "0")
    write_run(root, 3, 3, 3)
    assert gigastream("ship", root, there, "--once").code == 0
    track_at(there).commit("job", 2)
    for _ in range(2):
        assert gigastream("ship", root, there, *words).code == 0
    assert [n[-8:] for n in s3.names("deleted") if "segment-" in n] == ["2.arrows"]
    assert track_at(there).retained().first == 2
    assert len(list(folder_of(root).glob("segment-*"))) == 3


def test_a_listing_a_poll(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of tracks; and nothing but the listing where nothing is new."""
    root, there = tmp_path / "spool", s3.uri("polls")
    ports = [("flows", f"eth{number}") for number in range(8)]
    with SpoolWriter(root) as writer:
        for track_writer in writer.open(query_set(), ports).values():
            track_writer.write(rows(0, 5), (5, NOTHING), 5, 1)
    assert gigastream("ship", root, there, "--once").code == 0
    tracks = Spool(there).tracks()
    assert [len(all_numbers(track)) for track in tracks] == [5] * 8
    asked: list[str] = []
    place = tracks[0]._place
    for name in ("sizes", "names", "read_at", "read_all", "size_bytes"):
        real = getattr(type(place.store), name)  # type: ignore[attr-defined]
        monkeypatch.setattr(
            type(place.store),  # type: ignore[attr-defined]
            name,
            lambda *arguments, real=real, name=name: asked.append(name) or real(*arguments),
        )
    monkeypatch.setattr(shipped_files, "POLL_SECONDS", 3600.0)  # however long the tracks take
    for _ in range(2):
        place.shipped._due_s = 0.0  # type: ignore[attr-defined]
        for track in tracks:
            track.poll()
    assert asked == ["sizes", "sizes"]


@pytest.mark.long
def test_a_server_that_does_not_answer_is_waited_for(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_files, "ASK_AGAIN_SECONDS", 0.1)
    root, there = tmp_path / "spool", s3.uri("away")
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log") as shipper:
        reader = ShippedReader(there)
        reader.wait_for(3)
        with s3.stopped():
            write_run(root, 4)
            wait_until(lambda: "does not answer" in shipper.said(), "it to be told")
            wait_until(lambda: reader.check() or reader.track.away is not None, "no answer")
            with pytest.raises(SpoolAwayError):
                reader.spool.tracks()
        write_run(root, 5)
        reader.wait_for(12)
        assert shipper.stop() == 0
    assert shipper.said().count("does not answer") == 1
    assert SECRET not in shipper.said()


def test_a_bucket_that_is_not_there(s3: S3Server, tmp_path: Path) -> None:
    root = tmp_path / "spool"
    write_run(root, 3)
    missing = s3.uri("x").replace("s3://spools/", "s3://nowhere/")
    done = gigastream("ship", root, missing)
    assert done.code == 2
    assert "cannot be written" in done.err
    done = gigastream("run", "--spool", missing)
    assert (done.code, "NO_SUCH_BUCKET" in done.err) == (2, True), done.err
    assert SECRET not in done.err


def test_a_segment_of_several_parts(s3: S3Server, tmp_path: Path) -> None:
    root, there = tmp_path / "spool", s3.uri("large")
    write_run(root, 2_000_000)
    assert gigastream("ship", root, there, "--once").code == 0
    assert all_numbers(track_at(there)) == list(range(2_000_000))
