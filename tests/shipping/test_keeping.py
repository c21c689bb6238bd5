# SPDX-License-Identifier: Apache-2.0
"""What is deleted at a destination: as it is asked for, and nothing that a reader there needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from shipping.shippers import objects, track_at
from shipping.test_ship import ship
from spool.made import all_numbers, folder_of, write_run

from gigastream.shipping import retention
from gigastream.shipping.destination import ShippingPlace
from gigastream.shipping.shipper import ShipSettings
from gigastream.spool import SegmentDamage, SpoolSettings
from gigastream.spool.place import Place


def keeping(
    size_bytes: int | None = 0, age_ns: int | None = None, margin_ns: int = 0
) -> ShipSettings:
    kept = SpoolSettings(keep_bytes=size_bytes, keep_age_ns=age_ns, keep_margin_ns=margin_ns)
    return ShipSettings(is_once=True, kept=kept)


def segments(destination: Path, generation: int = 1) -> list[int]:
    return sorted(int(p.name[8:18]) for p in folder_of(destination, generation).glob("segment-*"))


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A spool of four segments, and where it is shipped to."""
    root, there = tmp_path / "spool", tmp_path / "there"
    write_run(root, 3, 3, 3, 3)
    ship(root, there)
    return root, there


def test_all_is_kept_unless_it_is_said(places: tuple[Path, Path]) -> None:
    root, there = places
    track_at(there).commit("job", 4)
    ship(root, there)
    assert segments(there) == [0, 1, 2, 3]


def test_what_readers_are_done_with_goes(places: tuple[Path, Path]) -> None:
    root, there = places
    track_at(there).commit("job", 3)
    track_at(there).commit("other", 2)
    ship(root, there, keeping())
    assert segments(there) == [2, 3]
    track = track_at(there)
    assert track.retained().first == 2
    assert track.retained().rows == 6
    with pytest.raises(SegmentDamage) as caught:
        all_numbers(track)
    assert caught.value.is_retired
    assert len(list(folder_of(root).glob("segment-*"))) == 4


def test_without_readers_age_and_bytes_alone_say_it(places: tuple[Path, Path]) -> None:
    root, there = places
    size = folder_of(there).joinpath("segment-0000000000.arrows").stat().st_size
    ship(root, there, keeping(2 * size))
    assert segments(there) == [2, 3]
    ship(root, there, keeping(None, 3600 * 10**9))
    assert segments(there) == [2, 3]
    ship(root, there, keeping(None, 0))
    assert segments(there) == []


def test_a_margin_is_waited_for(places: tuple[Path, Path]) -> None:
    root, there = places
    track_at(there).commit("job", 4)
    ship(root, there, keeping(None, 0, 3600 * 10**9))
    assert segments(there) == [0, 1, 2, 3]


def test_a_commit_that_does_not_say_keeps_all(places: tuple[Path, Path]) -> None:
    root, there = places
    track_at(there).commit("job", 4)
    (folder_of(there) / "readers" / "torn.json").write_text("{")
    ship(root, there, keeping())
    assert segments(there) == [0, 1, 2, 3]


def test_manifests_go_with_what_they_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gigastream.spool import manifest, track

    for module in (manifest, track):
        monkeypatch.setattr(module, "ROLL_BYTES", 700)
    root, there = tmp_path / "spool", tmp_path / "there"
    for _ in range(4):
        write_run(root, *[2] * 5)
    ship(root, there)
    ship(root, there, keeping())
    assert segments(there) == []
    shipped = track_at(there)
    assert [name for name in shipped._place.names(shipped.folder) if "manifest-" in name] == [
        max(path.name for path in folder_of(root).glob("manifest-*"))
    ]
    write_run(root, 6)
    ship(root, there, ShipSettings(is_once=True))
    new = [entry for entry in track_at(there).poll() if entry.is_segment][-1:]
    assert [n for e in new for b in shipped.read(e) for n in b.column(0).to_pylist()] == [
        *range(40, 46)
    ]


def test_killed_between_telling_and_deleting(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told to be deleted is deleted by the next; readers know it as deleted meanwhile."""
    root, there = places

    def killed(place: Place, path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Place, "delete", killed)
        with pytest.raises(KeyboardInterrupt):
            ship(root, there, keeping())
    assert segments(there) == [0, 1, 2, 3]
    assert track_at(there).retained().first == 4
    ship(root, there, keeping())
    assert segments(there) == []


def test_an_older_generation_goes_first(places: tuple[Path, Path]) -> None:
    root, there = places
    write_run(root, end=True)
    write_run(root, 3, 3)
    ship(root, there)
    size = folder_of(there).joinpath("segment-0000000000.arrows").stat().st_size
    ship(root, there, keeping(3 * size))
    assert (segments(there, 1), segments(there, 2)) == ([3], [0, 1])


def test_readers_are_asked_now_and_then_alone(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PERIOD_SECONDS", 3600.0)  # however long it takes from here on
    root, there = places
    place = ShippingPlace(Place(None, str(there)), Place(None, str(root)), track_identity(root))
    kept = retention.ShippedRetention(place, keeping(None, 0).kept)
    kept.prune()
    before = len(objects(there))
    monkeypatch.setattr(retention.ShippedRetention, "_excess", lambda *_: 1 / 0)
    kept.prune()
    assert len(objects(there)) == before


def track_identity(root: Path) -> str | None:
    from gigastream.spool import Spool

    return Spool(root).identity
