# SPDX-License-Identifier: Apache-2.0
"""A spool is shipped into a folder, and read there as it is read here."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest
from cli.command import gigastream
from shipping.shippers import ShippedReader, objects, read_shipped, shipping, track_at
from spark_command.written import SETS
from spark_command.written import spool as written_spool
from spool.made import all_numbers, folder_of, only_track, write_run

from gigastream.shipping import destination as destination_module
from gigastream.shipping.shipper import Shipper, ShipSettings
from gigastream.spool import Spool, SpoolError, SpoolReadError
from gigastream.spool.commits import committed_floor
from gigastream.spool.layout import READERS, RETAINED
from tests.waiting import wait_until

ONCE = ShipSettings(is_once=True)


def ship(root: Path, destination: str | Path, settings: ShipSettings = ONCE) -> list[str]:
    """Ship what is there, here; return what was told."""
    told: list[str] = []
    shipper = Shipper(str(root), str(destination), settings, told.append)
    try:
        shipper.run()
    finally:
        shipper.close()
    return told


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_answers_are_those_of_the_spool(tmp_path: Path, form: str) -> None:
    root, there = written_spool(tmp_path / "spool", SETS), form.format(tmp_path / "there")
    done = gigastream("ship", root, there)
    assert (done.code, done.out) == (0, b"")
    assert "segments shipped: 2, of" in done.err
    here = gigastream("run", "-q", "--spool", root, "-o", "json", "--stats", "json")
    shipped = gigastream("run", "-q", "--spool", there, "-o", "json", "--stats", "json")
    assert (shipped.code, sorted(shipped.lines)) == (0, sorted(here.lines))
    assert len(here.lines) > 40


def test_nothing_is_shipped_twice(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 4)
    ship(root, there)
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*")}
    ship(root, there)
    assert {path: path.stat().st_mtime_ns for path in there.rglob("*")} == before
    write_run(root, 5, end=True)
    ship(root, there)
    assert all(path.stat().st_mtime_ns == before[path] for path in before if path.is_file())
    assert len(objects(there)) == 2
    assert all_numbers(track_at(there)) == list(range(12))
    assert Spool(there).identity == Spool(root).identity


def test_small_files_are_those_of_the_spool(tmp_path: Path) -> None:
    """Byte for byte, and nothing beside them; a bound promises what it promises here."""
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 4)
    write_run(root, 5, plan={"low": ["other"]}, end=True)
    ship(root, there)
    place = Spool(there)._place
    small = {way for way in files_of(root) if "segment-" not in way and READERS not in way}
    assert {f"{way}" for way in place.shipped.files} == small  # type: ignore[attr-defined]
    for way in small:
        assert place.read_at(f"{place.root}/{way}", 0, 1 << 20) == (root / way).read_bytes()


def test_a_reader_sees_a_line_behind_its_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    ship(root, there)
    write_run(root, 4)
    seen: list[int] = []
    tell = destination_module.ShippingPlace.tell

    def told(place: destination_module.ShippingPlace, *arguments: object) -> None:
        segment = there / "streams" / "flows" / "eth0" / "000001" / "segment-0000000001.arrows"
        assert segment.stat().st_size > 0
        assert all_numbers(track_at(there)) == [0, 1, 2]
        seen.append(1)
        tell(place, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(destination_module.ShippingPlace, "tell", told)
    ship(root, there)
    assert seen == [1]
    assert all_numbers(track_at(there)) == list(range(7))


def test_a_long_way_is_told_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress promises nothing of what is not told yet."""
    from gigastream.shipping import source

    real = source.Room
    monkeypatch.setattr(source, "Room", lambda: real(segments=2))
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, *[3] * 9, end=True)
    ship(root, there)
    paths = [path for _, path in objects(there)]
    assert len(paths) == 5
    for kept in range(1, 6):
        step = tmp_path / f"step-{kept}"
        shutil.copytree(there, step)
        for path in paths[kept:]:
            (step / "manifests" / path.name).unlink()
        track = track_at(step)
        assert all_numbers(track) == list(range(min(27, 6 * kept)))
        assert track.damage == []
        assert track.is_ended == (kept == 5)


def test_old_objects_go_when_all_is_said_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing stays short; what has grown is in pieces, which are there as long as needed."""
    monkeypatch.setattr(destination_module, "WHOLE_AFTER_OBJECTS", 4)
    monkeypatch.setattr(destination_module, "PIECE_BYTES", 200)
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 1)
    ship(root, there)
    reader = ShippedReader(there)
    for rows in range(2, 40):
        write_run(root, 1)
        ship(root, there)
        assert len(objects(there)) <= 11
        reader.spool._place.shipped._due_s = 0.0  # type: ignore[attr-defined]
        reader.check()
        assert reader.rows == rows
    assert objects(there)[0][0] > 30
    assert any((there / "pieces").iterdir())
    assert all_numbers(track_at(there)) == list(range(39))


def test_manifests_that_roll_are_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gigastream.spool import manifest, track

    for module in (manifest, track):
        monkeypatch.setattr(module, "ROLL_BYTES", 700)
    root, there = tmp_path / "spool", tmp_path / "there"
    for _ in range(3):
        write_run(root, *[2] * 5)
        ship(root, there)
    assert len(list(folder_of(root).glob("manifest-*"))) > 3
    assert all_numbers(track_at(there)) == list(range(30))


def test_the_spools_retention_waits_for_it(tmp_path: Path) -> None:
    from gigastream.spool import SpoolSettings

    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 3)
    ship(root, there)
    assert committed_floor(folder_of(root) / READERS) == 2
    write_run(root, 3, 3)
    greedy = SpoolSettings(segment_age_ns=10**15, keep_bytes=0, keep_margin_ns=0)
    write_run(root, settings=greedy)
    assert len(list(folder_of(root).glob("segment-*"))) == 2
    ship(root, there)
    write_run(root, 3, settings=greedy)
    write_run(root, settings=greedy)
    assert (folder_of(root) / RETAINED).exists()
    ship(root, there)
    # What the host has let go stays there.
    assert all_numbers(track_at(there)) == list(range(15))
    assert track_at(there).retained().first == 0


def test_what_was_deleted_before_is_known_as_deleted(tmp_path: Path) -> None:
    from gigastream.spool import SpoolSettings

    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 3, 3)
    size = (folder_of(root) / "segment-0000000000.arrows").stat().st_size
    write_run(root, settings=SpoolSettings(keep_bytes=size, keep_margin_ns=0))
    ship(root, there)
    track = track_at(there)
    assert track.retained() == only_track(root).retained()
    assert track.retained().first == 2
    last = [entry for entry in track.poll() if entry.is_segment][-1]
    assert [batch.num_rows for batch in track.read(last)] == [3]


def test_a_damaged_segment_is_shipped_as_it_is(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 3, 3, 3)
    folder = folder_of(root)
    (folder / "segment-0000000001.arrows").write_bytes(b"x" * 100_000)
    (folder / "segment-0000000002.arrows").unlink()
    done = gigastream("ship", root, there, "--once")
    assert done.code == 1
    assert "lists segment 2, which is not there" in done.err
    track = track_at(there)
    read = []
    for entry in track.poll():
        try:
            read += [n for batch in track.read(entry) for n in batch.column(0).to_pylist()]
        except Exception as error:
            assert type(error).__name__ == "SegmentDamage"  # noqa: PT017
    assert read == [0, 1, 2, 9, 10, 11]
    assert "more than the" in track.damage[0]
    assert "it is missing" in track.damage[1]


def test_it_follows_and_ends_with_the_spool(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log") as shipper:
        reader = ShippedReader(there)
        reader.wait_for(3)
        write_run(root, 4)
        reader.wait_for(7)
        assert shipper.process is not None
        assert shipper.process.poll() is None
        write_run(root, 5, end=True)
        reader.wait_for(12)
        assert shipper.ended() == 0
    wait_until(lambda: reader.check() or reader.track.is_ended, "the end")
    assert committed_floor(folder_of(root) / READERS) == 3


def test_sigterm_ends_it(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log") as shipper:
        ShippedReader(there).wait_for(3)
        assert shipper.stop() == 0
        assert "segments shipped: 1, of 3 rows" in shipper.said()
    assert committed_floor(folder_of(root) / READERS) == 1


def test_a_place_that_goes_is_waited_for(tmp_path: Path) -> None:
    """Told once; what comes meanwhile is there when it is back, and a reader goes on."""
    root, there, away = tmp_path / "spool", tmp_path / "there", tmp_path / "away"
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log") as shipper:
        reader = ShippedReader(there)
        reader.wait_for(3)
        there.rename(away)
        write_run(root, 4)
        wait_until(lambda: "does not answer" in shipper.said(), "it to be told")
        wait_until(lambda: reader.check() or reader.track.away is not None, "it to be noticed")
        assert "what was shipped there is not there" in str(reader.track.away)
        write_run(root, 5)
        away.rename(there)
        reader.wait_for(12)
        assert shipper.stop() == 0
        assert shipper.said().count("does not answer") == 1
        assert shipper.said().count("answers again") == 1


def test_a_reader_may_begin_first(tmp_path: Path) -> None:
    """It is told that nothing is there, and reads it once something is."""
    root, there = tmp_path / "spool", tmp_path / "there"
    done = gigastream("run", "--spool", there)
    assert (done.code, "is no spool" in done.err) == (2, True)
    there.mkdir()
    (there / "shipped.json").write_text('{"format": 1, "spool": null}')
    done = gigastream("run", "--spool", there)
    assert (done.code, "nothing has been shipped to" in done.err) == (2, True)
    (there / "shipped.json").unlink()
    write_run(root, 3)
    found: list[int] = []

    def follow() -> None:
        reader = ShippedReader(there)
        reader.wait_for(7)
        found.append(reader.rows)

    reading = threading.Thread(target=follow)
    reading.start()
    ship(root, there)
    write_run(root, 4)
    ship(root, there)
    reading.join()
    assert found == [7]


def test_one_ships_at_a_time(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    with shipping(root, there, tmp_path / "log"):
        ShippedReader(there).wait_for(3)
        with pytest.raises(SpoolError, match="another process ships"):
            ship(root, there)
        ship(root, tmp_path / "elsewhere")
    assert all_numbers(track_at(tmp_path / "elsewhere")) == [0, 1, 2]


def test_a_link_in_the_spool_leads_it_nowhere(tmp_path: Path) -> None:
    """The spool's owner need not be who ships."""
    root, elsewhere = tmp_path / "spool", tmp_path / "elsewhere"
    write_run(root, 5)
    elsewhere.mkdir()
    (root / ".shipping").symlink_to(elsewhere)
    with pytest.raises(SpoolError, match=r"cannot ship .*: a link is on the way to it"):
        ship(root, tmp_path / "there")
    assert list(elsewhere.iterdir()) == []


def test_places_that_are_not_its_own_are_refused(tmp_path: Path) -> None:
    root, other, there = tmp_path / "spool", tmp_path / "other", tmp_path / "there"
    for each in (root, other):
        write_run(each, 3)
    ship(root, there)
    with pytest.raises(SpoolReadError, match="another spool is shipped to"):
        ship(other, there)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("Dear")
    with pytest.raises(SpoolReadError, match="holds something else"):
        ship(root, tmp_path / "full")
    assert files_of(tmp_path / "full") == {"letter"}
    for inside in (root, root / "sets" / "x", tmp_path):
        with pytest.raises(SpoolReadError, match="one in the other"):
            ship(root, inside)
    with pytest.raises(SpoolReadError, match="is no spool"):
        ship(tmp_path / "nothing", tmp_path / "new")
    with pytest.raises(SpoolReadError, match="is no folder of this host"):
        Shipper("s3://bucket/spool", str(tmp_path / "new"), ONCE, print)


def test_a_spool_that_was_replaced_is_not_mixed(tmp_path: Path) -> None:
    """Its identity stays, as that of a copy that lost its last lines."""
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    shutil.copytree(root, tmp_path / "copy")
    write_run(root, 4, 4)
    ship(root, there)
    with pytest.raises(SpoolReadError, match=r"of which .* were shipped"):
        ship(tmp_path / "copy", there)
    write_run(tmp_path / "copy", 9, 9, 9)
    with pytest.raises(SpoolReadError, match="has other lines than those that were shipped"):
        ship(tmp_path / "copy", there)
    assert all_numbers(track_at(there)) == list(range(11))


def test_a_spool_that_cannot_be_committed_to_is_not_shipped(tmp_path: Path) -> None:
    """Its retention would not wait."""
    root = tmp_path / "spool"
    write_run(root, 3)
    (folder_of(root) / READERS).write_text("no folder")
    with pytest.raises(SpoolReadError, match="cannot commit to"):
        ship(root, tmp_path / "there")


@pytest.mark.parametrize(
    "uri",
    [
        "s3://AKIA123:sesame@bucket/spool",
        "s3://bucket/spool?secret_key=sesame",
        "abfs://container@account/spool?client_secret=sesame",
        "https://host/spool?sig=sesame",
    ],
)
def test_secrets_in_a_uri_are_refused_and_not_repeated(tmp_path: Path, uri: str) -> None:
    root = tmp_path / "spool"
    write_run(root, 3)
    for words in (("ship", root, uri), ("run", "--spool", uri)):
        done = gigastream(*words)
        assert done.code == 2
        assert "holds a password, a key or a token" in done.err
        assert "sesame" not in done.err
    assert all(b"sesame" not in path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_a_filesystem_that_only_fsspec_knows(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    root, there = tmp_path / "spool", "memory://shipped-by-a-test/here"
    write_run(root, 3, 4)
    ship(root, there)
    write_run(root, 5)
    ship(root, there)
    track = track_at(there)
    assert all_numbers(track) == list(range(12))
    track.commit("job", 2)
    assert track._place.store.names(f"{track.folder}/readers") == ["job.json"]  # type: ignore[attr-defined]


def test_a_scheme_that_nobody_knows(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    write_run(root, 3)
    done = gigastream("ship", root, "carrier-pigeon://loft/spool")
    assert done.code == 2
    assert "carrier-pigeon://loft/spool cannot be opened" in done.err


def test_objects_say_what_is_new_and_no_more(tmp_path: Path) -> None:
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3)
    ship(root, there)
    write_run(root, 4)
    ship(root, there)
    (_, _), (number, path) = objects(there)
    told = read_shipped(path)
    ways = {news.path.rpartition("/")[2]: news for news in told.files}
    assert (number, told.is_whole) == (2, False)
    assert set(ways) == {"spool.json", "eth0.json", "manifest-000001"}
    assert ways["manifest-000001"].at > 0
    added = (ways["manifest-000001"].data or b"").decode().splitlines()
    assert [json.loads(line[9:])["kind"] for line in added] == ["run", "segment"]
